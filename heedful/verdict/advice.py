"""What to show: attention, another ranking in its place, or nothing. Chosen on some texts, reported on others."""

from collections.abc import Mapping

from jaxtyping import Float
from torch import Tensor

from heedful.battery.question import Columns
from heedful.formatting import format_estimate
from heedful.measures import Estimate, difference_interval, score_interval
from heedful.schema import Advice
from heedful.verdict.counting import HALFWAY
from heedful.verdict.headline import Answer

RANKINGS = {
    "input_gradient": "input gradient",
    "product": "attention x gradient",
    "leave_one_out": "leave-one-out",
    "attention": "attention",
}
"""Rankings that may be shown to a reader, in words."""
OTHERS = tuple(name for name in RANKINGS if name != "attention")
BOUNDS = ("random", "minimal")
"""A random order, and the smallest set that changes the decision: what rankings lie between."""

MATERIAL = 0.01
"""Share of a text that a ranking must save to be better than attention."""

OtherColumns = Mapping[str, Float[Tensor, "other_seed other_text"]]
"""Columns of other texts than those that the ranking is chosen on."""


def fraction(ranking: str) -> str:
    """The column of the share of a text that the ranking erases before the decision changes."""
    return f"erase_until_flip.fraction_{ranking}"


def can_advise(columns: OtherColumns) -> bool:
    """Whether every ranking was tested."""
    return all(fraction(name) in columns for name in (*RANKINGS, *BOUNDS))


def advise(choice: Columns, test: OtherColumns, answer: Answer, *, chosen_on: str, item: str = "word") -> Advice | None:
    """What to show, given the answer on attention; None where no decision can be changed.

    Attention that may be shown is. Otherwise the best of the other rankings is chosen by how soon it changes the
    decision; it must be better than attention, and hold on other texts as attention would have to: the interval of its
    score, between a random order and the smallest set that changes the decision, lies at or above one half.

    Args:
        choice: columns of the texts on which the ranking is chosen.
        test: columns of the texts on which it is reported.
        chosen_on: what the first are called.
    """
    means = {name: test[fraction(name)].nanmean().item() for name in (*RANKINGS, *BOUNDS)}
    best = min(OTHERS, key=lambda name: choice[fraction(name)].nanmean().nan_to_num(2.0).item())
    if choice[fraction(best)].isnan().all() or means[best] != means[best]:
        return None
    gain = difference_interval(choice[fraction("attention")], choice[fraction(best)])
    value, floor, ceiling = (1 - test[fraction(name)] for name in (best, *BOUNDS))
    score = score_interval(value, floor, ceiling)
    is_better = gain.low > MATERIAL
    action = "attention" if answer == "yes" else "instead" if is_better and score.low >= HALFWAY else "nothing"
    numbers = _numbers(best, means, score, item)
    sentence = {
        "attention": _may_be_shown(best, is_better=is_better),
        "instead": f"Show {RANKINGS[best]} instead: {numbers}",
        "nothing": _nothing(best, numbers, is_better=is_better),
    }[action]
    ranking = "attention" if action == "attention" else best
    ends = {"score": score.value, "score_low": score.low, "score_high": score.high} if ranking == best else {}
    return Advice(action=action, ranking=ranking, sentence=sentence, chosen_on=chosen_on, fractions=means, **ends)


def _numbers(best: str, means: Mapping[str, float], score: Estimate, item: str) -> str:
    worth = format_estimate(score.value, score.low, score.high)
    return (
        f"erasing {item}s in its order changes the decision after {means[best]:.0%} of a text, in the order of "
        f"attention after {means['attention']:.0%}, at random after {means['random']:.0%}; the smallest set that "
        f"changes it is {means['minimal']:.0%} (score {worth}, where that set is 1)."
    )


def _may_be_shown(best: str, *, is_better: bool) -> str:
    if not is_better:
        return "Attention may be shown; no other ranking finds a change of the decision sooner."
    return f"Attention may be shown, though {RANKINGS[best]} finds a change of the decision sooner."


def _nothing(best: str, numbers: str, *, is_better: bool) -> str:
    if is_better:
        return f"Show nothing: not even {RANKINGS[best]}, the best of the rankings tested, surely does well: {numbers}"
    return f"Show nothing: no other ranking does better than attention. Of {RANKINGS[best]}: {numbers}"
