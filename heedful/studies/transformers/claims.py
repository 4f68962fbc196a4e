"""What papers say about the attention of transformers, tested on fine-tuned models; and which heads were best."""

from collections import Counter
from collections.abc import Callable

from heedful.battery.question import Values
from heedful.studies.claims import Part, part_of, test_claim
from heedful.studies.study import Cell, Claim, Results
from heedful.studies.transformers.columns import (
    AGREES,
    ATTENTION,
    BEST_HEAD,
    CONSISTENT,
    CORRECT,
    PRODUCT,
    ROLLOUT,
    TOP,
    VALUE_NORM,
    changed_correct,
)

ACCURACY, POINTS = "accuracy", 0.02
TAU, TIES = "Kendall's tau", 0.05
SHARE, TEXTS = "share of texts", 0.05
PROBABILITY, MOVED = "probability", 0.02

WIEGREFFE_PINTER = "our reading of Wiegreffe and Pinter (2019, section 3.2), who train other models so"
PRUTHI = "our reading of Pruthi et al. (2020): attention that is forbidden in one place is made up for in another"

TOP_WORD_MATTERS = Claim(
    id="top_word_matters",
    statement="The word that [CLS] attends to most in the last layer matters more than any word at random.",
    quote="",
    source="our reading of the common practice of showing attention",
    measured="TVD when the top word is deleted from the text, by attention - of a random word",
    unit=PROBABILITY,
    margin=MOVED,
)
UNIFORM_ROW = Claim(
    id="uniform_row_costs_nothing",
    statement="The attention of [CLS] in the last layer can be made uniform at no cost.",
    quote="",
    source=WIEGREFFE_PINTER,
    measured="accuracy with that row uniform over words in every head - as it is",
    unit=ACCURACY,
    margin=POINTS,
    kind="no_less",
)
UNIFORM_ROW_ALL_LAYERS = Claim(
    id="uniform_row_in_all_layers_costs_nothing",
    statement="The attention of [CLS] can be made uniform in all layers at no cost.",
    quote="",
    source=WIEGREFFE_PINTER,
    measured="accuracy with that row uniform over words in every layer and head - as it is",
    unit=ACCURACY,
    margin=POINTS,
    kind="no_less",
)
UNIFORM_ALL_ROWS = Claim(
    id="uniform_attention_everywhere_costs",
    statement="To make attention uniform in all rows and layers costs accuracy.",
    quote="",
    source="our reading of the same, for attention between words",
    measured="accuracy as it is - with all attention uniform over words",
    unit=ACCURACY,
    margin=POINTS,
)
ROLLOUT_BETTER = Claim(
    id="rollout_agrees_better",
    statement="Attention rollout agrees better with deleting words than the attention of the last layer.",
    quote="compared to raw attention, both yield higher correlations with importance scores of input tokens",
    source="Abnar and Zuidema (2020), abstract (both: rollout and flow)",
    measured="tau-b with leave-one-out, rollout - last layer",
    unit=TAU,
    margin=TIES,
)
VALUE_NORM_BETTER = Claim(
    id="value_norm_agrees_better",
    statement="Attention weighted by the norm of the values agrees better with deleting words than attention alone.",
    quote="",
    source="our reading of Kobayashi et al. (2020), who do not delete words",
    measured="tau-b with leave-one-out, value norm - last layer",
    unit=TAU,
    margin=TIES,
)
BEST_HEAD_BETTER = Claim(
    id="best_head_agrees_better",
    statement="The head that agrees best with deleting words, chosen on dev, beats the mean of the last layer.",
    quote="",
    source="our reading of the common practice of showing chosen heads",
    measured="tau-b with leave-one-out on test, best head - mean of the last layer's heads",
    unit=TAU,
    margin=TIES,
)
PRODUCT_BETTER = Claim(
    id="product_agrees_better",
    statement="Attention x gradient agrees better with deleting words than attention alone.",
    quote="",
    source="our reading of Serrano and Smith (2019, section 5), on other models",
    measured="tau-b with leave-one-out, attention x gradient (by magnitude) - last layer",
    unit=TAU,
    margin=TIES,
)
POLARITY = Claim(
    id="attention_lacks_polarity",
    statement="Attention does not show which way a word speaks: attention x gradient does so more often.",
    quote="weakness in identifying the polarity of feature impact",
    source="Liu et al. (2022), abstract",
    measured="texts in which deleting the top word moves the decision as its sign says, attention x gradient - raw",
    unit=SHARE,
    margin=TEXTS,
)
LEAK = Claim(
    id="words_leak_through_other_rows",
    statement="Forbidding [CLS] to attend to words does not keep them from the classifier: they come by other rows.",
    quote="",
    source=PRUTHI,
    measured="accuracy with [CLS] blind to words in all layers - with all rows blind to words",
    unit=ACCURACY,
    margin=POINTS,
)
LAST_HOP = Claim(
    id="last_row_bounds_the_last_hop_only",
    statement="[CLS] need not attend to words in the last layer, where it has long heard of them.",
    quote="",
    source=PRUTHI,
    measured="accuracy with [CLS] blind to words in the last layer - in all layers",
    unit=ACCURACY,
    margin=POINTS,
)


def claims(results: Results) -> list[Claim]:
    """The claims, each tested by itself; data sets are the parts."""
    row, row_all, all_rows = "row", "row_all_layers", "all_rows"
    pairs: list[tuple[Claim, str, str]] = [
        (TOP_WORD_MATTERS, TOP(ATTENTION), TOP("random")),
        (UNIFORM_ROW, changed_correct(row, "uniform"), CORRECT),
        (UNIFORM_ROW_ALL_LAYERS, changed_correct(row_all, "uniform"), CORRECT),
        (UNIFORM_ALL_ROWS, CORRECT, changed_correct(all_rows, "uniform")),
        (ROLLOUT_BETTER, AGREES(ROLLOUT), AGREES(ATTENTION)),
        (VALUE_NORM_BETTER, AGREES(VALUE_NORM), AGREES(ATTENTION)),
        (BEST_HEAD_BETTER, AGREES(BEST_HEAD), AGREES(ATTENTION)),
        (PRODUCT_BETTER, AGREES(PRODUCT), AGREES(ATTENTION)),
        (POLARITY, CONSISTENT(PRODUCT), CONSISTENT(ATTENTION)),
        (LEAK, changed_correct(row_all, "blind"), changed_correct(all_rows, "blind")),
        (LAST_HOP, changed_correct(row, "blind"), changed_correct(row_all, "blind")),
    ]
    return [test_claim(claim, _differences(results, first, second)) for claim, first, second in pairs]


def _differences(results: Results, first: str, second: str) -> dict[str, Part]:
    """By data set, the first column - the second, text by text."""
    difference: Callable[[Cell], Values] = lambda cell: cell.columns[first] - cell.columns[second]  # noqa: E731
    return {cell.data: part_of(difference(cell), cell) for cell in results.select(first, second)}


def remarks(results: Results) -> list[str]:
    """Which heads were chosen on dev: whether there is a head that one could know beforehand."""
    columns = (f"{BEST_HEAD}.layer", f"{BEST_HEAD}.head")
    chosen = [
        f"{cell.data}: {', '.join(_heads(cell))}"
        for cell in results.select(*columns)
        if cell.columns[columns[0]].numel()
    ]
    return [f"The best head on dev by seed (layer.head, from 0): {'; '.join(chosen)}."] if chosen else []


def _heads(cell: Cell) -> list[str]:
    layers, heads = (cell.columns[f"{BEST_HEAD}.{name}"][:, 0].tolist() for name in ("layer", "head"))
    counts = Counter(f"{layer:.0f}.{head:.0f}" for layer, head in zip(layers, heads, strict=True))
    return [f"{name} ({count} times)" if count > 1 else name for name, count in counts.items()]
