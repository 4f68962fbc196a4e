"""Explanations of single predictions: as one self-contained page, in the terminal, as JSON. Needs no torch."""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from heedful.errors import SettingError
from heedful.explaining.explanation import Explanation, Guidance, Show
from heedful.report.heat_map import HeatMap, cut, named, printable, quoted
from heedful.report.page import templates
from heedful.store.folders import write_file
from heedful.verdict.answer_text import BADGES, outcome_sentence, outcome_sentences

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.auditing.audit import Audit
    from heedful.schema import Verdict
    from heedful.subjects.custom_model import CustomWords
    from heedful.subjects.subject import Subject, Texts
    from heedful.training.trained import Trained
    from heedful.types import Model

# What every view of an explanation shows: heat maps and sentences.

OTHER = "Adversarial attention"
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


def heat_maps_of(explanation: Explanation) -> list[HeatMap]:
    """The ranking to show, attention if it is another one, and adversarial attention."""
    gaps, key = _gaps(explanation.text, explanation.items), frozenset(explanation.outcome.key_words)

    def heat_map(title: str, note: str, weights: Sequence[float], top: Sequence[int] = ()) -> HeatMap:
        marks = {"key": key, "loose": key if is_loose(explanation) else frozenset(), "top": frozenset(top)}
        return HeatMap(title, note, list(map(named, explanation.items)), weights, gaps, marks)

    note, own = NOTES[explanation.guidance.show]
    shown = explanation.guidance.name
    maps = [heat_map(f"{shown[0].upper()}{shown[1:]}", note, explanation.weights, explanation.shown_outcome.top_words)]
    if explanation.ranking != "attention":
        maps.append(heat_map("Attention", own, explanation.attention, explanation.outcome.top_words))
    if other := explanation.other_attention:
        probability = format_probability(other.probability)
        same = f"predicts {explanation.predicted} with {probability}"
        # If the prediction was closer than eps, other attention may tip it.
        tips = f"gives {explanation.predicted} {probability}, just below another label"
        maps.append(heat_map(OTHER, same if other.predicted == explanation.predicted else tips, other.weights))
    return maps


def _gaps(text: str, items: Sequence[str]) -> list[str]:
    """Text before each item, and after the last one; spaces if the items are not in it.

    >>> _gaps("It isn't BAD!", ["It", "isn", "'", "t", "BAD"])
    ['', ' ', '', '', ' ', '!']
    """
    gaps, end = [], 0
    for item in items:
        start = text.find(item, end)
        if start < 0:
            return ["", *[" "] * (len(items) - 1), ""]
        gaps.append(text[end:start])
        end = start + len(item)
    first, *gaps, rest = (re.sub(r"\s+", " ", gap) for gap in (*gaps, text[end:]))
    return [printable(gap) for gap in (first.lstrip(), *gaps, cut(rest.rstrip(), MOST_UNREAD))]


def badge(explanation: Explanation) -> str:
    """The outcome in a word or two."""
    return BADGES[explanation.outcome.outcome]


def is_loose(explanation: Explanation) -> bool:
    """Whether no small set decides, so that the marked words are only those with the largest effect."""
    return explanation.outcome.outcome == "no_small_set"


def key_marks(explanations: Sequence[Explanation]) -> list[tuple[str, bool]]:
    """What the marked items are, and whether they are only those with the largest effect; each once."""
    item = explanations[0].item
    names = {False: f"key {item}s", True: f"{item}s with the largest effect (no small set decides)"}
    loose = dict.fromkeys(is_loose(each) for each in explanations if each.outcome.key_words)
    return [(names[each], each) for each in loose]


def outcome_lines(explanation: Explanation) -> tuple[str, ...]:
    """What is said about the outcome: of attention, and of another ranking if that is shown."""
    item, shown = explanation.item, explanation.shown_outcome
    sentences = outcome_sentences(explanation.outcome, [named(each) for each in explanation.items], item)
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


def sentences_of(explanation: Explanation) -> list[str]:
    """What erasure changes the prediction, and how different attention could be."""
    return [_smallest(explanation), _other(explanation)] if len(explanation.items) > 1 else []


def _smallest(explanation: Explanation) -> str:
    smallest, is_exact = explanation.smallest_set, explanation.solver == "exact"
    if smallest is None:
        if is_exact:
            return f"Erasing attention weights changes the prediction for no set of {explanation.item}s."
        return f"No set of {explanation.item}s was found whose erased attention weights change the prediction."
    listed = ", ".join(quoted(explanation.items[place]) for place in smallest.positions[:MOST_LISTED])
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
    return f"{which} {kept} and {reaches} {100 * other.share:.0f}% of the maximum divergence (JSD {other.js:.2f})."


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
        return rendered("explanation.html", self.decisions, facts=self.facts.items(), notes=self.notes)

    def save(self, path: str | Path) -> Path:
        """Write the page, whole or not at all; its path."""
        path = Path(path)
        if not path.name or path.is_dir():
            raise SettingError(f"the page must be a file, for example page.html; '{path}' is a folder.")
        return write_file(path, self.html())

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain data that JSON can hold; what is undefined is None."""
        texts = [{**asdict(each), "ranking": each.ranking, "sentences": outcome_lines(each)} for each in self.decisions]
        for text in texts:
            del text["guidance"]
        guidance = {**asdict(self.guidance), "sentences": audit_sentences(self.decisions)}
        whole = {"facts": self.facts, "guidance": guidance, "notes": self.notes, "texts": texts}
        return json.loads(to_json(whole, inf_nan_mode="null"))


def rendered(template: str, explanations: Sequence[Explanation], **parts: Any) -> str:
    """The template, which calls the functions of this module to show the explanations."""
    environment = templates()
    environment.filters["printable"] = printable
    return environment.get_template(template).render(view=sys.modules[__name__], explanations=explanations, **parts)


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
