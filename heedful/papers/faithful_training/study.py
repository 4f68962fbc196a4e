"""Which training makes attention worth heeding: SEAT and its baselines, diversity, evidence, ensembles, the recipe."""

from math import nan

from heedful.jobs.planning import RunWithBase
from heedful.measures import Estimate
from heedful.papers.claim_rule import entry, score_estimate
from heedful.papers.faithful_training.claims import (
    ALL,
    ALL_DEV,
    ATTACK,
    CONSISTENT,
    CORRECT,
    DEV,
    DIVERSITY,
    ENSEMBLE,
    EVENNESS,
    GUIDED,
    NAME,
    OPTIONS,
    ORTHOGONAL,
    OTHER_SEEDS,
    QUESTIONS,
    RECIPES,
    SEAT,
    SEAT_ALL,
    SEAT_CODE,
    SHARPNESS,
    TAU_DELETION,
    TESTS,
    VANILLA,
    chosen_recipes,
    figures,
    lines_of,
)
from heedful.papers.jain_wallace.study import VECTORS
from heedful.papers.reproduction import NEVER_EARLY, Cell, Entry, Results, Study, StudyRun, Table, study_file
from heedful.schema import Line
from heedful.settings import AuditSettings, DataSettings, Option, Run, TextSettings, TrainingSettings
from heedful.settings.validation import update_settings

BASELINES = ("word_at", "word_iat", "attention_rp", "attention_at", "attention_iat", SEAT_CODE)
FROM_VANILLA = (SEAT, SEAT_ALL)
OWN: dict[str, dict[str, Option]] = {
    DIVERSITY: {"weight": 0.25},
    GUIDED: {"target": "squared_item_logit"},
    CONSISTENT: {},
    ENSEMBLE: {},
}
"""Methods with a term of their own, and their options."""
METHODS = (VANILLA, *BASELINES, *FROM_VANILLA, *OWN, ORTHOGONAL, *RECIPES)
MOST = (VANILLA, SEAT, SEAT_CODE, DIVERSITY, GUIDED, ENSEMBLE, ORTHOGONAL, *RECIPES)
FEW = (VANILLA, SEAT, DIVERSITY, *RECIPES)
ACROSS = (VANILLA, DIVERSITY, "diversity 0.5, taught")
"""Methods on most sets at medium scale, on all at small scale, and of encoders other than the BiLSTM."""
SETS = {
    "small": ("sst2", "rotten_tomatoes"),
    "medium": (
        "sst2",
        "rotten_tomatoes",
        "tweeteval_hate",
        "tweeteval_emotion",
        "ag_news",
        "imdb_small",
        "newsgroups_sports",
    ),
    "paper": (
        "sst2",
        "rotten_tomatoes",
        "tweeteval_hate",
        "tweeteval_emotion",
        "ag_news",
        "imdb",
        "newsgroups_sports",
    ),
}
OTHER_ENCODERS = ("rnn", "lstm", "gru", "cnn")
WITH_ALL = ("sst2", "rotten_tomatoes")
"""Sets on which all methods are tried and other encoders read, below the paper's scale."""
SEEDS = {"small": 3, "medium": 3, "paper": 5}
TRAIN = {"small": 1_500, "medium": 1_600, "paper": None}
TEST = {"small": 1_000, "medium": None, "paper": None}
WORDS = {"small": 40, "medium": 40, "paper": 400}
EXAMPLES = {"small": 80, "medium": 100, "paper": None}
EPOCHS = {"small": 4, "medium": 4, "paper": 8}
ON_TEST = (*TESTS, "permutation", "adversarial_attention", "erase_one", "sign", "embedding_noise")
PREDICTED = ("prediction",)


def runs(scale: str) -> list[StudyRun]:
    """Every method on every set with the BiLSTM, some with other encoders; each seed beside the others."""
    return [
        study_run
        for source in SETS[scale]
        for encoder in _encoders(source, scale)
        for method in _methods(source, encoder, scale)
        for study_run in _method_runs(source, encoder, method, scale)
    ]


def _encoders(source: str, scale: str) -> tuple[str, ...]:
    with_others = scale == "paper" or (scale == "medium" and source in WITH_ALL)
    return ("bilstm", *OTHER_ENCODERS) if with_others else ("bilstm",)


def _methods(source: str, encoder: str, scale: str) -> tuple[str, ...]:
    if encoder == "bilstm":
        return FEW if scale == "small" else METHODS if scale == "paper" or source in WITH_ALL else MOST
    return ACROSS if scale != "paper" else tuple(method for method in METHODS if method != ORTHOGONAL)


def _method_runs(source: str, encoder: str, method: str, scale: str) -> list[StudyRun]:
    trained = [_trained(source, encoder, method, seed, scale) for seed in range(SEEDS[scale])]
    audits = {"": AuditSettings(tests=ON_TEST, options=OPTIONS, examples=EXAMPLES[scale], shown=0)}
    if method == VANILLA or method in RECIPES:
        audits[DEV] = AuditSettings(tests=TESTS, options=OPTIONS, split="dev", examples=EXAMPLES[scale], shown=0)
        audits[ALL] = AuditSettings(tests=PREDICTED, examples=None, shown=0)
        audits[ALL_DEV] = AuditSettings(tests=PREDICTED, split="dev", examples=None, shown=0)
    return [
        StudyRun(
            data=source,
            model=f"{encoder} {method}{f', {role}' if role else ''}",
            encoder=encoder,
            method=method,
            role=role,
            run=run,
            audit=audit,
            seeds=() if audit.tests == PREDICTED else tuple(other for other in trained if other is not run),
        )
        for role, audit in audits.items()
        for run in trained
    ]


def _trained(source: str, encoder: str, method: str, seed: int, scale: str) -> RunWithBase:
    run = _run(source, encoder, method, seed, scale)
    return RunWithBase(run, base=_run(source, encoder, VANILLA, seed, scale) if method in FROM_VANILLA else None)


def _run(source: str, encoder: str, method: str, seed: int, scale: str) -> Run:
    full = scale == "paper"
    network = {"encoder": "orthogonal_bilstm" if method == ORTHOGONAL else encoder, "hidden_size": 128 if full else 64}
    name = "faithful" if method in RECIPES else VANILLA if method == ORTHOGONAL else method
    training = TrainingSettings(
        **NEVER_EARLY,
        method=name,
        options=dict(RECIPES.get(method, OWN.get(method, {}))),
        epochs=EPOCHS[scale],
        learning_rate=1e-3,
        metric="accuracy",
    )
    return Run(
        data=DataSettings(source=source, train_limit=TRAIN[scale], test_limit=TEST[scale]),
        text=TextSettings(max_tokens=WORDS[scale]),
        network=update_settings(VECTORS, network),
        training=training,
        seed=seed,
    )


CRITERIA = {
    OTHER_SEEDS: "attention, other seeds (JSD)",
    ATTACK: "attention, attack (JSD)",
    "embedding_noise.js": "attention, noise (JSD)",
    "embedding_attack.tvd_answer": "prediction, attack (TVD)",
    "comprehensiveness_sufficiency.comprehensiveness_attention": "comprehensiveness",
    "comprehensiveness_sufficiency.sufficiency_attention": "sufficiency",
}


def tables(results: Results) -> list[Table]:
    """What dev texts choose; scores; criteria."""
    return [_chosen(results), _scores(results), _criteria(results)]


def _score_of(line: Line) -> Estimate:
    """The score of a question with its interval."""
    score, low, high = (nan if end is None else end for end in (line.score, line.score_low, line.score_high))
    return Estimate(score, low, high, line.texts)


def _chosen(results: Results) -> Table:
    rows = []
    for (data, encoder), pair in chosen_recipes(results).items():
        for cell in reversed(pair):
            entries = (
                Entry(score_estimate(cell, "accuracy")),
                *(entry(cell.columns[column]) for column in (TAU_DELETION, OTHER_SEEDS, ATTACK, SHARPNESS)),
            )
            rows.append(((data, encoder, cell.method), entries))
    note = (
        f"On test texts. Dev texts choose among {len(RECIPES)} recipes: the highest mean score of those that lose at "
        "most half a point of accuracy and no more than half of the sharpness."
    )
    titles = ("accuracy", "tau leave-one-out", "JSD of seeds", "JSD under attack", "sharpness")
    return Table(
        "The recipe",
        "What dev texts choose, beside vanilla",
        note,
        ("data", "encoder", "training"),
        titles,
        tuple(rows),
    )


def _scores(results: Results) -> Table:
    rows = []
    for cell in results.select(CORRECT, SHARPNESS):
        lines = lines_of(cell)
        scores = (lines.get(name) for name in QUESTIONS)
        entries = (
            Entry(score_estimate(cell, "accuracy")),
            *(Entry(None if line is None else _score_of(line)) for line in scores),
            entry(cell.columns[SHARPNESS]),
            entry(cell.columns[EVENNESS]),
        )
        rows.append((_about(cell), entries))
    note = "Scores of the verdict on test texts: 0 the floor, 1 the best possible, some of which can be passed."
    titles = ("accuracy", *QUESTIONS.values(), "sharpness", "evenness")
    return Table("Scores", "Every way to train", note, ("data", "encoder", "training"), titles, tuple(rows))


def _criteria(results: Results) -> Table:
    rows = [
        (
            _about(cell),
            tuple(entry(cell.columns[column]) if column in cell.columns else Entry(None) for column in CRITERIA),
        )
        for cell in results.select(CORRECT)
    ]
    note = (
        "Hu et al.'s criteria, measured of every method: stable attention and stable predictions (smaller is better), "
        "and top words that are necessary (comprehensiveness, larger is better) and suffice (sufficiency, smaller is "
        "better)."
    )
    return Table(
        "Criteria", "SEAT's criteria", note, ("data", "encoder", "training"), tuple(CRITERIA.values()), tuple(rows)
    )


def _about(cell: Cell) -> tuple[str, str, str]:
    return cell.data, cell.encoder, cell.method


STUDY = Study(
    **study_file(NAME, "study.toml"),
    folder=NAME,
    runs=runs,
    tables=tables,
    figures=figures,
)
