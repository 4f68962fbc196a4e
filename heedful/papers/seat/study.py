"""Hu et al. (2023), SEAT: stable attention, its six baselines, stability and interpretability."""

from collections.abc import Mapping

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
from heedful.papers.seat import claims as seat
from heedful.papers.seat.tables import tables
from heedful.settings import (
    AuditSettings,
    DataSettings,
    NetworkSettings,
    Option,
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
    "medium": tuple(SETS),
    "paper": tuple(SETS),
}
WHOLE = "tweeteval_hate"
"""Trained on whole at every scale, as from 3,000 of its texts no model learns; below the paper's scale by the RNN."""

OF_A_RADIUS = ("word_at", "word_iat", seat.SEAT_CODE)
"""Methods that perturb embeddings: at the paper's scale they are also trained at each radius of the test, as there."""
DEFINED: dict[str, Option] = {"lambda1": 1.0, "lambda2": 1000.0, "k": 7, "radius": 0.001}
TRAINED_AS: dict[str, tuple[str, dict[str, Option]]] = {
    seat.VANILLA: (seat.VANILLA, {}),
    "word_at": ("word_at", {"radius": seat.TRAINING_RADIUS}),
    "word_iat": ("word_iat", {"radius": seat.TRAINING_RADIUS, "dictionary": 64}),
    "attention_rp": ("attention_rp", {"radius": 0.001}),
    "attention_at": ("attention_at_weights", {"radius": 0.001}),
    "attention_iat": ("attention_iat_weights", {"radius": 0.001}),
    seat.SEAT_CODE: (seat.SEAT_CODE, {**DEFINED, "radius": seat.TRAINING_RADIUS}),
    seat.WITHOUT_STABILITY: (seat.SEAT_CODE, {**DEFINED, "radius": seat.TRAINING_RADIUS, "lambda1": 0.0}),
    seat.SEAT: ("seat_fresh", DEFINED),
    seat.SEAT_ALL: (seat.SEAT_ALL, DEFINED),
}
"""What settings call the methods, and their options. SEAT as defined starts at random: from vanilla's own weights,
where its first and last terms are 0, it could not move."""
VARIANTS: dict[str, tuple[str, dict[str, Option]]] = {
    f"{start}, {', '.join(f'{name} {value}' for name, value in changes.items())}": (method, {**DEFINED, **changes})
    for start, method in {"from vanilla": "seat", "at random": "seat_fresh"}.items()
    for changes in (
        *({"radius": radius} for radius in (0.001, 0.01, 0.1, 1)),
        *({"radius": 0.1, "lambda2": weight} for weight in (0, 1, 10)),
        {"radius": 0.1, "lambda2": 0, "divergence": "bce"},
    )
}
"""SEAT as defined from both starts, at other radii and weights of the top-k term; and with the paper's divergence."""
FROM_VANILLA = ("seat", "seat_fresh", seat.SEAT_ALL)
OF_MINILM = (seat.VANILLA, seat.SEAT, seat.SEAT_ALL, seat.SEAT_CODE)
COMPARED_WITH_SEEDS = (seat.VANILLA, "word_at", "attention_at", seat.SEAT, seat.SEAT_ALL, seat.SEAT_CODE)
"""Methods whose attention is drawn under the three perturbations."""

WITH_MINILM: dict[str, tuple[str, ...]] = {
    "small": ("sst2",),
    "medium": ("sst2",),
    "paper": tuple(SETS),
}
"""Sets that are read by MiniLM, too: a text in which a word is deleted or replaced costs it a whole reading."""

TESTS = ("embedding_noise", "embedding_attack", "word_substitution", "comprehensiveness_sufficiency")
NEAREST: dict[str, OptionValue] = {"synonyms": "vectors", "min_similarity": -4.0}
VECTORS_OF_MINILM: dict[str, OptionValue] = {"vectors": VECTORS.vectors or ""}
"""Words give way to the nearest by their vectors, however near that is, as in the paper; MiniLM begins with none."""
SHOWN = 50
NO_CHANGES: Mapping[str, Option] = {}


def runs(scale: str) -> list[StudyRun]:
    """Every method on every set, each compared with the vanilla run of its seed, and with its own other seeds."""
    return [
        study_run
        for source in AT_SCALE[scale]
        for encoder in encoders_with_minilm(_encoders(source, scale), wanted=source in WITH_MINILM[scale])
        for study_run in (
            *(each for method in _methods(source, encoder) for each in _method_runs(source, encoder, method, scale)),
            *(
                _with_other_seeds(source, encoder, method, scale)
                for method in COMPARED_WITH_SEEDS
                if encoder == seat.DRAWN_ENCODER
            ),
        )
    ] + _definition_runs(scale)


def _encoders(source: str, scale: str) -> tuple[str, ...]:
    if scale == "small":
        return ("bilstm",)
    return ("rnn",) if source == WHOLE and scale == "medium" else ("rnn", "bilstm")


def _methods(source: str, encoder: str) -> tuple[str, ...]:
    """All methods, the ablation where the paper has it; of MiniLM those that claims are about."""
    if encoder == MINILM:
        return OF_MINILM
    return tuple(method for method in TRAINED_AS if source == "sst2" or method != seat.WITHOUT_STABILITY)


def _method_runs(source: str, encoder: str, method: str, scale: str) -> list[StudyRun]:
    """One method: each seed compared with vanilla's, and its audits by role."""
    own = _trained(source, encoder, method, scale)
    plan = {
        "": (own, _audit(encoder, scale)),
        seat.SENSITIVITY: (own, _search(scale)),
    }
    if encoder != MINILM:
        plan[seat.ALL_TEXTS] = (own, AuditSettings(tests=("certificate",), examples=None, shown=0))
    if encoder != MINILM and method in (seat.VANILLA, *seat.BASELINES, seat.SEAT_CODE):
        plan[seat.CLAMPED] = (own, _attack(scale, *seat.clamped_radii(method), clamp=True))
    if scale == "paper" and encoder != MINILM and method in OF_A_RADIUS:
        for radius in seat.RADII:
            trained = _trained(source, encoder, method, scale, {"radius": radius})
            plan[seat.trained_at(radius)] = (trained, _attack(scale, radius))
    vanilla = [() if method == seat.VANILLA else (run,) for run in _trained(source, encoder, seat.VANILLA, scale)]
    others = [tuple(other for other in own if other is not run) for run in own]
    compared = {"": vanilla, seat.ALL_TEXTS: others}
    return [
        StudyRun(source, _named(encoder, method, role), encoder, method, run, role, audit, seeds)
        for role, (trained, audit) in plan.items()
        for run, seeds in zip(trained, compared.get(role, [()] * len(trained)), strict=True)
    ]


def _named(encoder: str, method: str, role: str) -> str:
    return f"{encoder} {method}" + (f", {role}" if role else "")


def _definition_runs(scale: str) -> list[StudyRun]:
    """SEAT as defined from both starts, at other radii and weights: on SST, by one encoder; not in minutes."""
    encoder = _encoders("sst2", scale)[0]
    audit = _attack(scale, seat.TRAINING_RADIUS)
    return [
        StudyRun("sst2", f"{encoder} seat, {name}", encoder, name, own, seat.DEFINITION, audit, (vanilla,))
        for name in (VARIANTS if scale != "small" else ())
        for own, vanilla in zip(
            _trained("sst2", encoder, name, scale), _trained("sst2", encoder, seat.VANILLA, scale), strict=True
        )
    ]


def _with_other_seeds(source: str, encoder: str, method: str, scale: str) -> StudyRun:
    """The first seed of a method compared with the others, shown word by word: what heat maps are drawn from."""
    first, *others = _trained(source, encoder, method, scale)
    audit = AuditSettings(
        tests=("embedding_noise", "word_substitution"),
        options={"embedding_noise": {"radii": seat.RADII[-1:]}, "word_substitution": _nearest(encoder)},
        examples=_examples(scale)[0],
        shown=SHOWN,
    )
    return StudyRun(
        data=source,
        model=f"{encoder} {method}, against other seeds",
        encoder=encoder,
        method=method,
        role=seat.OTHER_SEEDS,
        run=first,
        audit=audit,
        seeds=tuple(others),
    )


def _examples(scale: str) -> tuple[int, int]:
    """How many texts are audited, and for how many sensitivity is searched for."""
    return (500, 500) if scale == "paper" else (100, 50)


def _nearest(encoder: str) -> dict[str, OptionValue]:
    return {**NEAREST, **(VECTORS_OF_MINILM if encoder == MINILM else {})}


def _attack(scale: str, *radii: float, clamp: bool = False) -> AuditSettings:
    """The attack on embeddings alone."""
    options: dict[str, dict[str, OptionValue]] = {"embedding_attack": {"radii": radii, "clamp": clamp}}
    return AuditSettings(tests=("embedding_attack",), options=options, examples=_examples(scale)[0], shown=0)


def _search(scale: str) -> AuditSettings:
    """Sensitivity alone, of the words that attention ranks first and of random ones."""
    options: dict[str, dict[str, OptionValue]] = {"sensitivity": {"by": ("attention", "random")}}
    return AuditSettings(tests=("sensitivity",), options=options, examples=_examples(scale)[1], shown=0)


def _audit(encoder: str, scale: str) -> AuditSettings:
    radii: dict[str, OptionValue] = {"radii": seat.RADII}
    words: dict[str, OptionValue] = {"counts": seat.WORDS, **_nearest(encoder)}
    return AuditSettings(
        tests=TESTS,
        options={"embedding_noise": radii, "embedding_attack": radii, "word_substitution": words},
        examples=_examples(scale)[0],
        shown=0,
    )


def _trained(
    source: str, encoder: str, method: str, scale: str, changes: Mapping[str, Option] = NO_CHANGES
) -> list[RunWithBase]:
    """The method trained from each seed; a method that starts from vanilla, from the vanilla run of the same seed.

    Args:
        changes: options of the method that differ.
    """
    name, options = {**TRAINED_AS, **VARIANTS}[method]
    trained = []
    for seed in range(5 if scale == "paper" else 3):
        # From another seed than vanilla's, or a fresh attention would begin where vanilla's began.
        own = _run(source, encoder, name, {**options, **changes}, seed + 10 * (name == "seat_fresh"), scale)
        base = _run(source, encoder, seat.VANILLA, {}, seed, scale) if name in FROM_VANILLA else None
        trained.append(RunWithBase(own, base))
    return trained


def _run(source: str, encoder: str, method: str, options: Mapping[str, Option], seed: int, scale: str) -> Run:
    full = scale == "paper"
    data = DataSettings(
        source=source,
        only_labels=SETS[source],
        train_limit=None if source == WHOLE else TRAIN_LIMIT[scale],
        test_limit=1_000 if scale == "small" else None,
    )
    training = TrainingSettings(
        **NEVER_EARLY,
        method=method,
        options=dict(options),
        epochs=20 if full else 10 if method in FROM_VANILLA else 4,
        learning_rate=1e-2 if full else 1e-3,
        metric="macro_f1",
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
    **study_file(seat.NAME, "study.toml"),
    folder=seat.NAME,
    runs=runs,
    tables=tables,
    columns=seat.COLUMNS,
    measures=seat.MEASURES,
    figures=seat.figures,
    remarks=remarks,
)
