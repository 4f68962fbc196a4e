"""What Amini and Kosseim say about their results, tested on audited rows; and which adversaries gave up."""

from collections.abc import Callable

from heedful.battery.question import Values
from heedful.papers.attefa.columns import (
    BILSTM,
    DENSE,
    MLP,
    MOCKS,
    SPARSE,
    attefa_by_adversary,
    base_cells,
    best_attefa,
    distance_between_clusters,
    divergence_by_adversary,
    family_of,
    lambda_cells,
    paper_cell,
)
from heedful.papers.claim_rule import Part, paired, part_of, test_claim
from heedful.papers.reproduction import Cell, Claim, Results

ATTEFA, MARGIN = "AtteFa", 0.05
NATS = 0.02
APART = 0.25
"""The distance from which on the adversaries of a model form two clusters."""
BUMP = ("mock-5", "mock-10")
"""Neighbours between which the paper itself sees AtteFa rise."""

LESS_FAITHFUL = Claim(
    id="context_less_faithful",
    statement="Attention of an encoder with context is less faithful than that of one without.",
    quote="significantly less faithful than their counterparts in the models with MLP as their encoder",
    source="section 6.1, Table 3",
    measured="AtteFa (mean over adversaries), MLP - BiLSTM",
    unit=ATTEFA,
    margin=MARGIN,
)
LESS_FAITHFUL_BY_BEST = Claim(
    id="context_less_faithful_by_best",
    statement="Attention with context is less faithful by the best adversary, too: by the method's own criterion.",
    quote="",
    source="our reading of section 3.3 (the paper reports the mean over adversaries)",
    measured="AtteFa of the adversary with the lowest loss, MLP - BiLSTM",
    unit=ATTEFA,
    margin=MARGIN,
)
FALLS = Claim(
    id="falls_with_informative_words",
    statement="AtteFa is lower where informative words are frequent than where they are rare (MLP).",
    quote="general trend towards the reduction of AtteFa as the number of informative tokens increase",
    source='section 6.2, Table 3 (it names "anomalies", such as the rise from Mock-5 to Mock-10)',
    measured="AtteFa (mean over adversaries), a mock set with few informative words - one with many",
    unit=ATTEFA,
    margin=MARGIN,
    excepts=(" - ".join(BUMP),),
)
TWO_CLUSTERS = {
    data: Claim(
        id=f"two_clusters_of_seeds_{data.replace('-', '_')}",
        statement=f"On {data.capitalize()} the seeds of the MLP's adversaries form two clusters.",
        quote="",
        source="our reading of Table 4; the paper does not say so",
        measured="twice the mean distance of an adversary's AtteFa from the mean of all",
        unit=ATTEFA,
        margin=MARGIN,
        baseline=APART,
    )
    for data in ("mock-1q", "mock-2q")
}
AS_FAR_AS_LAMBDA = Claim(
    id="moves_attention_as_far_as_lambda",
    statement="AtteFa's adversaries move attention as far as those that need a lambda, or farther.",
    quote="towards the higher-end of the attention JSDs reported by Wiegreffe and Pinter",
    source="section 6.4, Figure 2 (of LSTM models; ours: of both)",
    measured="JSD of attention, AtteFa's adversaries - mean over four values of Wiegreffe and Pinter's lambda",
    unit="nats",
    margin=NATS,
    kind="no_less",
)


def claims(results: Results) -> list[Claim]:
    """What the paper says about its results, each tested by itself."""
    mlps = {data: cell for data in MOCKS if (cell := paper_cell(results, data, MLP)) is not None}
    return [
        test_claim(LESS_FAITHFUL, _mlp_minus_bilstm(results, attefa_by_adversary)),
        test_claim(LESS_FAITHFUL_BY_BEST, _mlp_minus_bilstm(results, best_attefa)),
        test_claim(FALLS, _sparse_minus_dense(mlps)),
        *(
            test_claim(
                claim, {data: part_of(distance_between_clusters(mlps[data]), mlps[data])} if data in mlps else {}
            )
            for data, claim in TWO_CLUSTERS.items()
        ),
        test_claim(AS_FAR_AS_LAMBDA, _farther_than_lambda(results)),
    ]


def _mlp_minus_bilstm(results: Results, measure: Callable[[Cell], Values]) -> dict[str, Part]:
    """By data set; behind each are as many trainings as the smaller of the two families has adversaries."""
    parts = {}
    for data in results.datasets:
        mlp, bilstm = paper_cell(results, data, MLP), paper_cell(results, data, BILSTM)
        if mlp is not None and bilstm is not None:
            parts[data] = _compared(measure, mlp, bilstm)
    return parts


def _sparse_minus_dense(mlps: dict[str, Cell]) -> dict[str, Part]:
    """Sets with few informative words paired in order with sets with many; and the paper's own exception."""
    sparse, dense = ([data for data in sets if data in mlps] for sets in (SPARSE, DENSE))
    pairs = [*zip(sparse, dense, strict=False), *([BUMP] if all(data in mlps for data in BUMP) else [])]
    return {f"{rarer} - {denser}": _compared(attefa_by_adversary, mlps[rarer], mlps[denser]) for rarer, denser in pairs}


def _farther_than_lambda(results: Results) -> dict[str, Part]:
    parts = {}
    for cell in lambda_cells(results):
        base = paper_cell(results, cell.data, cell.encoder)
        if base is not None:
            # Its adversaries differ in lambda, not in the seed: their mean is what each of ours is compared with.
            by_lambda = divergence_by_adversary(cell).mean(0)
            parts[f"{cell.data}, {cell.encoder}"] = part_of(divergence_by_adversary(base) - by_lambda, base)
    return parts


def _compared(measure: Callable[[Cell], Values], cell: Cell, other: Cell) -> Part:
    difference = part_of(paired(measure(cell), measure(other)), cell, other)
    return Part(difference.values, difference.beats_constant, trainings=min(map(_adversaries, (cell, other))))


def _adversaries(cell: Cell) -> int:
    return len(family_of(cell).seeds)


def remarks(results: Results) -> list[str]:
    """Which adversaries gave up: their AtteFa says that they failed, not that attention is faithful."""
    gave_up: dict[str, list[str]] = {"All": [], "Some": [], "None": []}
    for cell in base_cells(results):
        lost = [member.gave_up for member in family_of(cell).seeds]
        if None not in lost:
            gave_up["All" if all(lost) else "Some" if any(lost) else "None"].append(f"{cell.data}, {cell.model}")
    return [f"{share} of the adversaries gave up: {'; '.join(names)}." for share, names in gave_up.items() if names]
