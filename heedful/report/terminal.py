"""Explanations in the terminal, by rich: weights as colors, and as text without colors."""

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from heedful.explaining.explanation import Explanation
from heedful.report import explanations as view
from heedful.report.heat_map import HeatMap, printable

INK = "#1f2933"
SHADES = {False: ((255, 246, 232), (255, 166, 48)), True: ((234, 244, 252), (109, 176, 232))}
"""The palest and the strongest color of words that support and that oppose the prediction. They have their own ink, so
they can be read on any background."""
PALEST = 0.04
"""Weaker colors are left out."""
MARKS = {"top": "bold", "key": "underline", "against": "italic"}
STYLES = {"points": "bold", "misses": "bold red", "no_small_set": "bold yellow", None: "bold yellow"}
"""Of the first sentence, by outcome."""


def show(explanations: Sequence[Explanation], notes: Sequence[str], console: Console) -> None:
    """Print each explanation, what the audit says of such texts, how to read all this, and what was left out."""
    has_colors = console.color_system is not None and not console.no_color
    for number, explanation in enumerate(explanations, start=1):
        if number > 1:
            console.print()
        _print(explanation, f"Text {number}: " if len(explanations) > 1 else "", console, has_colors)
    console.print()
    for sentence in view.audit_sentences(explanations):
        console.print(_text(sentence))
    console.print()
    if legend := _legend(explanations, has_colors):
        console.print(legend)
    console.print(_text(view.definitions(explanations), "dim"))
    for note in notes:
        console.print(_text(note))


def _print(explanation: Explanation, heading: str, console: Console, has_colors: bool) -> None:
    first, *others = view.outcome_lines(explanation)
    console.print(Text(heading).append_text(_text(first, STYLES[explanation.outcome.outcome])))
    predicted = Text("The model predicts ").append_text(_text(explanation.predicted, "bold"))
    console.print(predicted.append_text(_text(f" {view.prediction(explanation)}.")))
    query = [f"Question or hypothesis: {explanation.query}"] if explanation.query else []
    for sentence in (*query, *others):
        console.print(_text(sentence))
    maps = view.heat_maps_of(explanation)
    if not has_colors:
        # All maps would look the same, so the text is printed once.
        console.print()
        console.print(_indented(_words(maps[0], has_colors=False)))
    for heat_map in maps:
        console.print()
        console.print(_text(heat_map.title, "bold").append_text(_text(heat_map.note and f" ({heat_map.note})", "dim")))
        if has_colors:
            console.print(_indented(_words(heat_map, has_colors=True)))
        console.print(_indented(_text(heat_map.heaviest(explanation.item), "dim")))
    sentences = view.sentences_of(explanation)
    if sentences or explanation.notes:
        console.print()
    for sentence in sentences:
        console.print(_text(f"- {sentence}"))
    for note in explanation.notes:
        console.print(_text(f"- {note}", "yellow"))


def _indented(written: Text) -> Padding:
    return Padding(written, (0, 0, 0, 2))


def _words(heat_map: HeatMap, *, has_colors: bool) -> Text:
    written = Text()
    for place, word in enumerate(heat_map.words):
        kinds = heat_map.kinds(place)
        shown = word if has_colors or "key" not in kinds else f"[{word}]"
        written.append_text(_text(heat_map.gap(place)))
        written.append_text(_text(shown, _style(heat_map.strength(place), kinds)))
    return written.append_text(_text(heat_map.gap(len(heat_map.words)), "dim"))


def _style(strength: float, kinds: Sequence[str] = ()) -> str:
    marks = " ".join(style for kind, style in MARKS.items() if kind in kinds)
    if strength < PALEST:
        return marks
    pale, strong = SHADES["against" in kinds]
    mixed = [round(low + (high - low) * strength) for low, high in zip(pale, strong, strict=True)]
    return f"{INK} on #{bytes(mixed).hex()} {marks}"


def _legend(explanations: Sequence[Explanation], has_colors: bool) -> Text:
    """What colors, underlines and brackets mean."""
    item, signed = explanations[0].item, view.is_signed(explanations)
    mark = " or ".join(name for name, _ in view.key_marks(explanations))
    if not has_colors:
        return _text(mark and f"[{item}] {mark}", "dim")
    parts = [(_style(1.0), "supports the prediction" if signed else "large weight")]
    parts += [(_style(1.0, ["against"]), "opposes it")] if signed else []
    parts += [("underline", mark), ("bold", f"top {item}s of a row")] if mark else []
    legend = Text()
    for place, (style, meaning) in enumerate(parts):
        legend.append("  " if place else "").append(item, style).append(f" {meaning}", "dim")
    return legend


def _text(written: str, style: str = "") -> Text:
    """The words without control characters; what looks like markup is text."""
    return Text().append(printable(written), style)
