"""What to show: attention, another ranking in its place, or nothing. Chosen on some texts, reported on others."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.battery.question import Columns, Values
from heedful.formatting import format_estimate
from heedful.measures import Estimate, difference_interval, score_interval
from heedful.schema import Advice
from heedful.verdict.counting import FEWEST_TEXTS, HALFWAY
from heedful.verdict.headline import Answer
from heedful.verdict.ranking_names import BOUNDS, FRACTION, SHOWN, ranking_title, rankings_in

NOT_SHOWN = ("attention", "weight_gradient")
"""Rankings that are tested and never advised: attention is asked about, and the gradient of weights is no word's."""
MATERIAL = 0.01
"""Share of a text that a ranking must save to be better than attention."""

OtherColumns = Mapping[str, Float[Tensor, "other_seed other_text"]]
"""Columns of other texts than those that the ranking is chosen on."""


def fraction(ranking: str) -> str:
    """The column of the share of a text that the ranking erases before the decision changes."""
    return f"{FRACTION}{ranking}"


def can_advise(columns: OtherColumns) -> bool:
    """Whether every ranking was tested that every audit tests."""
    return all(fraction(name) in columns for name in (*SHOWN, *BOUNDS))


def can_choose(columns: OtherColumns) -> bool:
    """Whether every ranking that may be shown was tested on the texts on which one is chosen."""
    return all(fraction(name) in columns for name in SHOWN)


def others_in(columns: OtherColumns) -> set[str]:
    """The rankings, beside attention, that may be shown in its place."""
    return {name for name in rankings_in(columns) if name not in NOT_SHOWN}


def compared_on_same_texts(columns: Columns) -> dict[str, Values]:
    """What rankings erase, undefined for all where a text lacks some ranking's scores: none gains by its texts.

    Scores from outside that too few texts have are left out instead.
    """
    outside = [fraction(name) for name in others_in(columns) if name not in SHOWN]
    few = {name for name in outside if _count(columns[name]) < FEWEST_TEXTS}
    kept = {name: columns[name] for name in columns if name.startswith(FRACTION) and name not in few}
    lacks = [kept[fraction(name)].isnan() for name in others_in(kept)]
    undefined = torch.stack(lacks).any(0) if lacks else torch.zeros(1, 1, dtype=torch.bool)
    return {name: values.masked_fill(undefined, torch.nan) for name, values in kept.items()}


def _count(values: Values) -> int:
    """The texts that have a value."""
    return int((~values.isnan()).any(0).sum())


def advise(
    choice: Columns,
    test: OtherColumns,
    answer: Answer,
    *,
    chosen_on: str,
    item: str = "word",
    is_exact: bool = True,
) -> Advice | None:
    """What to show, given the answer on attention; None where no decision can be changed.

    Attention that may be shown is. Otherwise the best of the other rankings is chosen by how soon it changes the
    decision; it must be better than attention, and hold on other texts as attention would have to: the interval of its
    score, between a random order and the smallest set that changes the decision, lies at or above one half.

    Args:
        choice: columns of the texts on which the ranking is chosen.
        test: columns of the texts on which it is reported.
        chosen_on: what the first are called.
        is_exact: whether the smallest sets are surely the smallest.
    """
    others = sorted(others_in(choice) & others_in(test), key=[*SHOWN, *rankings_in(test)].index)
    means = {name: test[fraction(name)].nanmean().item() for name in ("attention", *others, *BOUNDS)}
    best = min(others, key=lambda name: choice[fraction(name)].nanmean().nan_to_num(2.0).item())
    if choice[fraction(best)].isnan().all() or means[best] != means[best]:
        return None
    gain = difference_interval(choice[fraction("attention")], choice[fraction(best)])
    value, floor, ceiling = (1 - test[fraction(name)] for name in (best, *BOUNDS))
    score = score_interval(value, floor, ceiling)
    is_better = gain.low > MATERIAL
    action = "attention" if answer == "yes" else "instead" if is_better and score.low >= HALFWAY else "nothing"
    numbers = _numbers(best, means, score, item, is_exact=is_exact)
    sentence = {
        "attention": _may_be_shown(best, is_better=is_better),
        "instead": f"Show {ranking_title(best)} instead: {numbers}",
        "nothing": _nothing(best, numbers, is_better=is_better),
    }[action]
    ranking = "attention" if action == "attention" else best
    ends = {"score": score.value, "score_low": score.low, "score_high": score.high} if ranking == best else {}
    return Advice(action=action, ranking=ranking, sentence=sentence, chosen_on=chosen_on, fractions=means, **ends)


def _numbers(best: str, means: Mapping[str, float], score: Estimate, item: str, *, is_exact: bool) -> str:
    worth = format_estimate(score.value, score.low, score.high)
    smallest = "the smallest set that changes it" if is_exact else "the smallest set found to change it"
    return (
        f"erasing {item}s in its order changes the decision after {means[best]:.0%} of a text, in the order of "
        f"attention after {means['attention']:.0%}, at random after {means['random']:.0%}; {smallest} "
        f"is {means['minimal']:.0%} (score {worth}, where that set is 1)."
    )


def _may_be_shown(best: str, *, is_better: bool) -> str:
    if not is_better:
        return "Attention may be shown; no other ranking finds a change of the decision sooner."
    return f"Attention may be shown, though {ranking_title(best)} finds a change of the decision sooner."


def _nothing(best: str, numbers: str, *, is_better: bool) -> str:
    if is_better:
        title = ranking_title(best)
        return f"Show nothing: not even {title}, the best of the rankings tested, surely does well: {numbers}"
    return f"Show nothing: no other ranking is surely better than attention. Of {ranking_title(best)}: {numbers}"
