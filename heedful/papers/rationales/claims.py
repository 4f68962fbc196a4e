"""Claims about rationales, tested on audited rows: does teaching attention where people look make it tell more?"""

from collections.abc import Callable

import torch

from heedful.battery.question import Values
from heedful.papers.claim_rule import Part, paired, part_of, test_claim
from heedful.papers.rationales.columns import (
    ATTENDING,
    ATTENTION,
    AUPRC,
    COMPREHENSIVENESS,
    FRACTION,
    GRADIENT,
    GUIDED,
    GUIDED_CODE,
    HATEXPLAIN,
    MOVIES,
    PRECISION,
    model_name,
    saved,
)
from heedful.papers.reproduction import Cell, Claim, Results

READING = "our reading of"
HATEXPLAIN_PAPER, ERASER_PAPER = "Mathew et al. (2021)", "DeYoung et al. (2020)"
PROBABILITY = "probability"

MORE_PLAUSIBLE = Claim(
    id="guided_attention_is_more_plausible",
    statement="Attention that was taught where people look agrees better with people.",
    quote="",
    source=f"{READING} {HATEXPLAIN_PAPER}, results on explainability",
    measured="average precision of attention against the marks, guided - not guided, text by text",
    unit="average precision",
    margin=0.05,
)
NOT_MORE_FAITHFUL = Claim(
    id="more_plausible_is_not_more_faithful",
    statement="Attention that was taught where people look is not more faithful to the model for that.",
    quote="",
    source=f"{READING} {HATEXPLAIN_PAPER}: plausibility and faithfulness are different things",
    measured="share of a text that attention saves of a random order's erasures, not guided - guided, text by text",
    unit="share of a text",
    margin=0.05,
    kind="no_less",
)
BEATS_RANDOM = Claim(
    id="attention_beats_random",
    statement="Without its most attended words a model is less sure than without as many words at random.",
    quote="",
    source=f"{READING} {ERASER_PAPER}, soft scores",
    measured="comprehensiveness, attention - random words",
    unit=PROBABILITY,
    margin=0.02,
)
GRADIENT_BEATS = Claim(
    id="attention_does_not_beat_the_gradient",
    statement="The most attended words are no more necessary to a model than the top words by gradient x input.",
    quote="",
    source=f"{READING} {ERASER_PAPER}, soft scores: on movies the gradient's comprehensiveness is no less",
    measured="comprehensiveness, gradient x input - attention",
    unit=PROBABILITY,
    margin=0.02,
    kind="no_less",
)
CONSTANT_HATEXPLAIN = Claim(
    id="auprc_rewards_constant_scores_hatexplain",
    statement="By ERASER's AUPRC the same score for every word is better than random ones, on HateXplain.",
    quote="",
    source="our reading of ERASER's published code, which takes the trapezoid under the curve",
    measured="ERASER's AUPRC, constant scores - random scores",
    unit="AUPRC",
    margin=0.05,
)
CONSTANT_MOVIES = Claim(
    id="auprc_rewards_constant_scores_movies",
    statement="By ERASER's AUPRC the same score for every word is better than random ones, on movie reviews.",
    quote="",
    source="our reading of ERASER's published code, which takes the trapezoid under the curve",
    measured="ERASER's AUPRC, constant scores - random scores",
    unit="AUPRC",
    margin=0.05,
)


def claims(results: Results) -> list[Claim]:
    """Guided attention, faithfulness, comprehensiveness, and what ERASER's AUPRC rewards."""
    attention = COMPREHENSIVENESS("attention")
    return [
        test_claim(MORE_PLAUSIBLE, _against_unguided(results, _precision, PRECISION("attention"))),
        test_claim(NOT_MORE_FAITHFUL, _against_unguided(results, _lost, FRACTION("attention"), FRACTION("random"))),
        test_claim(BEATS_RANDOM, _of_attending(results, attention, COMPREHENSIVENESS("random"))),
        test_claim(GRADIENT_BEATS, _of_attending(results, COMPREHENSIVENESS(GRADIENT), attention)),
        test_claim(CONSTANT_HATEXPLAIN, _constant(results, HATEXPLAIN)),
        test_claim(CONSTANT_MOVIES, _constant(results, MOVIES)),
    ]


def _precision(guided: Cell, plain: Cell) -> Values:
    return paired(guided.columns[PRECISION("attention")], plain.columns[PRECISION("attention")])


def _lost(guided: Cell, plain: Cell) -> Values:
    return paired(saved(plain), saved(guided))


def _against_unguided(results: Results, difference: Callable[[Cell, Cell], Values], *columns: str) -> dict[str, Part]:
    """Each guided model against the same model that was not guided."""
    parts = {}
    for method in (GUIDED, GUIDED_CODE):
        for cell in results.select(*columns, method=method):
            plain = results.find(*columns, data=cell.data, encoder=cell.encoder, method=ATTENTION)
            if plain is not None:
                parts[f"{cell.data}, {model_name(cell)}"] = part_of(difference(cell, plain), cell, plain)
    return parts


def _of_attending(results: Results, first: str, second: str) -> dict[str, Part]:
    """The difference of two columns, for each model whose attention is its own."""
    return {
        f"{cell.data}, {model_name(cell)}": part_of(cell.columns[first] - cell.columns[second], cell)
        for cell in results.select(first, second)
        if cell.method in ATTENDING
    }


def _constant(results: Results, data: str) -> dict[str, Part]:
    """The difference on the texts that most models of a data set were audited on: no model has a part in it."""
    cells = results.select(AUPRC("constant"), AUPRC("random"), data=data)
    if not cells:
        return {}
    values = [cell.columns[AUPRC("constant")] - cell.columns[AUPRC("random")] for cell in cells]
    # A slow model may have been audited on fewer, which are among them.
    texts = max(each.shape[1] for each in values)
    return {data: Part(torch.cat([each for each in values if each.shape[1] == texts]))}
