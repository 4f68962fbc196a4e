"""What Serrano and Smith (2019) say about their results, tested on audited rows; and what the tables show."""

from collections.abc import Callable, Sequence

from heedful.battery.question import Columns, Values
from heedful.papers.claim_rule import Part, only_where, paired, part_of, test_claim
from heedful.papers.reproduction import Cell, Claim, Results
from heedful.papers.serrano_smith.columns import (
    CONV,
    DELTA_JS,
    FLAT,
    FLIPS,
    FRACTION,
    FRACTIONS,
    HIERARCHICAL,
    NONE,
    RNN,
    ROUNDING,
)

RANDOM, ATTENTION, GRADIENT = FRACTION("random"), FRACTION("attention"), FRACTION("weight_gradient")
PRODUCT, MINIMAL = FRACTION("attention_x_gradient"), FRACTION("minimal")
OF_ITEMS, OF_TEXTS = "fraction of a text's items", "share of texts"
MARGIN, WEAK_MARGIN = 0.05, 0.01
"""Fractions and shares that matter; the second where the paper itself calls the effect weak."""
MUCH = 0.25
"""The share of texts from which on we read "much of the time"; the paper gives no number."""

GRADIENT_SOONER = Claim(
    id="gradient_sooner_than_attention",
    statement="With an encoder, the gradient finds a change of the decision sooner than attention.",
    quote="far outperforming purely attention-based orderings",
    source="section 5.4, Figure 5",
    measured="fraction erased, attention - gradient",
    unit=OF_ITEMS,
    margin=MARGIN,
)
PRODUCT_SOONER = Claim(
    id="product_sooner_than_attention",
    statement="With an encoder, attention x gradient finds a change of the decision sooner than attention.",
    quote="they discover much smaller decision-flipping sets of items than attention weights",
    source='section 5.4 (the paper does "not claim" that either ranking is optimal)',
    measured="fraction erased, attention - attention x gradient",
    unit=OF_ITEMS,
    margin=MARGIN,
)
SOONER_THAN_RANDOM = Claim(
    id="attention_sooner_than_random",
    statement="Attention finds a change of the decision sooner than a random ranking.",
    quote="often leads to a decision flip faster than a random ranking",
    source="section 5.4, Figure 5",
    measured="fraction erased, random - attention",
    unit=OF_ITEMS,
    margin=MARGIN,
)
FLAT_CONVOLUTION = Claim(
    id="convolution_needs_fewer_erasures_flat",
    statement="In flat models fewer erasures are needed with convolution than with a recurrent encoder.",
    quote="decision flips happening much faster than for either of the RNN-based model architectures",
    source="section 5.6, Figure 5",
    measured="fraction erased by attention, rnn - conv, text by text",
    unit=OF_ITEMS,
    margin=MARGIN,
)
HIERARCHICAL_CONVOLUTION = Claim(
    id="convolution_needs_fewer_erasures_han",
    statement="In hierarchical models, too, fewer erasures are needed with convolution, if only slightly.",
    quote="similar results when comparing the two HAN architectures, albeit much more weakly",
    source="section 5.6, Figure 10",
    measured="fraction erased by attention, rnn - conv, text by text",
    unit=OF_ITEMS,
    margin=WEAK_MARGIN,
)
NO_ENCODER = Claim(
    id="no_encoder_needs_fewest_erasures",
    statement="The fewest erasures are needed without an encoder.",
    quote="we see the fraction of necessary items to erase for flipping the decision plummet",
    source="section 5.6, Figure 6",
    measured="fraction erased by attention, the encoder that needs fewer (on average) - none, text by text",
    unit=OF_ITEMS,
    margin=MARGIN,
)
MISSES_SMALLEST = Claim(
    id="attention_misses_smallest_set",
    statement="With an encoder, ranking by attention misses the smallest set much of the time.",
    quote="clearly fails to uncover a minimal set of decision-flipping information much of the time",
    source=f'section 5.4 ("much of the time": our reading, {100 * MUCH:.0f} % of texts; the minimum is ours)',
    measured="share of texts in which attention erases more than the exact minimum",
    unit=OF_TEXTS,
    margin=MARGIN,
    baseline=MUCH,
)
SELDOM_FLIPS = Claim(
    id="top_item_seldom_flips",
    statement="For most texts erasing the most attended item does not change the decision.",
    quote="in the vast majority of cases, erasing i* does not change the decision",
    source="section 4.2, Table 2",
    measured="share of texts whose decision stays the same",
    unit=OF_TEXTS,
    margin=MARGIN,
    baseline=0.5,
)
MOVES_MORE = Claim(
    id="top_item_moves_prediction_more",
    statement="For most texts erasing the most attended item moves the prediction more than erasing a random one.",
    quote="that is what we find the vast majority of the time",
    source="section 4.1, Figures 3 and 4",
    measured="share of texts in which erasing the most attended item moves the prediction more",
    unit=OF_TEXTS,
    margin=MARGIN,
    baseline=0.5,
)


def claims(results: Results) -> list[Claim]:
    """What the paper says about its results, each tested by itself."""
    cells = results.select(*FRACTIONS)
    with_encoder = [cell for cell in cells if cell.encoder != NONE]
    return [
        test_claim(GRADIENT_SOONER, _by_cell(with_encoder, lambda columns: columns[ATTENTION] - columns[GRADIENT])),
        test_claim(PRODUCT_SOONER, _by_cell(with_encoder, lambda columns: columns[ATTENTION] - columns[PRODUCT])),
        test_claim(SOONER_THAN_RANDOM, _by_cell(cells, lambda columns: columns[RANDOM] - columns[ATTENTION])),
        test_claim(FLAT_CONVOLUTION, _rnn_minus_conv(results, FLAT)),
        test_claim(HIERARCHICAL_CONVOLUTION, _rnn_minus_conv(results, HIERARCHICAL)),
        test_claim(NO_ENCODER, _fewest_minus_none(results)),
        test_claim(MISSES_SMALLEST, _by_cell(with_encoder, _misses_smallest)),
        test_claim(SELDOM_FLIPS, _by_cell(cells, lambda columns: 1 - columns[FLIPS("attention")])),
        test_claim(MOVES_MORE, _by_cell(cells, _moves_more)),
    ]


def _by_cell(cells: Sequence[Cell], measure: Callable[[Columns], Values]) -> dict[str, Part]:
    return {f"{cell.data}, {cell.model}": part_of(measure(cell.columns), cell) for cell in cells}


def _misses_smallest(columns: Columns) -> Values:
    regret = columns[ATTENTION] - columns[MINIMAL]
    return only_where((regret > ROUNDING).double(), ~regret.isnan())


def _moves_more(columns: Columns) -> Values:
    return only_where((columns[DELTA_JS] > 0).double(), ~columns[DELTA_JS].isnan())


def _rnn_minus_conv(results: Results, shape: str) -> dict[str, Part]:
    parts = {}
    for rnn in results.select(*FRACTIONS, encoder=RNN, method=shape):
        conv = results.find(*FRACTIONS, data=rnn.data, encoder=CONV, method=shape)
        if conv is not None:
            parts[f"{rnn.data}, {shape}"] = part_of(paired(rnn.columns[ATTENTION], conv.columns[ATTENTION]), rnn, conv)
    return parts


def _fewest_minus_none(results: Results) -> dict[str, Part]:
    """Of the models with an encoder the one that erases less on average - the model without, by data and shape."""
    parts = {}
    for none in results.select(*FRACTIONS, encoder=NONE):
        others = [results.find(*FRACTIONS, data=none.data, encoder=name, method=none.method) for name in (RNN, CONV)]
        measured = [cell for cell in others if cell is not None]
        if measured:
            fewest = min(measured, key=_mean_erased)
            difference = paired(fewest.columns[ATTENTION], none.columns[ATTENTION])
            parts[f"{none.data}, {none.method}"] = part_of(difference, fewest, none)
    return parts


def _mean_erased(cell: Cell) -> float:
    return cell.columns[ATTENTION].nanmean().item()


def remarks(results: Results) -> list[str]:
    """What the tables show of attention's regret, and of convolution against recurrence, shape by shape."""
    return [
        sentence for shape in (HIERARCHICAL, FLAT) for sentence in (*_regrets(results, shape), *_orders(results, shape))
    ]


def _regrets(results: Results, shape: str) -> list[str]:
    cells = results.select(*FRACTIONS, method=shape)
    if not cells:
        return []
    regrets = {f"{cell.data}, {cell.encoder}": _mean_regret(cell) for cell in cells}
    least, most = min(regrets, key=lambda name: regrets[name]), max(regrets, key=lambda name: regrets[name])
    return [
        f"Ranked by attention, the {shape} models erase {regrets[least]:.3f} ({least}) to {regrets[most]:.3f} ({most}) "
        "of a text more than the smallest set."
    ]


def _mean_regret(cell: Cell) -> float:
    return (cell.columns[ATTENTION] - cell.columns[MINIMAL]).nanmean().item()


def _orders(results: Results, shape: str) -> list[str]:
    means = {name: part.values.nanmean().item() for name, part in _rnn_minus_conv(results, shape).items()}
    halves = {
        "fewer erasures than with recurrence": [name.split(",")[0] for name, mean in means.items() if mean > 0],
        "no fewer": [name.split(",")[0] for name, mean in means.items() if mean <= 0],
    }
    clauses = [f"{amount} on {', '.join(sets)}" for amount, sets in halves.items() if sets]
    return [f"With convolution the {shape} models need, on average, {'; '.join(clauses)}."] if means else []
