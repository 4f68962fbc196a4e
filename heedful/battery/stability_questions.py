"""Questions of the verdict on stability, and on whether the top words are necessary and suffice."""

from collections.abc import Callable

import torch

from heedful.battery.question import Columns, Question, Triple, mean, percent

EVEN = 0.01
"""Divergence (nats) below which dealing the weights out at random changes so little that they must be nearly even."""


def _steady(test: str, js: str = "js") -> Callable[[Columns], Triple]:
    def measured(columns: Columns) -> Triple:
        value = columns[f"{test}.{js}"]
        return value, columns[f"{test}.shuffled_js"], torch.zeros_like(value)

    return measured


def _moved(test: str, tvd: str = "tvd", flips: str = "flips") -> Callable[[Columns], dict[str, float]]:
    wanted = {"answer moves by": f"{test}.{tvd}", "answers change": f"{test}.{flips}"}
    return lambda columns: {name: mean(column)(columns) for name, column in wanted.items()}


def _by_ranking(measure: str) -> Callable[[Columns], Triple]:
    def measured(columns: Columns) -> Triple:
        by = "rationale.{}_{}".format
        return columns[by(measure, "attention")], columns[by(measure, "random")], columns[by(measure, "leave_one_out")]

    return measured


def _of_shuffled(value: float, floor: float) -> str:
    """A divergence beside what dealing the weights out at random would make it.

    >>> _of_shuffled(0.03, 0.3)
    '10 % as far as dealing it out at random would'
    >>> _of_shuffled(0.0, 0.0004)
    '0 % as far as dealing it out at random would (but attention is nearly even, so that there is little to move)'
    """
    share = 100 * value / floor if floor > 0 else 0.0
    even = " (but attention is nearly even, so that there is little to move)" if floor < EVEN else ""
    return f"{share:.0f} % as far as dealing it out at random would{even}"


def _sure(lost: float) -> str:
    """A change of a probability as a reader says it.

    >>> _sure(0.123), _sure(-0.02)
    ('12 points less sure', '2 points surer')
    """
    return f"{100 * abs(lost):.0f} points {'surer' if lost < 0 else 'less sure'}"


STABILITY: tuple[Question, ...] = (
    Question(
        "embedding_noise",
        "Is it stable? (embedding noise)",
        ("embedding_noise",),
        _steady("embedding_noise"),
        "ceiling",
        lambda v, f, b, beside: (
            f"A little noise on how the model sees one word moves attention {_of_shuffled(v, f)}, and changes "
            f"{percent(beside['answers change'])} answers."
        ),
        _moved("embedding_noise"),
        is_of_words=True,
    ),
    Question(
        "embedding_attack",
        "Is it stable? (the worst embedding noise)",
        ("embedding_attack",),
        _steady("embedding_attack", "js_attention"),
        "ceiling",
        lambda v, f, b, beside: (
            "The worst noise that was found, little on each word but chosen to do harm, moves attention "
            f"{_of_shuffled(v, f)}; chosen against the answer, it changes {percent(beside['answers change'])} answers."
        ),
        _moved("embedding_attack", "tvd_answer", "flips_answer"),
        is_of_words=True,
    ),
    Question(
        "word_substitution",
        "Is it stable? (other words of the same meaning)",
        ("word_substitution",),
        _steady("word_substitution"),
        "ceiling",
        lambda v, f, b, beside: (
            f"Putting a similar word in the place of another moves attention {_of_shuffled(v, f)}, and changes "
            f"{percent(beside['answers change'])} answers."
        ),
        _moved("word_substitution"),
        is_of_words=True,
    ),
    Question(
        "seeds",
        "Is it stable? (seeds)",
        ("seeds.shuffled_js",),
        _steady("seeds", "mean_js"),
        "ceiling",
        lambda v, f, b, beside: (
            "Training the same model again, with another roll of the dice, moves attention "
            f"{_of_shuffled(v, f)}, and changes {percent(beside['answers change'])} answers."
        ),
        _moved("seeds", "mean_tvd"),
    ),
    Question(
        "comprehensiveness",
        "Are the top words necessary?",
        ("rationale",),
        _by_ranking("comprehensiveness"),
        "yardstick",
        lambda v, f, b, beside: (
            f"Without its most attended words the model is {_sure(v)} of its answer; without as many words at random "
            f"{_sure(f)}, and without those whose leaving out matters most {_sure(b)}."
        ),
    ),
    Question(
        "sufficiency",
        "Do the top words suffice?",
        ("rationale",),
        _by_ranking("sufficiency"),
        "yardstick",
        lambda v, f, b, beside: (
            f"From its most attended words alone the model is {_sure(v)} of its answer than from the whole text; from "
            f"as many words at random {_sure(f)}, and from those whose leaving out matters most {_sure(b)}."
        ),
    ),
)
