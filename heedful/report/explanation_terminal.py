"""Explanations in the terminal, by rich: weights as colours, and in words where there are none."""

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from heedful.auditing.explanation import Explanation
from heedful.report.explanation_rows import (
    Row,
    Token,
    definitions,
    is_signed,
    prediction,
    printable,
    rows_of,
    sentences_of,
)

INK = "#1f2933"
SHADES = {False: ((255, 246, 232), (255, 166, 48)), True: ((234, 244, 252), (109, 176, 232))}
"""From the palest to the strongest colour: for the decision, and against it. They carry their own ink, so that they can
be read on any background."""
FAINT = 0.04
"""Weaker colours are left out."""


def show(explanations: Sequence[Explanation], notes: Sequence[str], console: Console) -> None:
    """Print what the audit says of such explanations, each of them, how to read them, and what was left out."""
    guidance = explanations[0].guidance
    colour = "" if guidance.is_reliable else "red" if guidance.action == "nothing" else "yellow"
    console.print(_text(guidance.lead, f"bold {colour}"))
    console.print(_text(guidance.trust))
    for number, explanation in enumerate(explanations, start=1):
        console.print()
        _print(explanation, f"Text {number}: " if len(explanations) > 1 else "", console)
    console.print()
    if _has_colours(console):
        console.print(_legend(explanations))
    console.print(_text(definitions(explanations), "dim"))
    for note in notes:
        console.print(_text(note))


def _has_colours(console: Console) -> bool:
    return console.color_system is not None and not console.no_color


def _print(explanation: Explanation, heading: str, console: Console) -> None:
    answer = Text(f"{heading}The model answers ")
    answer.append_text(_text(explanation.predicted, "bold")).append_text(_text(f" {prediction(explanation)}"))
    console.print(answer)
    if explanation.query:
        console.print(_text(f"Question or hypothesis: {explanation.query}"))
    rows, has_colours = rows_of(explanation), _has_colours(console)
    if not has_colours:
        # All rows would look alike, so the text stands here once.
        console.print(_indented(_map(rows[0])))
    for row in rows:
        console.print()
        console.print(_text(row.name, "bold").append_text(_text(f" ({row.note})" if row.note else "", "dim")))
        if has_colours:
            console.print(_indented(_map(row)))
        console.print(_indented(_text(row.heaviest, "dim")))
    console.print()
    for sentence in sentences_of(explanation):
        console.print(_text(f"- {sentence}"))
    for note in explanation.notes:
        console.print(_text(f"- {note}", "yellow"))


def _indented(written: Text) -> Padding:
    return Padding(written, (0, 0, 0, 2))


def _map(row: Row) -> Text:
    written = Text()
    for token in row.tokens:
        written.append_text(_text(token.before)).append_text(_text(token.text, _style(token)))
    return written.append_text(_text(row.rest, "dim"))


def _style(token: Token) -> str:
    underline = "underline" if token.flips else ""
    if token.strength < FAINT:
        return underline
    pale, strong = SHADES[token.against]
    mixed = [round(low + (high - low) * token.strength) for low, high in zip(pale, strong, strict=True)]
    background = "#" + "".join(f"{part:02x}" for part in mixed)
    return f"{INK} on {background} {underline} {'italic' if token.against else ''}".strip()


def _legend(explanations: Sequence[Explanation]) -> Text:
    """What colours and underlines mean."""
    item, signed = explanations[0].item, is_signed(explanations)
    for_it = Token("", item, 1.0, "", against=False, flips=False)
    against = Token("", item, 1.0, "", against=True, flips=False)
    legend = _text(item, _style(for_it)).append(" speaks for the decision" if signed else " large weight", "dim")
    if signed:
        legend.append("  ").append(item, _style(against)).append(" speaks against it", "dim")
    if any(explanation.smallest_set for explanation in explanations):
        legend.append("  ").append(item, "underline").append(" smallest set whose erasure changes the decision", "dim")
    return legend


def _text(written: str, style: str = "") -> Text:
    """The words without control characters; what looks like markup is text."""
    return Text().append(printable(written), style)
