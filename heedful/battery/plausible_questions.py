"""What the verdict asks about the agreement of attention with people, and in which words."""

from collections.abc import Callable

import torch

from heedful.battery.question import Columns, Question, QuestionResult, Triple, Values, mean
from heedful.measures.span_overlap import f1_of_means

BASELINES = {
    "random": "random order",
    "first": "the first words first",
    "longest": "the longest words first",
    "rarest": "the rarest words first",
}
"""Rankings that know nothing of the model, in words."""

NO_EVIDENCE = "That is agreement with people, and no evidence of how the model decides."
SPANS = {"hatexplain": "HateXplain", "eraser": "ERASER"}


def strongest_baseline(columns: Columns, measure: str) -> tuple[str, Values]:
    """The trivial ranking that agrees with people best, on average over the texts, and its values."""
    defined = ~columns[f"plausibility.{measure}_attention"].isnan()
    candidates = {name: columns[f"plausibility.{measure}_{name}"] for name in BASELINES}
    # One that is not known for every text (words or counts are missing) is no floor.
    usable = {name: values for name, values in candidates.items() if not (values.isnan() & defined).any()}
    name = max(usable or {"random": None}, key=lambda name: candidates[name].nanmean().nan_to_num(-1.0).item())
    return name, candidates[name]


def _between(measure: str, best: str | None) -> Callable[[Columns], Triple]:
    def measured(columns: Columns) -> Triple:
        value, (_, floor) = columns[f"plausibility.{measure}_attention"], strongest_baseline(columns, measure)
        return value, floor, torch.ones_like(value) if best is None else columns[f"plausibility.{measure}_{best}"]

    return measured


def _details(measure: str) -> Callable[[Columns], dict[str, float]]:
    """The same measure of every other ranking, by what it is."""
    start = f"plausibility.{measure}_"

    def details(columns: Columns) -> dict[str, float]:
        names = [name.removeprefix(start) for name in columns if name.startswith(start)]
        values = {name: mean(f"{start}{name}")(columns) for name in names if name not in ("attention", "best")}
        return {BASELINES.get(name, name.replace("_", " ")): value for name, value in values.items() if value == value}

    return details


def _ranking_details(columns: Columns) -> dict[str, float]:
    details = _details("average_precision")(columns)
    annotators = {
        "another annotator, against all others": details.pop("annotator", torch.nan),
        "attention, against all annotators but one": details.pop("attention others", torch.nan),
        "AUROC of attention": mean("plausibility.auroc_attention")(columns),
        "share of words that people marked": mean("plausibility.marked")(columns),
    }
    return {**details, **{name: value for name, value in annotators.items() if value == value}}


def _top_details(columns: Columns) -> dict[str, float]:
    """Token F1 of other rankings, and IOU by its three definitions, each beside its floor and its best."""
    details = _details("token_f1")(columns)
    for ranking, suffix in (("attention", ""), ("random", " of random order"), ("best", ", best possible")):
        for source, title in SPANS.items():
            pair = (columns[f"plausibility.{source}_{part}_{ranking}"] for part in ("precision", "recall"))
            details[f"IOU F1 as {title} has it{suffix}"] = f1_of_means(*pair)
        details[f"IOU as ferret has it{suffix}"] = mean(f"plausibility.ferret_iou_{ranking}")(columns)
    return {name: value for name, value in details.items() if value == value}


def _ranking_sentence(answer: QuestionResult) -> str:
    strongest = max(BASELINES.values(), key=lambda name: answer.details.get(name, -1.0))
    people = answer.details.get("another annotator, against all others")
    other = "" if people is None else f"; another annotator's marks have {people:.2f} against the others'"
    return (
        f"Ranked by attention, the {answer.item}s that people marked have an average precision of {answer.value:.2f}, "
        f"by the marks themselves of 1, and by {strongest}, the best of four rankings that know nothing of the model, "
        f"of {answer.floor:.2f}{other}. {NO_EVIDENCE}"
    )


def _top_sentence(answer: QuestionResult) -> str:
    return (
        f"The most attended {answer.item}s and the marked ones agree with an F1 of {answer.value:.2f}; as many "
        f"{answer.item}s by a ranking that knows nothing of the model reach {answer.floor:.2f}, and no other choice of "
        f"as many more than {answer.best:.2f}. {NO_EVIDENCE}"
    )


QUESTIONS = (
    Question(
        name="plausibility",
        topic="words that people marked",
        group="plausibility",
        wording=lambda item: f"Does attention rank {item}s as people mark them?",
        needs=("plausibility.average_precision_attention",),
        measured=_between("average_precision", None),
        best_kind="ceiling",
        sentence=_ranking_sentence,
        details=_ranking_details,
    ),
    Question(
        name="plausible_top_words",
        topic="top words that people marked",
        group="plausibility",
        wording=lambda item: f"Are the top {item}s those that people marked?",
        needs=("plausibility.token_f1_attention",),
        measured=_between("token_f1", "best"),
        best_kind="ceiling",
        sentence=_top_sentence,
        details=_top_details,
    ),
)
