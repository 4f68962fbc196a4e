"""Explanations in the terminal, by rich: weights as colors, and in words without colors."""

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from heedful.explaining.explanation import Explanation
from heedful.report.explanations import (
    Row,
    Token,
    audit_sentences,
    definitions,
    is_signed,
    key_mark,
    outcome_lines,
    prediction,
    printable,
    rows_of,
    sentences_of,
)

INK = "#1f2933"
SHADES = {False: ((255, 246, 232), (255, 166, 48)), True: ((234, 244, 252), (109, 176, 232))}
"""From the palest to the strongest color: supporting and opposing the prediction. They carry their own ink, so they
can be read on any background."""
FAINT = 0.04
"""Weaker colors are left out."""
STYLES = {"points": "bold", "misses": "bold red", "no_small_set": "bold yellow", None: "bold yellow"}
"""Of the first sentence, by outcome."""


def show(explanations: Sequence[Explanation], notes: Sequence[str], console: Console) -> None:
    """Print each of them, what the audit says of such texts, how to read all this, and what was left out."""
    for number, explanation in enumerate(explanations, start=1):
        if number > 1:
            console.print()
        _print(explanation, f"Text {number}: " if len(explanations) > 1 else "", console)
    console.print()
    for sentence in audit_sentences(explanations):
        console.print(_text(sentence))
    console.print()
    if legend := _legend(explanations, has_colors=_has_colors(console)):
        console.print(legend)
    console.print(_text(definitions(explanations), "dim"))
    for note in notes:
        console.print(_text(note))


def _has_colors(console: Console) -> bool:
    return console.color_system is not None and not console.no_color


def _print(explanation: Explanation, heading: str, console: Console) -> None:
    first, *others = outcome_lines(explanation)
    console.print(Text(heading).append_text(_text(first, STYLES[explanation.outcome.outcome])))
    predicted = Text("The model predicts ")
    predicted.append_text(_text(explanation.predicted, "bold")).append_text(_text(f" {prediction(explanation)}."))
    console.print(predicted)
    if explanation.query:
        console.print(_text(f"Question or hypothesis: {explanation.query}"))
    for sentence in others:
        console.print(_text(sentence))
    rows, has_colors = rows_of(explanation), _has_colors(console)
    if not has_colors:
        # All rows would look alike, so the text stands here once.
        console.print()
        console.print(_indented(_map(rows[0], has_colors=False)))
    for row in rows:
        console.print()
        console.print(_text(row.name, "bold").append_text(_text(f" ({row.note})" if row.note else "", "dim")))
        if has_colors:
            console.print(_indented(_map(row, has_colors=True)))
        console.print(_indented(_text(row.heaviest, "dim")))
    sentences = sentences_of(explanation)
    if sentences or explanation.notes:
        console.print()
    for sentence in sentences:
        console.print(_text(f"- {sentence}"))
    for note in explanation.notes:
        console.print(_text(f"- {note}", "yellow"))


def _indented(written: Text) -> Padding:
    return Padding(written, (0, 0, 0, 2))


def _map(row: Row, *, has_colors: bool) -> Text:
    written = Text()
    for token in row.tokens:
        named = token.text if has_colors or not token.is_key else f"[{token.text}]"
        written.append_text(_text(token.before)).append_text(_text(named, _style(token)))
    return written.append_text(_text(row.rest, "dim"))


def _style(token: Token) -> str:
    marks = f"{'bold ' if token.is_top else ''}{'underline' if token.is_key else ''}".strip()
    if token.strength < FAINT:
        return marks
    pale, strong = SHADES[token.against]
    mixed = [round(low + (high - low) * token.strength) for low, high in zip(pale, strong, strict=True)]
    background = "#" + "".join(f"{part:02x}" for part in mixed)
    return f"{INK} on {background} {marks} {'italic' if token.against else ''}".strip()


def _legend(explanations: Sequence[Explanation], *, has_colors: bool) -> Text:
    """What colors, underlines and brackets mean."""
    item, signed = explanations[0].item, is_signed(explanations)
    marks = dict.fromkeys(key_mark(each, item) for each in explanations if key_mark(each, item))
    key = [" or ".join(marks)] if marks else []
    if not has_colors:
        return _text("".join(f"[{item}] {mark}" for mark in key), "dim")
    for_it = Token("", item, 1.0, "", against=False, is_key=False, is_top=False)
    against = Token("", item, 1.0, "", against=True, is_key=False, is_top=False)
    legend = _text(item, _style(for_it)).append(" supports the prediction" if signed else " large weight", "dim")
    if signed:
        legend.append("  ").append(item, _style(against)).append(" opposes it", "dim")
    for mark in key:
        legend.append("  ").append(item, "underline").append(f" {mark}", "dim")
        legend.append("  ").append(item, "bold").append(f" top {item}s of a row", "dim")
    return legend


def _text(written: str, style: str = "") -> Text:
    """The words without control characters; what looks like markup is text."""
    return Text().append(printable(written), style)
