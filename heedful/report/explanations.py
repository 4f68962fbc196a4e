"""Explanations of single predictions: as one self-contained page, in the terminal, as JSON. Needs no torch."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import category

from pydantic import BaseModel

from heedful.errors import SettingError
from heedful.explaining.explanation import Explanation, Guidance, Show
from heedful.report.heat_map import PALE
from heedful.report.page import HERE, templates
from heedful.verdict.outcome_text import BADGES, outcome_sentence, outcome_sentences

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.auditing.audit import Audit
    from heedful.schema import Verdict
    from heedful.subjects.custom_words import CustomWords
    from heedful.subjects.subject import Subject, Texts
    from heedful.training.trained import Trained
    from heedful.types import Model

# What every view of an explanation shows: rows of weighted words, and sentences.

OTHER = "Adversarial attention"
FAINT = 0.05
"""Negative weights below this share of full color are not marked as opposing the prediction."""
MOST_LISTED = 10
"""Items of the smallest set that are listed."""
MOST_LABELS = 5
"""Labels that are listed next to the predicted one."""
MOST_UNREAD = 300
"""Characters that are shown of what the model did not read."""
NOTES: dict[Show, tuple[str, str]] = {
    "attention": ("recommended by the audit", ""),
    "ranking": ("recommended by the audit", "for comparison"),
    "key words": ("not to be shown without its outcome", ""),
    "nothing": ("not to be shown", ""),
    "not audited": ("not audited", ""),
}
"""Notes on the ranking that is shown and on attention, by the recommendation."""

# A text may come from anywhere: control characters could move the cursor, and marks of direction reorder the line.
UNSAFE = {code: " " for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}
UNSAFE |= {code: "" for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}


@dataclass(frozen=True)
class Token:
    """An item and its color.

    Args:
        before: what stands between the previous item and this one.
        strength: of the color, from 0 to 1.
        value: the weight in words.
        against: whether it opposes the prediction.
        is_key: whether it is one of the words with the largest effect.
        is_top: whether it is one of the top words of the ranking, which were judged.
    """

    before: str
    text: str
    strength: float
    value: str
    against: bool
    is_key: bool
    is_top: bool


@dataclass(frozen=True)
class Row:
    """One ranking over a text.

    Args:
        rest: what stands after the last item.
        heaviest: the items of the largest weights, in words.
    """

    name: str
    note: str
    tokens: tuple[Token, ...]
    rest: str
    heaviest: str

    @property
    def description(self) -> str:
        """Every item with its weight, for those who do not see colors."""
        return f"{self.name}. " + "; ".join(f"{token.text}: {token.value}" for token in self.tokens)


def rows_of(explanation: Explanation) -> list[Row]:
    """The ranking to show, attention if it is another one, and adversarial attention."""
    note, own = NOTES[explanation.guidance.show]
    top = explanation.shown_outcome.top_words
    rows = [_row(explanation, _capital(explanation.guidance.name), note, explanation.weights, top)]
    if explanation.ranking != "attention":
        rows.append(_row(explanation, "Attention", own, explanation.attention, explanation.outcome.top_words))
    if other := explanation.other_attention:
        probability = format_probability(other.probability)
        same = f"predicts {explanation.predicted} with {probability}"
        # If the prediction was closer than eps, other attention may tip it.
        tips = f"gives {explanation.predicted} {probability}, just below another label"
        note = same if other.predicted == explanation.predicted else tips
        rows.append(_row(explanation, OTHER, note, other.weights))
    return rows


def badge(explanation: Explanation) -> str:
    """The outcome in a word or two."""
    return BADGES[explanation.outcome.outcome]


def key_mark(explanation: Explanation, item: str) -> str:
    """What the marked items are; empty if none are marked."""
    if not explanation.outcome.key_words:
        return ""
    is_loose = explanation.outcome.outcome == "no_small_set"
    return f"{item}s with the largest effect (no small set decides)" if is_loose else f"key {item}s"


def outcome_lines(explanation: Explanation) -> tuple[str, ...]:
    """What is said about the outcome: of attention, and of another ranking if that is shown."""
    item, shown = explanation.item, explanation.shown_outcome
    sentences = outcome_sentences(explanation.outcome, [_named(each) for each in explanation.items], item)
    is_other = shown.ranking != explanation.outcome.ranking and shown.outcome in ("points", "misses")
    return (*sentences, outcome_sentence(shown, item)) if is_other else sentences


def prediction(explanation: Explanation) -> str:
    """How probable the predicted label is, and each of the others."""
    others = [label for label in explanation.probabilities if label != explanation.predicted]
    ranked = sorted(others, key=lambda label: -explanation.probabilities[label])
    listed = [f"{label} {format_probability(explanation.probabilities[label])}" for label in ranked[:MOST_LABELS]]
    more = [f"{len(ranked) - MOST_LABELS} more"] if len(ranked) > MOST_LABELS else []
    return f"with probability {format_probability(explanation.probability)} ({', '.join(listed + more)})"


def format_probability(probability: float) -> str:
    """Two decimals, or three near 0 and 1: no prediction is certain.

    >>> [format_probability(p) for p in (0.5, 0.997, 0.99999, 1e-9)]
    ['0.50', '0.997', 'above 0.999', 'below 0.001']
    """
    if probability > 0.9995:
        return "above 0.999"
    if probability < 0.0005:
        return "below 0.001"
    return f"{probability:.2f}" if 0.005 <= probability < 0.995 else f"{probability:.3f}"


def audit_sentences(explanations: Sequence[Explanation]) -> tuple[str, ...]:
    """What the model's audit says of texts with these predictions."""
    return explanations[0].guidance.sentences([each.predicted for each in explanations])


def sentences_of(explanation: Explanation) -> list[str]:
    """What erasure changes the prediction, and how different attention could be."""
    if len(explanation.items) < 2:
        return []
    return [_smallest(explanation), _other(explanation)]


def definitions(explanations: Sequence[Explanation]) -> str:
    """What the sentences mean by erasing and by adversarial attention."""
    item = explanations[0].item
    erase = f"To erase an attention weight is to give it to the other {item}s, in proportion."
    eps = {each.other_attention.eps for each in explanations if each.other_attention}
    if not eps:
        return erase
    return (
        f"{erase} Adversarial attention is the farthest from the model's own, by Jensen-Shannon divergence (JSD, in "
        f"nats), that moves the prediction by at most {max(eps):g}."
    )


def is_signed(explanations: Sequence[Explanation]) -> bool:
    """Whether some weights may oppose a prediction."""
    return any(explanation.is_signed for explanation in explanations)


def _smallest(explanation: Explanation) -> str:
    smallest, is_exact = explanation.smallest_set, explanation.solver == "exact"
    if smallest is None:
        if is_exact:
            return f"Erasing attention weights changes the prediction for no set of {explanation.item}s."
        return f"No set of {explanation.item}s was found whose erased attention weights change the prediction."
    listed = ", ".join(_quoted(explanation.items[place]) for place in smallest.positions[:MOST_LISTED])
    more = len(smallest.positions) - MOST_LISTED
    listed += f" and {more} more" if more > 0 else ""
    count = f"{len(smallest.positions)} of {len(explanation.items)} {explanation.item}s"
    plural = "" if len(smallest.positions) == 1 else "s"
    proof = "no smaller set does" if is_exact else "a smaller set may exist"
    becomes = f"{smallest.becomes} (probability {format_probability(smallest.probability)})"
    return f"Erasing the attention weight{plural} of {listed} ({count}) changes the prediction to {becomes}; {proof}."


def _other(explanation: Explanation) -> str:
    other = explanation.other_attention
    if other is None:
        return "No other attention that keeps the prediction was found."
    which = "The adversarial attention that was found" if other.solver == "search" else "Adversarial attention"
    reaches = "reaches at least" if other.solver == "bound" else "reaches"
    probability = format_probability(other.probability)
    kept = f"keeps the prediction (probability {probability})"
    if other.predicted != explanation.predicted:
        label = f"{explanation.predicted} {probability}, just below another label"
        kept = f"moves the prediction by at most {other.eps:g} ({label})"
    return f"{which} {kept} and {reaches} {100 * other.share:.0f} % of the maximum divergence (JSD {other.js:.2f})."


def _row(explanation: Explanation, name: str, note: str, weights: Sequence[float], top: Sequence[int] = ()) -> Row:
    sizes = [abs(weight) if isfinite(weight) else 0.0 for weight in weights]
    full = max(max(sizes), PALE * sum(sizes) / len(sizes))
    key = set(explanation.outcome.key_words)
    gaps, rest = _between(explanation.text, explanation.items)
    tokens = tuple(
        Token(
            before=printable(before),
            text=_named(item),
            strength=round(size / full, 3) if full > 0 else 0.0,
            value=_written(weight),
            against=weight < -FAINT * full,
            is_key=place in key,
            is_top=place in top,
        )
        for place, (before, item, weight, size) in enumerate(zip(gaps, explanation.items, weights, sizes, strict=True))
    )
    return Row(name, note, tokens, printable(rest), _heaviest(explanation, weights, sizes))


def _heaviest(explanation: Explanation, weights: Sequence[float], sizes: Sequence[float]) -> str:
    order = sorted((place for place, size in enumerate(sizes) if size > 0), key=lambda place: -sizes[place])[:3]
    if not order:
        return "undefined" if all(map(isnan, weights)) else f"0 for every {explanation.item}"
    listed = (f"{_quoted(explanation.items[place])}\N{NO-BREAK SPACE}{_written(weights[place])}" for place in order)
    return f"most: {', '.join(listed)}"


def _written(weight: float) -> str:
    return f"{weight:.2g}" if isfinite(weight) else "undefined"


def printable(text: str) -> str:
    r"""The text without the characters that control a terminal or reorder a line.

    >>> printable("red\x1b[0m \u202eeulb")
    'red [0m eulb'
    """
    return text.translate(UNSAFE)


def _named(item: str) -> str:
    """The item as it can be printed; by the codes of its characters if nothing of it can."""
    return printable(item) if printable(item).strip() else _numbered(item)


def _quoted(item: str) -> str:
    """The item in quotation marks, not too long; by the codes of its characters if none can be seen alone."""
    is_visible = any(category(character)[0] not in "CMZ" for character in item)
    return f"“{_cut(printable(item) if is_visible else _numbered(item), 40)}”"


def _numbered(item: str) -> str:
    return " ".join(f"U+{ord(character):04X}" for character in item)


def _between(text: str, items: Sequence[str]) -> tuple[list[str], str]:
    """What stands before each item in the text, and after the last; spaces if the items are not in it.

    >>> _between("It isn't BAD!", ["It", "isn", "'", "t", "BAD"])
    (['', ' ', '', '', ' '], '!')
    """
    places = list(_places(text, items))
    if len(places) < len(items):
        return ["", *[" "] * (len(items) - 1)], ""
    ends = [0, *(start + len(item) for start, item in zip(places, items, strict=True))]
    gaps = [re.sub(r"\s+", " ", text[end:start]) for end, start in zip(ends, places, strict=False)]
    return [gaps[0].lstrip(), *gaps[1:]], _cut(re.sub(r"\s+", " ", text[ends[-1] :]).rstrip(), MOST_UNREAD)


def _places(text: str, items: Sequence[str]) -> Iterator[int]:
    """Where each item stands in the text, in order, up to the first that does not."""
    end = 0
    for item in items:
        start = text.find(item, end)
        if start < 0:
            return
        yield start
        end = start + len(item)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


MOST_NAMED = 5
"""Outcomes that the representation lists."""


@dataclass(frozen=True, repr=False)
class Explanations:
    """Predictions of one model for one text or several, explained: like a list, and to be shown.

    Args:
        decisions: one explanation per text, at least one.
        facts: what the model is, by name.
        notes: what was left out.
    """

    decisions: tuple[Explanation, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.decisions)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.decisions)

    def __getitem__(self, place: int) -> Explanation:
        return self.decisions[place]

    @property
    def guidance(self) -> Guidance:
        """What the model's audit says about explaining its predictions."""
        return self.decisions[0].guidance

    def show(self, console: "Console | None" = None) -> None:
        """Print them in the terminal."""
        from rich.console import Console

        from heedful.report.terminal import show

        show(self.decisions, self.notes, console or Console(highlight=False))

    def _repr_html_(self) -> str:
        from heedful.report.notebook import explanations_in_notebook

        return explanations_in_notebook(self.decisions, self.notes)

    def __repr__(self) -> str:
        more = ", ..." if len(self) > MOST_NAMED else ""
        count = f"{len(self)} text{'' if len(self) == 1 else 's'}"
        outcomes = ", ".join(map(badge, self.decisions[:MOST_NAMED]))
        return f"Explanations({self.facts.get('Model', 'a model')}, {count}: {outcomes}{more})"

    def html(self) -> str:
        """The whole page. Every word that comes from a text is escaped; nothing in it runs, and it loads nothing."""
        environment = templates(HERE)
        environment.filters["printable"] = printable
        item, signed = self.decisions[0].item, is_signed(self.decisions)
        return environment.get_template("explanation.html").render(
            facts=list(self.facts.items()),
            readings=[_Reading.of(each) for each in self.decisions],
            audit=audit_sentences(self.decisions),
            signed=signed,
            marks=sorted({(key_mark(each, item), _is_loose(each)) for each in self.decisions if key_mark(each, item)}),
            item=item,
            definitions=definitions(self.decisions),
            notes=self.notes,
        )

    def save(self, path: str | Path) -> Path:
        """Write the page, whole or not at all; its path."""
        path = Path(path)
        if not path.name or path.is_dir():
            raise SettingError(f"the page must be a file, for example page.html; '{path}' is a folder.")
        page, part = self.html(), path.with_name(f".{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(page, encoding="utf-8", newline="\n")
            part.replace(path)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise SettingError(f"the page cannot be written to {path}: {reason}. Choose another place.") from error
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        return path

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain data that JSON can hold; what is undefined is None."""
        texts = [{**asdict(each), "ranking": each.ranking, "sentences": outcome_lines(each)} for each in self.decisions]
        for text in texts:
            del text["guidance"]
        guidance = {**asdict(self.guidance), "sentences": audit_sentences(self.decisions)}
        return _plain({"facts": self.facts, "guidance": guidance, "notes": self.notes, "texts": texts})


@dataclass(frozen=True)
class _Reading:
    """A text as the page shows it."""

    explanation: Explanation
    outcome: tuple[str, ...]
    badge: str
    is_loose: bool
    prediction: str
    rows: list[Row]
    sentences: list[str]

    @classmethod
    def of(cls, explanation: Explanation) -> "_Reading":
        return cls(
            explanation=explanation,
            outcome=outcome_lines(explanation),
            badge=badge(explanation),
            is_loose=_is_loose(explanation),
            prediction=prediction(explanation),
            rows=rows_of(explanation),
            sentences=sentences_of(explanation),
        )


def _is_loose(explanation: Explanation) -> bool:
    """Whether no small set decides, so that the marked words are only those with the largest effect."""
    return explanation.outcome.outcome == "no_small_set"


def explain(
    model: "Trained | Model | Subject | Path | str",
    texts: "Texts",
    *,
    audit: "Audit | Verdict | None" = None,
    words: "CustomWords | None" = None,
    labels: Sequence[str] = (),
    reference: "Trained | None" = None,
    device: str | None = None,
) -> Explanations:
    """The model's predictions for texts, explained: `.show()`, `.save("page.html")`, or take `[0]`.

    Args:
        model: a finished run or a Hugging Face classifier, also by name; or any object with the protocol's verbs.
        texts: a text or a list of them for a finished run, (text, query) if it reads a query; a `Batch` or a list of
            them for a model of the user's own.
        audit: the model's audit, by whose settings texts are judged and which recommends the ranking to show.
        words: of a model of the user's own, as `heedful.audit` takes them.
        labels: names of its classes, if the audit has none.
        reference: the run whose attention a run with frozen attention imposes.
    """
    from heedful.auditing.audit import Audit
    from heedful.explaining.explain import explain_texts
    from heedful.schema import Verdict
    from heedful.subjects.custom_model import CustomModel
    from heedful.subjects.opening import open_subject

    own = CustomModel(words, labels=labels)
    subject = open_subject(model, own=own, reference=reference, device=device)
    verdict = audit.verdict if isinstance(audit, Audit) else audit
    if not isinstance(verdict, Verdict | None):
        raise SettingError(f"audit must be what `heedful.audit` returns, or its verdict; it is {audit!r:.60}.")
    decisions = explain_texts(subject, texts, verdict)
    facts = subject.facts if subject.reads_text or verdict is None else {"Model": verdict.model}
    return Explanations(decisions, dict(facts))


def _plain(value: Any) -> Any:
    """The value with lists for tuples, and None for undefined numbers."""
    if isinstance(value, BaseModel):
        return _plain(value.model_dump())
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value
