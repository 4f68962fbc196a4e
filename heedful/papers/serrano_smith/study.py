"""Serrano and Smith (2019), Is Attention Interpretable?: erasing single weights and sets of weights."""

from heedful.jobs.planning import RunWithBase
from heedful.papers.reproduction import NEVER_EARLY, NORMAL_START, Study, StudyRun
from heedful.papers.serrano_smith.claims import claims, remarks
from heedful.papers.serrano_smith.columns import CONV, FLAT, HIERARCHICAL, NAME, NONE, RNN, STANDS_FOR, TOPS
from heedful.papers.serrano_smith.figures import figures
from heedful.papers.serrano_smith.tables import tables
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings

SHAPES = (HIERARCHICAL, FLAT)
ENCODERS = {RNN: "bigru", CONV: "cnn", NONE: "identity"}


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
        **NORMAL_START,
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
        **{**NEVER_EARLY, "patience": 10 if encoder == NONE else 5},
        epochs=epochs if full else 6,
        optimizer="adam",
        learning_rate=4e-4 if full else 2e-3,
        batch_size=64 if full else 32,
        weight_decay=0.0,
        loss_sum="mean",
        class_weights=False,
        clip_norm=10.0,
        plateau=True,
        metric="accuracy",
    )


STUDY = Study(
    name="serrano-smith",
    folder=NAME,
    title="Is Attention Interpretable?",
    paper="Serrano and Smith (2019), Is Attention Interpretable?, ACL, arXiv:1906.03731",
    scales={
        "small": "IMDB ratings (8 classes), DBpedia (14) and 20 Newsgroups (20); HAN and FLAN with recurrent, "
        "convolutional and no encoder; 1 seed; 2,000 training texts of at most 100 words; 500 test texts audited",
        "medium": "IMDB ratings (8 classes), DBpedia (14) and 20 Newsgroups (20); HAN and FLAN with recurrent, "
        "convolutional and no encoder; 2 seeds; 3,000 training texts of at most 120 words; 1,000 test texts audited",
        "paper": "the same with 5 seeds, whole texts, all training and test texts, the paper's sizes and rates",
    },
    runs=runs,
    tables=tables,
    claims=claims,
    figures=figures,
    remarks=remarks,
)
