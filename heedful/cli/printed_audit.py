"""The answer of an audit in the terminal: at most 25 lines of 80 columns for each model. Imports no torch."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import floor
from typing import TYPE_CHECKING, TypeVar

from rich.cells import cell_len
from rich.text import Text

from heedful.cli.output import make_table
from heedful.formatting import UNDEFINED, format_estimate, format_number, printable
from heedful.schema import GROUPS, Interval
from heedful.schema.rankings import SHOWN, ranking_title
from heedful.verdict.answer_text import (
    QUESTION,
    accuracy_text,
    answered_classes,
    outcome_sentences,
    recommendation_text,
    remarks,
    share_text,
    too_few_sentence,
)

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.schema import AuditAnswer, Outcome, ShownText, Verdict

USUAL = {*SHOWN, "weight_gradient", "alone", "effect"}
"""Rankings of every audit."""
DETAILS_LEGEND = (
    "Value with its 95% interval; floor: an uninformed ranking; best: the best possible. The tests explain the answer "
    "and do not decide it.\n"
)
RANKING_LEGEND = (
    "Points, replaced: of 100 texts in which a small set decides, those in which the ranking points to the key words, "
    "words deleted and replaced. Passes: of a whole text of n words."
)
PLAUSIBLE = (
    " Plausible: agreement with rationales, from 0 (the best ranking that does not use the model) to 1; "
    "no evidence of how the model decides."
)


def print_details(console: "Console", verdict: "Verdict") -> None:
    """Print other definitions, the tests in their groups, and remarks on the audited attention."""
    if verdict.answer is not None:
        for name, each in verdict.answer.variants.items():
            console.print(f"{ranking_title(name)}: {each.answer}. {each.sentence}", markup=False)
    rows: list[tuple[str, ...]] = []
    headings: dict[str | None, str] = {**GROUPS}
    for group, lines in groupby(verdict.lines, key=lambda line: line.group):
        rows += [] if group is None else [(headings[group],)]
        for line in lines:
            is_share = line.unit == "share"
            bounds = (format_number(number, percent=is_share) for number in (line.floor, line.best))
            value = format_estimate(line.value, line.low, line.high, percent=is_share)
            rows.append((line.question, value, *bounds))
    console.print(make_table(("test", "value", "floor", "best"), rows))
    reasons = (f"Not measured: {name.replace('_', ' ')}: {reason}" for name, reason in verdict.skipped.items())
    for sentence in (DETAILS_LEGEND, *verdict.about, verdict.heads.sentence if verdict.heads else "", *reasons):
        if sentence:
            console.print(sentence, style="dim", markup=False)


def asks_for_rankings(verdict: "Verdict") -> bool:
    """Whether the audit has rankings beyond those of every audit."""
    return not {ranking.name for ranking in verdict.rankings} <= USUAL


def print_rankings(console: "Console", verdict: "Verdict") -> None:
    """Rankings side by side: how often each points to the key words, and what it costs; nothing without an answer."""
    if verdict.answer is None or not verdict.answer.rankings:
        return
    plausible = {own.name: own.plausible for own in verdict.rankings if own.plausible is not None}
    rows = []
    for own in sorted(verdict.answer.rankings, key=lambda own: -(own.points.value or 0.0)):
        replaced = share_text(own.replaced or Interval()).split()[0]
        cost = (own.price or format_number(None), format_number(own.milliseconds, decimals=1))
        agreement = [format_number(plausible.get(own.name))] if plausible else []
        rows.append((own.title, own.answer, share_text(own.points), replaced, *cost, *agreement))
    headings = ("ranking", "answer", "points", "replaced", "passes", "ms", *(["plausible"] if plausible else []))
    console.print(make_table(headings, rows, text=(0, 1)))
    console.print(f"{RANKING_LEGEND}{PLAUSIBLE if plausible else ''}\n", style="dim", markup=False)


COLUMNS, LINES = 80, 23
"""Of one model; two lines below name the report and the command that explains a text."""
MOST_BARS, MOST_SEEDS = 6, 8
LABEL, BAR = 16, (8, 24)
"""Largest width of a class, smallest and largest width of a bar."""
LONGEST_NAME, LONGEST_ITEM = 60, 40
"""Characters of a model's name, and of a word or sentence; longer ones are cut."""
Name = TypeVar("Name", bound=str)
BLOCKS: "dict[Outcome, str]" = {"points": "█", "misses": "▒", "no_small_set": "·"}
ASCII_BLOCKS: "dict[Outcome, str]" = {"points": "#", "misses": "x", "no_small_set": "."}
COLORS: "dict[Outcome, str]" = {"points": "green", "misses": "red", "no_small_set": "dim"}
NO_BARS = ("Too few texts", "Nothing to explain")


@dataclass(frozen=True)
class Shape:
    """How much room the parts of an answer have.

    Args:
        example, sentences: maximum number of lines of the example's text, and of each sentence.
        bars: maximum number of classes.
        is_spaced: whether empty lines stand between the parts.
    """

    example: int = 4
    sentences: int = 5
    bars: int = MOST_BARS
    is_spaced: bool = True


SHAPES = (
    Shape(),
    Shape(example=2),
    Shape(example=4, is_spaced=False),
    Shape(example=2, is_spaced=False),
    Shape(example=1, sentences=3, is_spaced=False),
    Shape(example=1, sentences=2, is_spaced=False),
    Shape(example=1, sentences=2, bars=3, is_spaced=False),
    Shape(example=1, sentences=1, bars=3, is_spaced=False),
)
"""From the roomiest to the tightest: the first that fits is drawn."""


def print_verdict(console: "Console", verdict: "Verdict", name: str) -> None:
    """Print what was audited, the answer, the recommendation and an example, as roomy as fits.

    Args:
        name: name of the model.
    """
    lines: list[Text] = []
    for shape in SHAPES:
        lines = list(_Drawing(console, verdict, name, shape, min(COLUMNS, console.width)).lines())
        if len(lines) <= LINES:
            break
    for line in lines:
        console.print(line)


def cut_text(items: Sequence[str], marked: Sequence[int], context: int) -> "list[int | None]":
    """Positions of the items within `context` places of a marked one; None stands for what is left out between.

    >>> cut_text("abcdefgh", [2, 6], 1)
    [None, 1, 2, 3, None, 5, 6, 7]
    """
    kept = [place for place in range(len(items)) if any(abs(place - own) <= context for own in marked)]
    cut: list[int | None] = []
    for place in kept:
        if place > 0 and place - 1 not in kept:
            cut.append(None)
        cut.append(place)
    return cut if not kept or kept[-1] == len(items) - 1 else [*cut, None]


def bar_widths(shares: Mapping[Name, float], width: int) -> dict[Name, int]:
    """The width of each block of a bar, by largest remainders.

    >>> bar_widths({"points": 0.5, "misses": 0.3, "no_small_set": 0.2}, 8)
    {'points': 4, 'misses': 2, 'no_small_set': 2}
    """
    widths = {name: floor(share * width) for name, share in shares.items()}
    ordered = sorted(shares, key=lambda name: widths[name] - shares[name] * width)
    for name in ordered[: width - sum(widths.values())]:
        widths[name] += 1
    return widths


class _Drawing:
    """One answer in one shape."""

    def __init__(self, console: "Console", verdict: "Verdict", name: str, shape: Shape, width: int):
        self.console, self.verdict, self.name, self.shape, self.width = console, verdict, name, shape, width

    def lines(self) -> Iterator[Text]:
        for number, part in enumerate(filter(None, map(list, self._parts()))):
            if number and self.shape.is_spaced:
                yield Text()
            for line in part:
                line.rstrip()
                yield line

    def _parts(self) -> Iterator[Iterator[Text]]:
        yield self._subject()
        if (answer := self.verdict.answer) is None:
            yield self._wrapped("No answer: `--tests` does not include `outcome`.")
            return
        yield self._answer(answer)
        sentences = ((recommendation_text(answer), "bold"), *((remark, "") for remark in remarks(self.verdict)))
        yield (line for sentence, style in sentences for line in self._wrapped(sentence, style))
        if answer.example is not None and answer.headline not in NO_BARS:
            yield self._example(answer.example)

    def _subject(self) -> Iterator[Text]:
        verdict = self.verdict
        seeds = [str(training.seed) for training in verdict.trainings if training.seed is not None]
        named = f"{len(seeds)} seeds" if len(seeds) > MOST_SEEDS else f"seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}"
        name = _clean(self.name)
        name = f"{name[:LONGEST_NAME]} …" if len(name) > LONGEST_NAME else name
        title = f"{verdict.data}: {name}" if verdict.data else name
        parts = [title, *([named] if seeds else []), f"{verdict.texts:,} {verdict.split} texts"]
        yield from self._wrapped(", ".join(parts), "bold", most=2)
        if accuracy := accuracy_text(verdict):
            yield from self._wrapped(f"Accuracy {accuracy}.")

    def _answer(self, answer: "AuditAnswer") -> Iterator[Text]:
        headline = f"{QUESTION} {answer.headline}"
        if len(headline) > 2 * self.width:
            headline = f"{QUESTION} {answer.headline.partition(':')[0]}:"
        yield from self._wrapped(headline, "bold", most=2)
        yield from self._wrapped(answer.sentence)
        if answer.headline not in NO_BARS:
            yield from self._bars(answer)

    def _bars(self, answer: "AuditAnswer") -> Iterator[Text]:

        answered = answered_classes(answer) or [answer.overall]
        most = sorted(answered, key=lambda each: -each.shares.texts)[: self.shape.bars]
        shown = [each for each in answered if each in most]
        names = [_clean(each.shares.label or "all texts") for each in shown]
        cells = []
        for each in shown:
            numbers = (each.shares.luck, each.replaced and each.replaced.points.value)
            luck, replaced = (UNDEFINED if share is None else f"{100 * share:.0f}" for share in numbers)
            cells.append((each.answer, share_text(each.shares.points), luck, replaced))
        headings = ("answer", "points", "luck", "replaced")
        widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
        label = min(LABEL, max(cell_len(name) for name in ("predicted", *names)))
        room = self.width - label - sum(widths) - 2 * (len(widths) + 1)
        bar = min(BAR[1], max(BAR[0], room))
        blocks = BLOCKS if self.console.encoding.lower().startswith("utf") else ASCII_BLOCKS
        rows = [Text(" " * bar)]
        for each in shown:
            shares: dict[Outcome, float] = {name: each.shares.outcomes.get(name) or 0.0 for name in blocks}
            parts = bar_widths(shares, bar).items()
            rows.append(Text.assemble(*((blocks[name] * count, COLORS[name]) for name, count in parts)))
        lines = zip(("predicted", *names), rows, (headings, *cells), strict=True)
        for number, (name, drawn, own) in enumerate(lines):
            numbers = [own[0].ljust(widths[0]), *(text.rjust(w) for text, w in zip(own[1:], widths[1:], strict=True))]
            heading = Text(name)
            heading.truncate(label, overflow="ellipsis", pad=True)
            line = Text.assemble(heading, "  ", drawn, "  ", "  ".join(numbers))
            line.truncate(self.width)
            if not number:
                line.stylize("dim")
            yield line
        if rest := Counter(each.answer for each in answered if each not in shown):
            counted = ", ".join(f"{count} {name}" for name, count in rest.items())
            yield from self._wrapped(f"and {sum(rest.values())} other classes: {counted}")
        legend = f"{blocks['points']} points {blocks['misses']} misses {blocks['no_small_set']} no small set"
        yield from self._wrapped(f"{legend}. Numbers: per 100 texts with a small set.", "dim")
        yield from self._wrapped(too_few_sentence(answer))

    def _example(self, example: "ShownText") -> Iterator[Text]:
        outcome, item = example.outcome, self.verdict.item
        items = [_clean(own)[:LONGEST_ITEM] for own in example.items]
        key, top = {*outcome.key_words}, {*outcome.top_words}
        kind = f"[key {item}s]" if outcome.outcome != "no_small_set" else f"[{item}s with the largest effect]"
        probability = "" if outcome.probability is None else f" {outcome.probability:.2f}"
        yield from self._wrapped(
            f"Example, predicted {_clean(outcome.predicted)}{probability}: {kind}, *top {item}s of attention*", "dim"
        )
        words = [_marked(own, place in key, place in top) for place, own in enumerate(items)]

        def drawn(context: int) -> list[Text]:
            places = cut_text(items, sorted(key | top), context)
            cut = [Text("…") if place is None else words[place] for place in places]
            return list(Text(" ").join(cut).wrap(self.console, self.width))

        most = self.shape.example
        widest = bisect_left(range(1, len(items)), True, key=lambda context: len(drawn(context)) > most)
        yield from drawn(widest)[:most]
        yield from self._wrapped(" ".join(outcome_sentences(outcome, items, item)))

    def _wrapped(self, sentence: str, style: str = "", most: int | None = None) -> Iterator[Text]:
        """The lines of a sentence; the last that there is room for ends in "…" if there are more."""
        if not sentence:
            return
        lines = list(Text(_clean(sentence), style).wrap(self.console, self.width))
        most = min(most or self.shape.sentences, self.shape.sentences)
        if len(lines) > most:
            lines = lines[:most]
            lines[-1].truncate(self.width - 2)
            lines[-1].append(" …")
        yield from lines


def _marked(word: str, is_key: bool, is_top: bool) -> Text:
    """A word with its marks: brackets for key words, asterisks for top words."""
    shown = f"[{word}]" if is_key else word
    style = " ".join(("bold",) * is_key + ("underline",) * is_top)
    return Text(f"*{shown}*" if is_top else shown, style)


def _clean(text: str) -> str:
    """In one line, without control characters."""
    return printable(" ".join(text.split()))
