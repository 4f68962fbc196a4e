"""What Wiegreffe and Pinter (2019) say about their results, tested on audited rows.

We do not have the paper's text: no claim has a quote, and each says that the reading is ours.
"""

from heedful.papers.claim_rule import Part, cell_has_learnt, paired, test_claim
from heedful.papers.reproduction import Claim, Results
from heedful.papers.wiegreffe_pinter.columns import (
    ADVERSARIAL,
    BILSTM,
    BILSTM_UNIFORM,
    CORRECT,
    LARGEST_TO_SEED,
    MLP,
    MLP_IMPOSED,
    MLP_UNIFORM,
    OTHER_SEEDS,
    WITHOUT_NEED,
    PaperModel,
)

ACCURACY = "accuracy"
TOLERANCE, GAIN = 0.02, 0.01
"""Accuracy that may be lost and still count as little; and that must be gained to count."""
NATS = 0.02
MUCH_LESS = 0.5
"""The share of the adversary's divergence below which that of seeds counts as much less."""

HARDLY_NEEDED = {
    data: Claim(
        id=f"attention_hardly_needed_{data}",
        statement=f"On {name} attention is hardly needed: a BiLSTM with uniform weights does nearly as well.",
        quote="",
        source="our reading of section 3.1, which says so of AG News and 20 News",
        measured="accuracy of the BiLSTM, uniform weights - attention",
        unit=ACCURACY,
        margin=TOLERANCE,
        kind="no_less",
    )
    for data, name in WITHOUT_NEED.items()
}
SEEDS_DIFFER_LESS = Claim(
    id="seeds_differ_much_less_than_adversary",
    statement="Attention differs much less between seeds than between a model and its adversary.",
    quote="",
    source=(
        "our reading of section 3.2 and Figure 3; that seeds differ less than the exact maximum is nearly true by "
        "construction, so we ask for half of it"
    ),
    measured=f"{MUCH_LESS:g} x the largest JSD with the same prediction - the largest JSD to another seed",
    unit="nats",
    margin=NATS,
)
BEATS_UNIFORM = Claim(
    id="imposed_attention_beats_uniform",
    statement="The BiLSTM's attention helps a model without context more than uniform weights do.",
    quote="",
    source="our reading of section 3.3",
    measured="accuracy of the MLP, the BiLSTM's attention - uniform weights",
    unit=ACCURACY,
    margin=GAIN,
)
BEATS_OWN = Claim(
    id="imposed_attention_beats_own",
    statement="The BiLSTM's attention helps a model without context more than attention of its own does.",
    quote="",
    source="our reading of section 3.3",
    measured="accuracy of the MLP, the BiLSTM's attention - its own",
    unit=ACCURACY,
    margin=GAIN,
)


def claims(results: Results) -> list[Claim]:
    """What the paper says about its results, each tested by itself."""
    lost = _gains(results, BILSTM_UNIFORM, BILSTM)
    return [
        *(
            test_claim(claim, {name: part for name, part in lost.items() if name == data})
            for data, claim in HARDLY_NEEDED.items()
        ),
        test_claim(SEEDS_DIFFER_LESS, _less_than_adversary(results)),
        test_claim(BEATS_UNIFORM, _gains(results, MLP_IMPOSED, MLP_UNIFORM)),
        test_claim(BEATS_OWN, _gains(results, MLP_IMPOSED, MLP)),
    ]


def _less_than_adversary(results: Results) -> dict[str, Part]:
    """By data set; behind each are the audited model and those from the other seeds."""
    return {
        cell.data: Part(
            MUCH_LESS * cell.columns[ADVERSARIAL] - cell.columns[LARGEST_TO_SEED],
            beats_constant=cell_has_learnt(cell),
            trainings=len(cell.runs) + len(cell.comparison_models.seeds),
        )
        for cell in results.select(LARGEST_TO_SEED, ADVERSARIAL, role=OTHER_SEEDS)
    }


def _gains(results: Results, model: PaperModel, other: PaperModel) -> dict[str, Part]:
    """Accuracy of the model - accuracy of the other, text by text; left out where neither has learnt its task."""
    parts = {}
    for data in results.datasets:
        own, compared = (each.cell(results, data, CORRECT) for each in (model, other))
        if own is not None and compared is not None:
            gained = paired(own.columns[CORRECT], compared.columns[CORRECT])
            parts[data] = Part(gained, beats_constant=cell_has_learnt(own) or cell_has_learnt(compared))
    return parts
