"""Would a retrained model attend elsewhere? Models trained to predict as the audited one does and attend elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, nan

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.battery.question import Columns, Question, ValueFloorBest, Values
from heedful.exact.adversary import js_of_single, loss_of_overlap
from heedful.exact.frozen import frozen_optimum
from heedful.exact.linear_form import normalised_attention
from heedful.measures import js_divergence, total_variation_distance
from heedful.models.abilities import linear, own_parts
from heedful.types import Model, Trace

# # AtteFa, the score of a trained adversary, compared with adversaries that explain nothing, and with the best of all.
#
# AtteFa compares how far an adversary's predictions moved with how far its attention did; yet an adversary may stop
# predicting, or only rescale. Each member of the family is a point of the same plane, TVD against JSD: the
# trained adversaries, one per seed; one that predicts the same for every text; one that rescales; and the
# exact optimum with everything but attention frozen. All hold for any number of classes but the last, which is for
# two.

# Predictions this close to the best constant one, for all but this share of the texts, are the same for every text.
SAME, STRAY = 0.1, 0.01

GAVE_UP, NO_BETTER, BETTER = "gave up", "no better than a constant answer", "better than a constant answer"
"""What becomes of a trained adversary."""

Measures = Mapping[str, Float[Tensor, " text"]]
"""Measures by name, one value per text."""


@dataclass(frozen=True)
class Member:
    """An adversary as a point of the plane: means over the texts, and the scores that follow from them.

    Args:
        tvd: how far its predictions are from the base model's.
        js: how far its attention is from the base model's, in nats.
        loss: tvd - js / ln 2, what adversaries minimize.
        attefa: as defined by the paper.
        attefa_of_cap: the same with the divergence measured against its cap instead of ln 2.
        gave_up: whether it predicts nearly the same for every text. None if this was not determined, or if the base
            does so itself: following it is then no sign of giving up.
    """

    tvd: float
    js: float
    loss: float
    attefa: float
    attefa_of_cap: float
    gave_up: bool | None = None

    @property
    def unit_tvd(self) -> float:
        """The TVD as the paper prints it, summed over one output unit: half of ours. For two classes only."""
        return self.tvd / 2


@dataclass(frozen=True)
class Family:
    """One base model and its adversaries, together.

    Args:
        seeds: the trained adversaries, in the order given.
        best: which of them has the least loss; by the method's own criterion its AtteFa is the answer.
        mean: mean AtteFa over the seeds, as the paper reports it.
        spread: population standard deviation over the seeds.
        cap: the mean of the largest divergences that a trained adversary's attention could have.
        constant: predicts the same for every text, its attention at the cap. If attention can reach the cap, the best
            adversary there is scores no more.
        rescaled: predicts as the base does with full confidence, its attention at the cap. If weights may grow
            without limit, some adversary comes as near to it as one likes.
        frozen: the exact optimum if attention alone may move; None if it is not known: three classes or more, or a
            head that is not linear.
    """

    seeds: tuple[Member, ...]
    best: int
    mean: float
    spread: float
    cap: float
    constant: Member
    rescaled: Member
    frozen: Member | None

    @property
    def outcomes(self) -> tuple[str, ...]:
        """What became of each seed: it gave up; or, by the loss that it minimises, whether it beat a constant answer.

        An adversary that did not give up, yet has no less loss than the constant one, says as little.
        """
        beaten = [member.loss < self.constant.loss for member in self.seeds]
        ways = zip(self.seeds, beaten, strict=True)
        return tuple(GAVE_UP if member.gave_up else BETTER if beats else NO_BETTER for member, beats in ways)


def attefa(
    tvd: Float[Tensor, " text"], js: Float[Tensor, " text"], caps: Float[Tensor, " text"] | None = None
) -> float:
    """How much the prediction had to move for the attention to move as it did, at most 1.

    AtteFa = min(mean TVD / (mean JSD / ln 2), 1): a ratio of means.

    Near 0, the adversary won: the same predictions by other attention. NaN if neither moved. Amini and Kosseim
    (2022, section 3.3, equation 7), whose TVD over one output unit is half of ours and is then divided by 0.5.

    Args:
        tvd: TVD of the adversary's prediction from the base model's; for two classes |p - q|.
        js: JSD of its attention from the base model's, in nats.
        caps: the largest divergence that each text allows, whose mean then replaces ln 2.

    >>> tvd, js = torch.tensor([0.1, 0.3]), torch.tensor([0.6931, 0.3466])
    >>> attefa(tvd, js), attefa(tvd, js, caps=torch.tensor([0.6931, 0.6931]))  # 0.2 / 0.75
    (0.2666..., 0.2666...)
    """
    most = log(2) if caps is None else caps.double().mean().item()
    moved, elsewhere = tvd.double().mean().item(), js.double().mean().item()
    if elsewhere == 0:
        return 1.0 if moved > 0 else nan
    return min(moved * most / elsewhere, 1.0)


def js_caps(
    attention: Float[Tensor, "text item"],
    items: Bool[Tensor, "text item"],
    tokens: Int[Tensor, "text item"] | None = None,
) -> Float[Tensor, " text"]:
    """The largest divergence from each text's attention that any other attention over its items has.

    cap = g(least weight), g(a) = ln 2 + (a ln a - (1 + a) ln(1 + a)) / 2: all weight on the least attended item.

    Below ln 2, and far below for short texts; 0 where there is one item. A token-wise encoder gives equal tokens equal
    attention, so its adversary can at best put all weight on one type of token, evenly: given `tokens`, the cap is the
    largest over types, which is g(least total weight of a type) where the base, too, weighs equal tokens alike.

    Args:
        tokens: for a token-wise adversary only: the numbers that it reads, so all unknown words are one type.

    >>> two, three = torch.tensor([[0.75, 0.25]]), torch.tensor([[0.5, 0.25, 0.25]])
    >>> js_caps(two, two > 0), js_caps(three, three > 0, torch.tensor([[3, 5, 5]]))  # g(1/4), g(1/2)
    (tensor([0.3804], dtype=torch.float64), tensor([0.2158], dtype=torch.float64))
    """
    base = normalised_attention(attention, items)
    if tokens is None:
        return js_of_single(base.where(items, 1.0).amin(-1))
    row = torch.arange(len(tokens), device=tokens.device).unsqueeze(-1).expand_as(tokens)
    kinds, kind = torch.stack([row[items], tokens[items]]).unique(dim=1, return_inverse=True)
    empty = base.new_zeros(kinds.shape[1])
    share = 1 / empty.index_add(0, kind, torch.ones_like(base[items]))
    js = log(2) + empty.index_add(0, kind, loss_of_overlap(base[items], share[kind]))
    return base.new_zeros(len(base)).scatter_reduce(0, kinds[0], js, "amax")


def best_constant(probabilities: Float[Tensor, "text classes"]) -> Float[Tensor, " classes"]:
    """The one prediction for every text that is nearest to these in mean TVD.

    For each class the same quantile of its probabilities, the one at which the classes sum to 1; for two the median.

    The mean of |p - c| over texts changes, as c rises past the j-th of n values, by (2j - n) / n: the same for every
    class at the same rank, so that nothing is gained by giving one class more and another less.

    >>> best_constant(torch.tensor([[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]]))
    tensor([0.7500, 0.2500], dtype=torch.float64)
    """
    p = probabilities.double()
    ranked = (p / p.sum(-1, keepdim=True)).sort(0).values
    total = ranked.sum(-1)
    above = min(int((total < 1).sum()), len(total) - 1)
    below = max(above - 1, 0)
    share = ((1 - total[below]) / (total[above] - total[below])).nan_to_num(1.0, 1.0, 1.0).clamp(0, 1)
    return ranked[below].lerp(ranked[above], share)


def constant_adversary(probabilities: Float[Tensor, "text classes"]) -> Float[Tensor, " text"]:
    """What an adversary that predicts the same for every text pays: the TVD of the best constant from each prediction.

    For two classes |p - median p|.

    Its mean is about the share of the rarer class where the base is confident, so 0.5 on balanced data. Attention
    is then free to go to the cap, which makes it what an adversary falls back on. The best adversary's loss is at most
    this one's and its JSD at most the cap, so its AtteFa is at most this one's: a printed value near it shows that the
    adversary gave up, not that attention is faithful; one above it, that the optimizer fell short (derived; not in the
    paper).

    >>> constant_adversary(torch.tensor([[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]]))
    tensor([0.2500, 0.0000, 0.7500], dtype=torch.float64)
    """
    constant = best_constant(probabilities)
    return total_variation_distance(probabilities.double(), constant.expand_as(probabilities))


def rescaling_adversary(probabilities: Float[Tensor, "text classes"]) -> Float[Tensor, " text"]:
    """Cost of an adversary with the base's predictions and full confidence: 1 - the largest probability.

    With any other scores, an adversary that multiplies each item's logits by exp(base's score - own score) has the
    base's logits again, times a positive factor per text. One more large factor makes all of them confident, and every
    prediction is the base's; no context is needed. So if the base is confident, the least AtteFa is about 0,
    faithful or not, if weights may grow without limit; a trained adversary's value is what the optimizer found
    (derived; not in the paper).

    >>> rescaling_adversary(torch.tensor([[0.75, 0.25], [0.5, 0.5]]))
    tensor([0.2500, 0.5000], dtype=torch.float64)
    """
    return 1 - probabilities.double().amax(-1)


def gave_up(probabilities: Float[Tensor, "text classes"]) -> bool:
    """Whether an adversary predicts nearly the same for every text, and so explains nothing.

    The rule: of all but 1 in 100 texts, the TVD from the best constant prediction is at most 0.1.

    It means something only where the base model itself has not: an adversary that follows a base whose predictions all
    lie close together does the same for a good reason. A model that finds a class rarer than 1 in 100 and says the same
    elsewhere counts as having given up.

    >>> gave_up(torch.tensor([[0.48, 0.52], [0.5, 0.5], [0.51, 0.49]])), gave_up(torch.tensor([[0.1, 0.9], [0.9, 0.1]]))
    (True, False)
    """
    return _is_constant(constant_adversary(probabilities))


def base_rows(
    attention: Float[Tensor, "text item"],
    probabilities: Float[Tensor, "text classes"],
    items: Bool[Tensor, "text item"],
    item_logits: Float[Tensor, "text item classes"] | None = None,
    tokens: Int[Tensor, "text item"] | None = None,
) -> dict[str, Float[Tensor, " text"]]:
    """What no training is needed for, text by text, from all that the base model predicts for a whole split.

    `cap`; `type_cap`, given tokens; `constant_tvd`; `rescaled_tvd`; and `frozen_tvd`, `frozen_js`, `frozen_loss`, given
    the item logits of two classes.

    Args:
        item_logits: None if the head is not linear.
        tokens: what a token-wise encoder reads; None for one that sees context.
    """
    rows = {
        "cap": js_caps(attention, items),
        "constant_tvd": constant_adversary(probabilities),
        "rescaled_tvd": rescaling_adversary(probabilities),
    }
    if tokens is not None:
        rows["type_cap"] = js_caps(attention, items, tokens)
    if item_logits is not None and item_logits.shape[-1] == 2:
        frozen = frozen_optimum(attention, item_logits, items)
        rows |= {"frozen_tvd": frozen.moved, "frozen_js": frozen.js, "frozen_loss": frozen.loss}
    return rows


def adversary_rows(
    attention: Float[Tensor, "text item"],
    probabilities: Float[Tensor, "text classes"],
    base_attention: Float[Tensor, "text item"],
    base_probabilities: Float[Tensor, "text classes"],
    items: Bool[Tensor, "text item"],
) -> dict[str, Float[Tensor, " text"]]:
    """How far one trained adversary went from the base, text by text of a whole split.

    `tvd`; `js`; `loss` = tvd - js / ln 2; `apart`, the TVD of its prediction from its own best constant one.
    """
    tvd = total_variation_distance(probabilities.double(), base_probabilities.double())
    js = js_divergence(attention.double(), base_attention.double(), items)
    return {"tvd": tvd, "js": js, "loss": tvd - js / log(2), "apart": constant_adversary(probabilities)}


def family(base: Measures, seeds: Sequence[Measures]) -> Family:
    """The family from the rows of one base model and those of its adversaries, over the same texts.

    Args:
        base: as `base_rows` gives them.
        seeds: as `adversary_rows` gives them, at least one.

    >>> predictions, attention = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[0.75, 0.25], [0.25, 0.75]])
    >>> gone = adversary_rows(attention.flip(1), torch.full((2, 2), 0.5), attention, predictions, attention > 0)
    >>> members = family(base_rows(attention, predictions, attention > 0), [gone])
    >>> members.seeds[0].tvd, members.seeds[0].gave_up, members.constant.tvd, members.rescaled.tvd
    (0.5, True, 0.5, 0.0)
    """
    caps = base.get("type_cap", base["cap"])
    is_asked = not _is_constant(base["constant_tvd"])
    trained = tuple(_member(r["tvd"], r["js"], caps, _is_constant(r["apart"]) if is_asked else None) for r in seeds)
    values = torch.tensor([member.attefa for member in trained], dtype=torch.float64)
    return Family(
        seeds=trained,
        best=min(range(len(trained)), key=lambda seed: trained[seed].loss),
        mean=values.mean().item(),
        spread=values.std(correction=0).item(),
        cap=caps.mean().item(),
        constant=_member(base["constant_tvd"], caps, caps, True),
        rescaled=_member(base["rescaled_tvd"], caps, caps),
        # The frozen optimum may weigh equal tokens differently, so that no cap by type holds for it.
        frozen=_member(base["frozen_tvd"], base["frozen_js"], base["cap"]) if "frozen_tvd" in base else None,
    )


def _member(
    tvd: Float[Tensor, " text"], js: Float[Tensor, " text"], caps: Float[Tensor, " text"], gave_up: bool | None = None
) -> Member:
    loss = (tvd - js / log(2)).mean().item()
    return Member(tvd.mean().item(), js.mean().item(), loss, attefa(tvd, js), attefa(tvd, js, caps), gave_up)


def _is_constant(apart: Float[Tensor, " text"]) -> bool:
    return (apart > SAME).double().mean().item() <= STRAY


REACHABLE, TRAINED = "attefa", "adversarial_models"
"""Tests in the rows: what an adversary could reach, and what each trained one did, numbered from 1."""


def reachable(model: Model, base: Trace) -> dict[str, Float[Tensor, " batch"]]:
    """What needs no training, of one batch, as `base_rows` names it."""
    head, own = linear(model), own_parts(model)
    item_logits = None if head is None else head.item_logits(base.encoded).cpu()
    token_wise = own is not None and getattr(own.encoder, "token_wise", False)
    types = base.batch.tokens.cpu() if token_wise else None  # such a model weighs equal tokens alike
    return base_rows(base.attention.cpu(), base.logits.softmax(-1).cpu(), base.encoded.items.cpu(), item_logits, types)


def reached(base: Trace, other: Trace) -> dict[str, Float[Tensor, " batch"]]:
    """How far a trained adversary went, of one batch, as `adversary_rows` names it."""
    own, base_predictions = other.logits.softmax(-1).cpu(), base.logits.softmax(-1).cpu()
    return adversary_rows(other.attention.cpu(), own, base.attention.cpu(), base_predictions, base.encoded.items.cpu())


def distance_from_constant(
    predictions: Sequence[Float[Tensor, "_ classes"]],
) -> tuple[Float[Tensor, " _"], ...]:
    """For each batch, how far each prediction is from the best constant one, the same for all texts of the split."""
    return constant_adversary(torch.cat(list(predictions))).split([len(batch) for batch in predictions])


def families(columns: Columns) -> list[Family]:
    """The AtteFa family of each seed's model."""
    numbers = sorted(int(name.split("_")[-1]) for name in columns if name.startswith(f"{TRAINED}.tvd_"))
    base = {name.removeprefix("attefa."): columns[name] for name in columns if name.startswith("attefa.")}
    return [
        family(
            {name: values[seed] for name, values in base.items()},
            [{part: columns[f"{TRAINED}.{part}_{n}"][seed] for part in ("tvd", "js", "apart")} for n in numbers],
        )
        for seed in range(len(columns[f"{REACHABLE}.cap"]))
    ]


def _frozen(columns: Columns) -> ValueFloorBest:
    by_seed = families(columns)
    value = columns["attefa.frozen_tvd"] * _per_divergence([each.frozen for each in by_seed])
    return value, torch.zeros_like(value), _constant(columns, by_seed)


def _attefa(columns: Columns) -> ValueFloorBest:
    by_seed = families(columns)
    moved = [columns[f"{TRAINED}.tvd_{each.best + 1}"][seed] for seed, each in enumerate(by_seed)]
    value = torch.stack(moved) * _per_divergence([each.seeds[each.best] for each in by_seed])
    return value, torch.zeros_like(value), _constant(columns, by_seed)


def _constant(columns: Columns, by_seed: Sequence[Family]) -> Values:
    return columns["attefa.constant_tvd"] * _per_divergence([each.constant for each in by_seed])


def _per_divergence(members: Sequence[Member | None]) -> Float[Tensor, "seed 1"]:
    """What makes a mean TVD an AtteFa: ln 2 over the mean divergence, one number for all texts of a seed."""
    divergences = [nan if member is None or member.js == 0 else member.js for member in members]
    return log(2) / torch.tensor(divergences, dtype=torch.float64)[:, None]


def _details(columns: Columns) -> dict[str, float]:
    """Every adversary's score and whether it gave up; over several base models, the mean."""
    by_seed = families(columns)
    outcomes = [outcome for each in by_seed for outcome in each.outcomes]
    details = {
        "mean over adversaries": sum(each.mean for each in by_seed) / len(by_seed),
        "standard deviation": sum(each.spread for each in by_seed) / len(by_seed),
        "adversaries": float(len(by_seed[0].seeds)),
        "that gave up": outcomes.count(GAVE_UP) / len(by_seed),
        "that did not, and are no better than a constant answer": outcomes.count(NO_BETTER) / len(by_seed),
        "by the cap instead of ln 2": sum(each.seeds[each.best].attefa_of_cap for each in by_seed) / len(by_seed),
        "if weights may grow without limit": sum(each.rescaled.attefa for each in by_seed) / len(by_seed),
    }
    if len(by_seed) == 1:
        for n, member in enumerate(by_seed[0].seeds, start=1):
            details[f"adversary {n}{' (gave up)' if member.gave_up else ''}"] = member.attefa
    return details


QUESTIONS = (
    Question(
        name="attefa_frozen",
        topic="other attention, retrained alone",
        group="exclusivity",
        wording=lambda item: "Could attention alone go elsewhere and the answers stay?",
        needs=("attefa.frozen_tvd", TRAINED),
        measured=_frozen,
        best_kind="yardstick",
        sentence=lambda answer: (
            f"With all else held fixed, attention that goes elsewhere at the least cost moves the answers by "
            f"{answer.value:.2f} for each unit of divergence; an adversary that predicts the same for every text, by "
            f"{answer.best:.2f}."
        ),
    ),
    Question(
        name="attefa",
        topic="other attention, all retrained",
        group="exclusivity",
        wording=lambda item: "Would a retrained model attend elsewhere?",
        needs=("attefa", TRAINED),
        measured=_attefa,
        best_kind="yardstick",
        sentence=lambda answer: (
            f"The best of {answer.details['adversaries']:.0f} models trained to make the same predictions by other "
            f"attention has an AtteFa of {answer.value:.2f} (0: it won), where one that predicts the same for every "
            f"text "
            f"has {answer.best:.2f}"
            + (f"; {answer.details['that gave up']:.0f} gave up predicting." if answer.details["that gave up"] else ".")
        ),
        details=_details,
    ),
)
