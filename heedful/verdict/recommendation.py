"""What to show a reader: attention, the cheapest ranking whose own answer is Yes, or the key words of each text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heedful.schema import Answer, ClassAnswer, Recommendation
from heedful.schema.rankings import ranking_title
from heedful.verdict.answer_text import per_100

PRICES: dict[str, tuple[float, float]] = {
    "attention": (0, 0),
    "rollout": (0, 0),
    "value_norm": (0, 0),
    "weight_gradient": (3, 0),
    "attention_x_gradient": (3, 0),
    "gradient_x_input": (3, 0),
    "alone": (0, 1),
    "leave_one_out": (0, 1),
    "effect": (0, 2),
    "smoothgrad": (75, 0),
    "integrated_gradients": (150, 0),
    "lime": (500, 0),
    "shap": (0, 25),
}
"""Forward passes of a whole text that a ranking takes: a number, and one per word. A backward pass counts as two."""
EFFECT = "; it is the criterion itself, applied to single words"


@dataclass(frozen=True)
class Candidate:
    """A ranking with its answers, for all texts and for each class."""

    name: str
    overall: ClassAnswer
    classes: Sequence[ClassAnswer]

    @property
    def is_yes(self) -> bool:
        """Whether the answer is Yes overall and for every class that has enough texts and a small set."""
        skipped: tuple[Answer, ...] = ("Too few texts", "No small set decides")
        answers = {each.answer for each in self.classes} - {*skipped}
        return self.overall.answer == "Yes" and answers <= {"Yes"}

    @property
    def share(self) -> float:
        """Share of texts in which it points, among those in which a small set decides."""
        return self.overall.shares.points.value or 0.0


def price_text(ranking: str) -> str:
    """The price of a ranking in passes of a whole text, for a text of n words.

    >>> price_text("attention"), price_text("gradient_x_input"), price_text("effect"), price_text("mine")
    ('0', '3', '2n', '')
    """
    if ranking not in PRICES:
        return ""
    fixed, by_word = PRICES[ranking]
    return f"{by_word:g}n".removeprefix("1") if by_word else f"{fixed:g}"


def choose(candidates: Sequence[Candidate], words: float) -> Candidate | None:
    """The cheapest ranking whose answer is Yes, the larger share at equal prices; else the largest share.

    Args:
        words: mean number of words of a text, by which prices are compared.
    """
    if yes := [each for each in candidates if each.is_yes]:
        return min(yes, key=lambda each: (_price(each.name, words), -each.share))
    return max(candidates, key=lambda each: each.share, default=None)


def _price(ranking: str, words: float) -> float:
    fixed, by_word = PRICES.get(ranking, (float("inf"), 0.0))
    return fixed + by_word * words


def recommend(
    headline: str,
    attention: Candidate,
    chosen: Candidate | None,
    test: Callable[[str], Candidate],
    *,
    chosen_on: str,
    item: str,
    milliseconds: float | None,
) -> Recommendation:
    """What to show.

    Args:
        headline: the audit's answer.
        chosen: the ranking that was chosen on other texts; None if there is none.
        test: the answers of a ranking on the texts that report it.
        milliseconds: per text, of the chosen ranking.
    """
    if headline in ("Nothing to explain", "Too few texts"):
        sentence = {
            "Nothing to explain": "Show no explanation: improve the model first.",
            "Too few texts": "Show no explanation yet: audit more texts.",
        }[headline]
        return Recommendation(show="nothing", sentence=sentence)
    if attention.is_yes:
        return Recommendation(show="attention", ranking="attention", sentence="Show attention.")
    if chosen is not None and chosen.is_yes and (tested := test(chosen.name)).is_yes:
        sentence = (
            f"Show {ranking_title(chosen.name)} instead of attention: it points to the key {item}s in "
            f"{per_100(tested.overall.shares.points)} ({_cost(chosen.name, milliseconds)})."
        )
        return Recommendation(show="ranking", ranking=chosen.name, sentence=sentence, chosen_on=chosen_on)
    sentence = (
        "Show no ranking without a check. Show the key words of each text, with its outcome: `heedful explain`."
    ).replace("words", f"{item}s", 1)
    return Recommendation(show="key words", ranking=chosen.name if chosen else "", sentence=sentence)


def _cost(ranking: str, milliseconds: float | None) -> str:
    passes = price_text(ranking)
    unit = f"{passes} passes per text" if passes else "external scores"
    timed = f"{unit}, {milliseconds:.1f} ms here" if milliseconds is not None else unit
    return f"{timed}{EFFECT}" if ranking == "effect" else timed
