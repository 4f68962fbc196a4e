"""What the battery must do on attention of known quality, and where it falls short of it."""

from collections.abc import Sequence

from heedful.studies.calibration.suite import WORLDS, Tally

GOOD, BAD = "oracle", ("anti", "random")
OFTEN, SELDOM = 0.9, 0.05
"""Of the draws in which a question counts the oracle must hold in so many; bad attention may in so many of all."""
COUNTED = 0.1
"""A question is judged in a world where it counts in at least this share of draws."""
MOSTLY, FEWEST = 0.5, 3
"""So many questions of relevance must count in most draws, wherever attention is used and the task learnt."""

RULES = (
    f"Of the draws in which a question of relevance counts, the oracle must hold in {OFTEN:.0%}: in every world where "
    "attention is used and the model has learnt, for every question that counts in "
    f"{COUNTED:.0%} of draws or more.",
    f"Attention that is anti or random may hold in {SELDOM:.0%} of all draws, in every world.",
    "Where the model ignores attention, or has learnt nothing, no attention may hold in more than that.",
    f"At least {FEWEST} questions of relevance must count in most draws of every world where attention is used and the "
    "model has learnt.",
)


def shortfalls(tallies: Sequence[Tally]) -> list[str]:
    """Where the battery breaks a rule, in words; empty where it breaks none."""
    relevance = [tally for tally in tallies if tally.group == "relevance"]
    missed = [broken for tally in relevance if (broken := _shortfall(tally))]
    for world in dict.fromkeys(tally.world for tally in relevance):
        counted = counted_questions(relevance, world)
        if _has_truth(world) and len(counted) < FEWEST:
            missed.append(f"{world}: only {len(counted)} questions of relevance count in most draws.")
    return missed


def counted_questions(tallies: Sequence[Tally], world: str) -> list[str]:
    """The questions of relevance that count in most draws of the world, asked of the oracle."""
    of_oracle = [tally for tally in tallies if (tally.world, tally.attention) == (world, GOOD)]
    return [
        tally.question for tally in of_oracle if tally.group == "relevance" and tally.counted >= MOSTLY * tally.draws
    ]


def is_judged(tally: Tally) -> bool:
    """Whether the question counts often enough for its share of holds to be judged."""
    return tally.counted > 0 and tally.counted >= COUNTED * tally.draws


def _has_truth(world: str) -> bool:
    """Whether there is good attention: a decision that is learnt, and rests on what is attended to."""
    return WORLDS[world].uses_attention and WORLDS[world].is_learnt


def _shortfall(tally: Tally) -> str:
    where = f"{tally.world}, {tally.question}, {tally.attention}"
    if tally.attention == GOOD and _has_truth(tally.world):
        missed = is_judged(tally) and tally.holds_if_counted < OFTEN
        return f"{where}: holds in {tally.holds_if_counted:.0%} of {tally.counted} draws." if missed else ""
    may_hold = _has_truth(tally.world) and tally.attention not in BAD
    return "" if may_hold or tally.holds <= SELDOM else f"{where}: holds in {tally.holds:.0%} of {tally.draws} draws."
