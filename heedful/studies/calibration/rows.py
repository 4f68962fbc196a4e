"""Rows of the calibration: attention of known quality in worlds of known truth, and the answer that is right."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

from heedful.schema import Answer
from heedful.studies.calibration.worlds import HALF, ON, RANDOM, REVERSED

TEXTS = 300
OVERALL = None
"""The answer for all texts together; a number is the class that an answer is for."""

Target = int | None


@dataclass(frozen=True)
class Right:
    """The true answer, and the answers that count as right."""

    truth: Answer
    name: str
    answers: frozenset[str]

    def is_wrong_in_direction(self, answer: str) -> bool:
        """Whether the answer is Yes and the truth No, or the reverse."""
        return {self.truth, answer} == {"Yes", "No"}


@dataclass(frozen=True)
class Row:
    """A row: in each text attention is the first of two kinds with some probability, else the second.

    Args:
        attention: the row's attention in words.
        kinds: two kinds of attention of the world, or one.
        shares: probability of the first kind for a text of each class.
        sd: standard deviation of this probability among the seeds.
        right: the right answer for all texts (OVERALL) or for classes.
        required: share of right answers that the row needs.
        moved: smallest and largest share of texts with moved information.
        has_random_labels: whether labels have nothing to do with the texts.
    """

    world: str
    attention: str
    kinds: tuple[str, ...]
    right: dict[Target, Right]
    required: float = 0.95
    shares: tuple[float, float] = (1.0, 1.0)
    texts: int = TEXTS
    seeds: int = 1
    sd: float = 0.0
    moved: tuple[float, float] | None = field(default=None)
    has_random_labels: bool = False


def _exactly(truth: Answer, reason: str = "") -> Right:
    name = f"{truth} ({reason})" if reason else truth
    return Right(truth, name, frozenset((name,)))


def _not(answer: Answer, truth: Answer) -> Right:
    return Right(truth, f"not {answer}", frozenset(get_args(Answer)) - {answer})


YES, NO, SOME = _exactly("Yes"), _exactly("No"), _exactly("For some texts")
NO_SET = "No small set decides"


def _always(world: str, right: Right, *kinds: str, required: float = 0.95) -> list[Row]:
    return [Row(world, kind, (kind,), {OVERALL: right}, required) for kind in kinds]


def _small_classes() -> list[Row]:
    decides = "one word decides"
    worlds = (
        (f"{decides}, luck .35", 0.6, _not("No", "For some texts")),
        (f"{decides}, luck .45", 0.6, _not("No", "For some texts")),
        (decides, 0.85, _not("No", "Yes")),
        (f"{decides}, luck .2", 0.35, _not("Yes", "No")),
    )
    return [
        Row(
            world,
            f"right in {share:.0%}, {texts} texts per class",
            (ON, REVERSED),
            {0: right, 1: right},
            shares=(share, share),
            texts=2 * texts,
        )
        for texts in (30, 60)
        for world, share, right in worlds
    ]


def _several_seeds() -> list[Row]:
    neither = Right("For some texts", "neither Yes nor No", frozenset(get_args(Answer)) - {"Yes", "No"})
    return [
        Row(
            "one word decides",
            f"right in {share:.0%}, {seeds} seeds with sd {sd}",
            (ON, REVERSED),
            {OVERALL: right},
            0.995,
            (share, share),
            seeds=seeds,
            sd=sd,
        )
        for seeds in (3, 5)
        for sd in (0.03, 0.08)
        for share, right in ((0.6, neither), (0.95, _not("No", "Yes")), (0.2, _not("Yes", "No")))
    ]


def _rows() -> Sequence[Row]:
    decides, moves = "one word decides", "the state at j carries word i"
    default: dict[Target, Right] = {0: YES, 1: _exactly(NO_SET, "default")}
    return (
        *_always(decides, YES, ON),
        *_always(decides, NO, RANDOM, REVERSED, "uniform", "on the first word"),
        Row(decides, "right in 60%, else random", (ON, RANDOM), {OVERALL: SOME}, shares=(0.6, 0.6)),
        Row(decides, "right for class 0, random for 1", (ON, RANDOM), {0: YES, 1: NO}, 0.9, (1.0, 0.0)),
        *_always("two words decide together", YES, "on both"),
        *_always("two words decide together", NO, "on one of them"),
        *_always("three words, each enough", YES, "on one of them", required=0.9),
        *_always("three words, each enough", NO, RANDOM, required=0.9),
        *_always("one word supports, a weaker one opposes", YES, "on the supporting word"),
        *_always("one word supports, a weaker one opposes", NO, "on the opposing word"),
        *_always("one word in 200", YES, ON),
        *_always("one word in 200", NO, RANDOM),
        *(
            row
            for world in ("10 of 100 words, each enough", "20 of 200 words, each enough")
            for row in (*_always(world, YES, HALF, required=0.9), *_always(world, NO, RANDOM, required=0.9))
        ),
        *_always("many weak words", _exactly(NO_SET, "many words"), RANDOM),
        Row("class 1 is the default", "on the words for class 0", ("on the words for class 0",), default),
        Row(decides, f"{ON}, random labels", (ON,), {OVERALL: _exactly("Nothing to explain")}, has_random_labels=True),
        *_small_classes(),
        *_several_seeds(),
        Row(moves, "on j", ("on j",), {OVERALL: NO}, moved=(0.85, 1.0)),
        Row(moves, "on i", ("on i",), {OVERALL: YES}, moved=(0.0, 0.05)),
    )


ROWS = _rows()
