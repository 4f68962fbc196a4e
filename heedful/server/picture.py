"""A text as a heat map, as a file: each word on a background as dark as its weight."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from heedful.report.drawing import COLORS, STRONG
from heedful.report.figure import Figure, to_png, to_svg
from heedful.server.contract import PictureFormat
from heedful.server.text_state import prediction_change
from heedful.subjects.read_text import ReadText

WIDTH = 640
LETTER, GAP, LINE = 7.4, 12.0, 26.0
"""The width of a letter, on average, of the room beside each word, and the height of a line."""
MOST_WORDS, MOST_LETTERS = 400, 40
"""Words of a text, and letters of a word, that are drawn."""


def draw_picture(read: ReadText, attention: Sequence[float] | None = None, kind: PictureFormat = "svg") -> bytes:
    """The heat map as a file.

    Args:
        attention: the weights; None: the model's own.
    """
    weights = read.evidence.attention if attention is None else read.weights(attention)
    reached = prediction_change(
        read, read.evidence.trace.logits.cpu() if attention is None else read.evidence.decode(weights)
    )
    figure = Figure(
        name="attention",
        group="attention",
        title="",
        caption="",
        source="",
        alt="",
        chart=_chart(words_on_lines(read, read.listed(weights)), reached.answer),
    )
    return to_png(figure) if kind == "png" else to_svg(figure).encode()


def words_on_lines(read: ReadText, weights: Sequence[float]) -> pl.DataFrame:
    """Each word with the weight of its item, and the corners of its box; as many words on a line as fit.

    The words of a sentence share its weight evenly, as one color.
    """
    largest = max(weights) or 1.0
    of_word = {place: weight for words, weight in zip(read.items, weights, strict=True) for place in words}
    rows, left, line = [], 0.0, 0
    for place, word in enumerate(read.words[:MOST_WORDS]):
        shown = word if len(word) <= MOST_LETTERS else f"{word[: MOST_LETTERS - 1]}…"
        width = len(shown) * LETTER + GAP
        if left > 0 and left + width > WIDTH:
            left, line = 0.0, line + 1
        weight = of_word.get(place, 0.0)
        rows.append({"word": shown, "weight": weight, "share": weight / largest, "left": left, "line": line})
        rows[-1] |= {"right": left + width - 2, "top": line * LINE, "bottom": (line + 1) * LINE - 3}
        left += width
    if len(read.words) > MOST_WORDS:
        rows.append({**rows[-1], "word": "…", "weight": 0.0, "share": 0.0, "left": 0.0, "right": 20.0})
        rows[-1] |= {"line": line + 1, "top": (line + 1) * LINE, "bottom": (line + 2) * LINE - 3}
    return pl.DataFrame(rows)


def _chart(frame: pl.DataFrame, answer: str) -> alt.LayerChart:
    height = float(frame["bottom"].max() or LINE)  # pyright: ignore[reportArgumentType]
    horizontal = alt.Scale(domain=[0, WIDTH], nice=False)
    vertical = alt.Scale(domain=[height, 0], nice=False)
    base = alt.Chart()
    boxes = base.mark_rect(color=COLORS[1], cornerRadius=3, aria=False).encode(
        x=alt.X("left:Q", axis=None, scale=horizontal),
        x2="right:Q",
        y=alt.Y("top:Q", axis=None, scale=vertical),
        y2="bottom:Q",
        opacity=alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0, 0.6]), legend=None),
    )
    words = (
        base.transform_calculate(middle="(datum.left + datum.right) / 2", centre="(datum.top + datum.bottom) / 2")
        .mark_text(color=STRONG, fontSize=13, aria=False)
        .encode(
            x=alt.X("middle:Q", axis=None, scale=horizontal),
            y=alt.Y("centre:Q", axis=None, scale=vertical),
            text="word:N",
        )
    )
    chart = alt.LayerChart(data=frame, layer=[boxes, words]).properties(width=WIDTH, height=height)
    return chart.properties(title=alt.TitleParams(answer, anchor="start", limit=WIDTH))
