"""Hu et al. (2023), SEAT: stable attention, its six baselines, stability and interpretability."""

from heedful.jobs.planning import RunWithBase
from heedful.papers.jain_wallace.study import MOST_WORDS, TRAIN_LIMIT, VECTORS
from heedful.papers.reproduction import (
    ENCODER,
    MINILM,
    NEVER_EARLY,
    NORMAL_START,
    Results,
    Study,
    StudyRun,
    encoders_with_minilm,
    remark_on_minilm,
    study_file,
)
from heedful.papers.seat.claims import (
    COLUMNS,
    MEASURES,
    NAME,
    OTHER_SEEDS,
    RADII,
    SEAT,
    SEAT_ALL,
    SEAT_CODE,
    SENSITIVITY,
    VANILLA,
    WITHOUT_STABILITY,
    WITHOUT_TOPK,
    WORDS,
    figures,
)
from heedful.papers.seat.tables import tables
from heedful.settings import (
    AuditSettings,
    DataSettings,
    NetworkSettings,
    OptionValue,
    Run,
    TextSettings,
    TrainingSettings,
)
from heedful.settings.validation import update_settings

SETS: dict[str, tuple[str, ...]] = {
    "sst2": (),
    "rotten_tomatoes": (),
    "tweeteval_emotion": ("anger", "joy"),
    "tweeteval_hate": (),
}
"""Each set, and the labels that are kept; none named: all."""

AT_SCALE = {
    "small": ("sst2", "rotten_tomatoes"),
    "medium": ("sst2", "rotten_tomatoes", "tweeteval_emotion"),
    "paper": tuple(SETS),
}
"""The sets of each scale. From 3,000 texts of TweetEval hate no model learns what its test texts ask."""

BASELINES = ("word_at", "word_iat", "attention_rp", "attention_at", "attention_iat", SEAT_CODE)
FROM_VANILLA: dict[str, tuple[str, dict[str, float]]] = {
    SEAT: ("seat", {}),
    SEAT_ALL: ("seat_all", {}),
    WITHOUT_STABILITY: ("seat", {"lambda1": 0.0}),
    WITHOUT_TOPK: ("seat", {"lambda2": 0.0}),
}
"""Methods that start from the vanilla run: what settings call them, and their options."""
METHODS = (VANILLA, *BASELINES, *FROM_VANILLA)
COMPARED_WITH_SEEDS = (VANILLA, SEAT, SEAT_ALL, SEAT_CODE)
"""Methods whose attention is compared with that of other seeds, and drawn under the three perturbations."""

WITH_MINILM: dict[str, tuple[str, ...]] = {
    "small": ("sst2",),
    "medium": ("sst2",),
    "paper": tuple(SETS),
}
"""Sets that are read by MiniLM, too: a text in which a word is deleted or replaced costs it a whole reading."""

TESTS = (
    "embedding_noise",
    "embedding_attack",
    "word_substitution",
    "comprehensiveness_sufficiency",
    "certificate",
)
NEAREST: dict[str, OptionValue] = {"synonyms": "vectors", "min_similarity": -4.0}
VECTORS_OF_MINILM: dict[str, OptionValue] = {"vectors": VECTORS.vectors or ""}
"""Words give way to the nearest by their vectors, however near that is, as in the paper; MiniLM begins with none."""
SHOWN = 50


def runs(scale: str) -> list[StudyRun]:
    """Every method on every set, each compared with the vanilla run of its seed; four with other seeds, too."""
    encoders = ("bilstm",) if scale == "small" else ("rnn", "bilstm")
    return [
        study_run
        for source in AT_SCALE[scale]
        for encoder in encoders_with_minilm(encoders, wanted=source in WITH_MINILM[scale])
        for study_run in (
            *(each for method in _methods(encoder, scale) for each in _method_runs(source, encoder, method, scale)),
            *(_with_other_seeds(source, encoder, method, scale) for method in COMPARED_WITH_SEEDS),
        )
    ]


def _methods(encoder: str, scale: str) -> tuple[str, ...]:
    """All methods; below the paper's scale, of MiniLM only those that claims are about."""
    return COMPARED_WITH_SEEDS if encoder == MINILM and scale != "paper" else METHODS


def _method_runs(source: str, encoder: str, method: str, scale: str) -> list[StudyRun]:
    """One method: each seed compared with vanilla's, and the sensitivity of the first."""
    audit, search = _audit(encoder, scale), AuditSettings(tests=("sensitivity",), examples=_examples(scale)[1], shown=0)
    own = _trained(source, encoder, method, scale)
    vanilla = [() if method == VANILLA else (run,) for run in _trained(source, encoder, VANILLA, scale)]
    model = f"{encoder} {method}"
    study_runs = [
        StudyRun(source, model, encoder, method, run, audit=audit, seeds=compared)
        for run, compared in zip(own, vanilla, strict=True)
    ]
    sensitivity = StudyRun(source, f"{model}, sensitivity", encoder, method, own[0], role=SENSITIVITY, audit=search)
    return [*study_runs, sensitivity]


def _with_other_seeds(source: str, encoder: str, method: str, scale: str) -> StudyRun:
    """The first seed of a method compared with the others, shown word by word."""
    first, *others = _trained(source, encoder, method, scale)
    audit = AuditSettings(
        tests=("embedding_noise", "word_substitution"),
        options={"embedding_noise": {"radii": RADII[-1:]}, "word_substitution": _nearest(encoder)},
        examples=None,
        shown=SHOWN,
    )
    return StudyRun(
        data=source,
        model=f"{encoder} {method}, against other seeds",
        encoder=encoder,
        method=method,
        role=OTHER_SEEDS,
        run=first,
        audit=audit,
        seeds=tuple(others),
    )


def _examples(scale: str) -> tuple[int, int]:
    """How many texts are audited, and for how many sensitivity is searched for."""
    return (500, 500) if scale == "paper" else (100, 50)


def _nearest(encoder: str) -> dict[str, OptionValue]:
    return {**NEAREST, **(VECTORS_OF_MINILM if encoder == MINILM else {})}


def _audit(encoder: str, scale: str) -> AuditSettings:
    radii: dict[str, OptionValue] = {"radii": RADII}
    words: dict[str, OptionValue] = {"counts": WORDS, **_nearest(encoder)}
    return AuditSettings(
        tests=TESTS,
        options={"embedding_noise": radii, "embedding_attack": radii, "word_substitution": words},
        examples=_examples(scale)[0],
        shown=0,
    )


def _trained(source: str, encoder: str, method: str, scale: str) -> list[RunWithBase]:
    """The method trained from each seed; a method that starts from vanilla, from the vanilla run of the same seed."""
    seeds = range(5 if scale == "paper" else 3)
    if method not in FROM_VANILLA:
        return [RunWithBase(_run(source, encoder, method, seed, scale)) for seed in seeds]
    return [
        RunWithBase(_run(source, encoder, method, seed, scale), base=_run(source, encoder, VANILLA, seed, scale))
        for seed in seeds
    ]


def _run(source: str, encoder: str, method: str, seed: int, scale: str) -> Run:
    full = scale == "paper"
    name, options = FROM_VANILLA.get(method, (method, {}))
    data = DataSettings(
        source=source,
        only_labels=SETS[source],
        train_limit=TRAIN_LIMIT[scale],
        test_limit=None if full else 1_000,
    )
    training = TrainingSettings(
        **NEVER_EARLY,
        method=name,
        options=dict(options),
        epochs=20 if full else 10 if method in FROM_VANILLA else 4,
        learning_rate=1e-3,
        metric="f1",
        selection="paper" if full else "clean",
    )
    return Run(
        data=data,
        text=TextSettings(start_end=True, max_tokens=MOST_WORDS[scale]),
        network=_network(encoder, 128 if full else 64),
        training=training,
        seed=seed,
    )


def _network(encoder: str, hidden_size: int) -> NetworkSettings:
    """MiniLM is frozen, and its states are attended to as they are."""
    if encoder == MINILM:
        return NetworkSettings(encoder=ENCODER, **NORMAL_START)
    return update_settings(VECTORS, {"encoder": encoder, "hidden_size": hidden_size})


def remarks(results: Results) -> list[str]:
    """What is missing."""
    return remark_on_minilm(results, "the paper's third encoder, for BERT in which MiniLM stands,")


STUDY = Study(
    **study_file(NAME, "study.toml"),
    folder=NAME,
    runs=runs,
    tables=tables,
    columns=COLUMNS,
    measures=MEASURES,
    figures=figures,
    remarks=remarks,
)
