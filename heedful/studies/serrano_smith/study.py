"""Serrano and Smith (2019), Is Attention Interpretable?: erasing single weights and sets of weights."""

from collections.abc import Callable, Sequence

from heedful.battery.question import Columns, Values
from heedful.runs.grid import RunWithBase
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings
from heedful.studies.claims import only_where, paired, test_claim
from heedful.studies.serrano_smith.columns import (
    CONV,
    DELTA_JS,
    FLAT,
    FLIPS,
    FRACTION,
    FRACTIONS,
    HIERARCHICAL,
    NAME,
    NONE,
    RNN,
    STANDS_FOR,
    TOPS,
)
from heedful.studies.serrano_smith.figures import figures
from heedful.studies.serrano_smith.tables import tables
from heedful.studies.study import Cell, Claim, Results, Study, StudyRun

SHAPES = (HIERARCHICAL, FLAT)
ENCODERS = {RNN: "bigru", CONV: "cnn", NONE: "identity"}

RANDOM, ATTENTION, GRADIENT = FRACTION("random"), FRACTION("attention"), FRACTION("gradient")
PRODUCT, MINIMAL = FRACTION("product"), FRACTION("minimal")
NEAR = 0.05
"""Share of a text by which a ranking may exceed the smallest set and still be near it."""


def runs(scale: str) -> list[StudyRun]:
    """HAN and FLAN with recurrent, convolutional and no encoder on each set."""
    audit = AuditSettings(
        tests=("erase_one", "erase_until_flip"),
        options={"erase_until_flip": {"by": TOPS}},
        examples={"small": 500, "medium": 1_000, "paper": 50_000}[scale],
        shown=0,
    )
    return [
        StudyRun(
            data=source,
            model=f"{shape} {encoder}",
            encoder=encoder,
            method=shape,
            run=RunWithBase(_run(source, shape, encoder, seed, scale)),
            audit=audit,
        )
        for source in STANDS_FOR
        for shape in SHAPES
        for encoder in ENCODERS
        for seed in range({"small": 1, "medium": 2, "paper": 5}[scale])
    ]


def _run(source: str, shape: str, encoder: str, seed: int, scale: str) -> Run:
    return Run(
        data=_data(source, scale),
        text=TextSettings(
            min_count=1 if scale == "small" else 5, max_tokens={"small": 100, "medium": 120, "paper": None}[scale]
        ),
        network=_network(source, shape, encoder, scale),
        training=_training(encoder, scale),
        seed=seed,
    )


def _data(source: str, scale: str) -> DataSettings:
    """The set; IMDB with its ratings as labels, below the paper's scale from the small copy."""
    full, is_rated = scale == "paper", source == "imdb_ratings"
    imdb = "imdb" if full else "imdb_small"
    return DataSettings(
        source=imdb if is_rated else source,
        label="rating" if is_rated else None,
        train_limit={"small": 2_000, "medium": 3_000, "paper": None}[scale],
        test_limit=None if full else 1_000,
    )


def _network(source: str, shape: str, encoder: str, scale: str) -> NetworkSettings:
    inner, full = ENCODERS[encoder], scale == "paper"
    return NetworkSettings(
        encoder="hierarchical" if shape == HIERARCHICAL else inner,
        words=inner,
        sentences=inner,
        embed_size=200,
        hidden_size=50,
        kernels=(3, 5),
        vectors=None if full else "glove_6b_100d",
        attention_size=200 if encoder == NONE and full else 100,
        embedding_dropout=0.4445,
        sentence_dropout=0.2202,
        logit_dropout=0.2457 if source == "imdb_ratings" else 0.3749,
    )


def _training(encoder: str, scale: str) -> TrainingSettings:
    """The paper's; below its scale, larger steps and few epochs."""
    full, epochs = scale == "paper", 60 if encoder == NONE else 15
    return TrainingSettings(
        epochs=epochs if full else 6,
        optimizer="adam",
        learning_rate=4e-4 if full else 2e-3,
        batch_size=64 if full else 32,
        weight_decay=0.0,
        loss_sum="mean",
        class_weights=False,
        clip_norm=10.0,
        plateau=True,
        patience=10 if encoder == NONE else 5,
        metric="accuracy",
    )


def claims(results: Results) -> list[Claim]:
    """What the paper says about its results, each as a number above a threshold."""
    cells = results.select(*FRACTIONS)
    return [
        *_ranking_claims(cells),
        *_encoder_claims(results),
        *_smallest_set_claims(cells),
        *_single_claims(cells),
    ]


def _by_cell(cells: Sequence[Cell], measure: Callable[[Columns], Values]) -> dict[str, Values]:
    return {f"{cell.data}, {cell.model}": measure(cell.columns) for cell in cells}


def _with_context(cells: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell.encoder != NONE]


def _ranking_claims(cells: Sequence[Cell]) -> list[Claim]:
    return [
        test_claim(
            "gradient_sooner_than_attention",
            "With an encoder, the gradient finds a change of the decision sooner than attention.",
            "section 5.4, Figure 5",
            "fraction erased, attention - gradient",
            _by_cell(_with_context(cells), lambda columns: columns[ATTENTION] - columns[GRADIENT]),
        ),
        test_claim(
            "attention_sooner_than_random",
            "Attention finds a change of the decision sooner than a random ranking.",
            "section 5.4, Figure 5",
            "fraction erased, random - attention",
            _by_cell(cells, lambda columns: columns[RANDOM] - columns[ATTENTION]),
        ),
    ]


def _encoder_claims(results: Results) -> list[Claim]:
    return [
        test_claim(
            "convolution_needs_fewer_erasures",
            "Fewer erasures are needed with convolution than with a recurrent encoder.",
            "section 5.6, Figures 5 and 10",
            "fraction erased by attention, rnn - conv, text by text",
            _fewer_erasures(results, RNN, CONV),
        ),
        test_claim(
            "no_encoder_needs_fewest_erasures",
            "The fewest erasures are needed without an encoder.",
            "section 5.6, Figure 6",
            "fraction erased by attention, conv - none, text by text",
            _fewer_erasures(results, CONV, NONE),
        ),
    ]


def _fewer_erasures(results: Results, encoder: str, other: str) -> dict[str, Values]:
    """Fraction erased by attention, encoder - other, for the same data and shape."""
    parts = {}
    for cell in results.select(*FRACTIONS, encoder=encoder):
        compared = results.find(*FRACTIONS, data=cell.data, encoder=other, method=cell.method)
        if compared is not None:
            parts[f"{cell.data}, {cell.model}"] = paired(cell.columns[ATTENTION], compared.columns[ATTENTION])
    return parts


def _smallest_set_claims(cells: Sequence[Cell]) -> list[Claim]:
    return [
        test_claim(
            "product_near_smallest_set",
            "Attention x gradient comes close to the smallest set.",
            "section 5.4 (the paper did not have the minimum)",
            f"{NEAR} - the fraction that the product erases beyond the exact minimum",
            _by_cell(cells, lambda columns: NEAR - (columns[PRODUCT] - columns[MINIMAL])),
        ),
        test_claim(
            "attention_far_from_smallest_set",
            "Attention does not come close to the smallest set.",
            "section 5.4",
            f"fraction that attention erases beyond the exact minimum - {NEAR}",
            _by_cell(_with_context(cells), lambda columns: columns[ATTENTION] - columns[MINIMAL] - NEAR),
        ),
    ]


def _single_claims(cells: Sequence[Cell]) -> list[Claim]:
    return [
        test_claim(
            "top_item_seldom_flips",
            "Erasing the most attended item seldom changes the decision.",
            "section 4.2, Table 2",
            "share of texts whose decision stays the same",
            _by_cell(cells, lambda columns: 1 - columns[FLIPS("attention")]),
            threshold=0.5,
        ),
        test_claim(
            "top_item_moves_prediction_more",
            "Erasing the most attended item moves the prediction more than erasing a random other one.",
            "section 4.1, Figures 3 and 4",
            "share of texts where it does",
            _by_cell(cells, lambda columns: only_where((columns[DELTA_JS] > 0).double(), ~columns[DELTA_JS].isnan())),
            threshold=0.5,
        ),
    ]


STUDY = Study(
    name="serrano-smith",
    folder=NAME,
    title="Is Attention Interpretable?",
    paper="Serrano and Smith (2019), Is Attention Interpretable?, ACL, arXiv:1906.03731",
    scales={
        "small": "IMDB ratings (8 classes), DBpedia (14) and 20 Newsgroups (20); HAN and FLAN with recurrent, "
        "convolutional and no encoder; 1 seed; 2,000 training texts of at most 100 words; 500 test texts audited",
        "medium": "the same with 2 seeds; 3,000 training texts of at most 120 words; 1,000 test texts audited",
        "paper": "the same with 5 seeds, whole texts, all training and test texts, the paper's sizes and rates",
    },
    runs=runs,
    tables=tables,
    claims=claims,
    figures=figures,
)
