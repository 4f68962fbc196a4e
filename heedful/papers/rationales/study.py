"""Human rationales: HateXplain (Mathew et al. 2021) and ERASER's movie reviews (DeYoung et al. 2020)."""

from math import nan

from heedful.battery.question import Values
from heedful.jobs.planning import RunWithBase
from heedful.measures import Estimate
from heedful.measures.span_overlap import f1_of_means
from heedful.papers.claim_rule import entry, score_estimate
from heedful.papers.jain_wallace.study import VECTORS
from heedful.papers.published import number
from heedful.papers.reproduction import (
    ENCODER,
    MINILM,
    NEVER_EARLY,
    NORMAL_START,
    Cell,
    Entry,
    Results,
    Study,
    StudyRun,
    Table,
    encoders_with_minilm,
    study_file,
)
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

NAME = "rationales"
HATEXPLAIN, MOVIES = "hatexplain", "eraser_movies"
NONE, ATTENTION, GUIDED, GUIDED_CODE = "none", "attention", "guided", "guided as published"
PRINTED_AS = {NONE: "BiRNN", ATTENTION: "BiRNN-Attn", GUIDED: "BiRNN-HateXplain", GUIDED_CODE: "BiRNN-HateXplain"}
"""What Mathew et al. call the models."""

PRECISION, TOKEN_F1 = "plausibility.average_precision_{}".format, "plausibility.token_f1_{}".format
AUPRC = "plausibility.eraser_auprc_{}".format
SPAN_PRECISION, SPAN_RECALL = "plausibility.hatexplain_precision_{}".format, "plausibility.hatexplain_recall_{}".format
COMPREHENSIVENESS = "comprehensiveness_sufficiency.comprehensiveness_{}".format
SUFFICIENCY = "comprehensiveness_sufficiency.sufficiency_{}".format
FRACTION = "erase_until_flip.fraction_{}".format


def model_name(cell: Cell) -> str:
    """What a cell's model is called: by how it was trained, and by its encoder where that is not the usual."""
    return f"MiniLM, {cell.method}" if cell.encoder == MINILM else cell.method


def iou_f1(cell: Cell, ranking: str) -> Estimate:
    """The F1 of mean precision and mean recall over all texts and seeds; as it is no mean, it has no interval."""
    precision, recall = (cell.columns[column(ranking)] for column in (SPAN_PRECISION, SPAN_RECALL))
    return Estimate(f1_of_means(precision, recall), nan, nan, int((~precision.isnan()).any(0).sum()))


def saved(cell: Cell, ranking: str = "attention") -> Values:
    """The share of a text that need not be erased in the order of the ranking, and must be in a random order."""
    return cell.columns[FRACTION("random")] - cell.columns[FRACTION(ranking)]


METHODS = {HATEXPLAIN: (NONE, ATTENTION, GUIDED, GUIDED_CODE), MOVIES: (ATTENTION, GUIDED, GUIDED_CODE)}
OPTIONS = {GUIDED: {"weight": 1.0}, GUIDED_CODE: {"weight": 100.0, "compared": "softmax"}}
"""Of the attention loss: ours compares attention itself with the target; theirs, the softmax of attention."""
METHODS_OF_MINILM = (ATTENTION, GUIDED)
MODELS = {"bilstm": "birnn", "average": "word by word", MINILM: MINILM}
ENCODERS = {HATEXPLAIN: "bilstm", MOVIES: "average"}
"""Reviews are read word by word: that affords long ones."""
SEEDS = {"small": 3, "medium": 5, "paper": 5}
SEEDS_OF_SLOW = {"small": 3, "medium": 3, "paper": 5}
"""Of what is slow to read: long reviews, and anything by MiniLM."""
WITH_MINILM = {"small": (), "medium": (HATEXPLAIN,), "paper": (HATEXPLAIN,)}
TRAIN = {
    "small": {HATEXPLAIN: 2_000, MOVIES: 1_600},
    "medium": {HATEXPLAIN: None, MOVIES: None},
    "paper": {HATEXPLAIN: None, MOVIES: None},
}
WORDS = {
    "small": {HATEXPLAIN: 60, MOVIES: 300},
    "medium": {HATEXPLAIN: 100, MOVIES: 1_000},
    "paper": {HATEXPLAIN: None, MOVIES: None},
}
EXAMPLES = {
    "small": {HATEXPLAIN: 200, MOVIES: 199},
    "medium": {HATEXPLAIN: 500, MOVIES: None},
    "paper": {HATEXPLAIN: None, MOVIES: None},
}
OF_MINILM = {"small": 150, "medium": 150, "paper": None}
"""Posts on which MiniLM is audited: it reads each anew without each of its words."""
EPOCHS = {HATEXPLAIN: {"small": 5, "medium": 6, "paper": 20}, MOVIES: {"small": 8, "medium": 10, "paper": 20}}
TOP: dict[str, float] = {HATEXPLAIN: 5.0, MOVIES: 0.31}
"""How many words, or which share of them, are taken for a model's rationale, as in the papers."""
TESTS = ("erase_until_flip", "comprehensiveness_sufficiency", "plausibility")
BY = ("attention",)


def runs(scale: str) -> list[StudyRun]:
    """Each set with each way to train, from several seeds."""
    return [
        StudyRun(
            data=source,
            model=f"{MODELS[encoder]} {method}",
            encoder=encoder,
            method=method,
            run=RunWithBase(_run(source, encoder, method, seed, scale)),
            audit=_audit(source, OF_MINILM[scale] if encoder == MINILM else EXAMPLES[scale][source]),
        )
        for source, methods in METHODS.items()
        for encoder in encoders_with_minilm((ENCODERS[source],), wanted=source in WITH_MINILM[scale])
        for method in (METHODS_OF_MINILM if encoder == MINILM else methods)
        for seed in range((SEEDS_OF_SLOW if source == MOVIES or encoder == MINILM else SEEDS)[scale])
    ]


def _audit(source: str, examples: int | None) -> AuditSettings:
    # The exact floor of ERASER's spans is not shown here, and slow for long texts.
    plausibility: dict[str, OptionValue] = {"k": TOP[source], "by": BY, "longest_exact": 1}
    options: dict[str, dict[str, OptionValue]] = {"plausibility": plausibility, "erase_until_flip": {"by": BY}}
    return AuditSettings(tests=TESTS, options=options, examples=examples, shown=0)


def _network(encoder: str, method: str, hidden_size: int) -> NetworkSettings:
    """MiniLM is frozen, and its states are attended to as they are."""
    if encoder == MINILM:
        return NetworkSettings(encoder=ENCODER, **NORMAL_START)
    attention = "uniform" if method == NONE else "additive"
    return update_settings(VECTORS, {"encoder": encoder, "attention": attention, "hidden_size": hidden_size})


def _run(source: str, encoder: str, method: str, seed: int, scale: str) -> Run:
    is_guided = method in OPTIONS
    training = TrainingSettings(
        **{**NEVER_EARLY, "patience": 5 if scale == "paper" else 0},
        method="guided_by_rationales" if is_guided else "vanilla",
        options=dict(OPTIONS.get(method, {})),
        epochs=EPOCHS[source][scale],
        metric="accuracy",
        loss_sum="mean",
        learning_rate=2e-3,
    )
    return Run(
        data=DataSettings(source=source, train_limit=TRAIN[scale][source]),
        text=TextSettings(words="spaces", max_tokens=WORDS[scale][source]),
        network=_network(encoder, method, 64 if scale != "paper" else 128),
        training=training,
        seed=seed,
    )


TRIVIAL = {"first": "first words", "longest": "longest words", "rarest": "rarest words"}
SHOWN_TOP = {HATEXPLAIN: "5", MOVIES: "20%"}
"""At which number of words comprehensiveness and sufficiency are shown, as near to the papers as ours have it."""


def tables(results: Results) -> list[Table]:
    """Performance; explainability; rankings that know nothing of the model."""
    return [_performance(results), _explainability(results), _trivial(results)]


def _printed(cell: Cell, measure: str) -> float | None:
    if cell.data != HATEXPLAIN or cell.encoder == MINILM:
        return None
    return number(NAME, item="results table", data=cell.data, model=PRINTED_AS[cell.method], measure=measure)


def _performance(results: Results) -> Table:
    rows = [
        (
            (cell.data, model_name(cell)),
            (
                Entry(score_estimate(cell, "accuracy"), _printed(cell, "accuracy")),
                Entry(score_estimate(cell, "roc_auc"), _printed(cell, "roc_auc")),
            ),
        )
        for cell in results.select()
    ]
    note = "Ours tells two classes apart, the paper three (normal, offensive, hate speech): theirs is the harder task."
    return Table(
        "Performance", "How well the models predict", note, ("data", "model"), ("accuracy", "AUC"), tuple(rows)
    )


def _explainability(results: Results) -> Table:
    rows = []
    for cell in results.select(PRECISION("attention"), FRACTION("attention")):
        if cell.method == NONE:
            continue
        columns, top = cell.columns, SHOWN_TOP[cell.data]
        entries = (
            Entry(iou_f1(cell, "attention"), _printed(cell, "iou_f1")),
            entry(columns[TOKEN_F1("attention")], _printed(cell, "token_f1")),
            entry(columns[AUPRC("attention")], _printed(cell, "auprc")),
            entry(columns[PRECISION("attention")]),
            entry(columns[COMPREHENSIVENESS(f"attention_{top}")], _printed(cell, "comprehensiveness")),
            entry(columns[SUFFICIENCY(f"attention_{top}")], _printed(cell, "sufficiency")),
            entry(saved(cell)),
        )
        rows.append(((cell.data, model_name(cell)), entries))
    note = (
        "Of attention. Plausibility: IOU F1 as HateXplain has it, token F1 (of 5 words; of 31 % on movie reviews), "
        "ERASER's AUPRC, average precision. Faithfulness: comprehensiveness (larger is better) and sufficiency "
        "(smaller is better) of 5 words (of a fifth of a review); the share of a text that need not be erased, "
        "compared with a random order, before the decision changes."
    )
    titles = ("IOU F1", "token F1", "AUPRC", "average precision", "comprehensiveness", "sufficiency", "share saved")
    return Table("Explainability", "How plausible and how faithful", note, ("data", "model"), titles, tuple(rows))


def _trivial(results: Results) -> Table:
    """What needs no model: once for each data set."""
    rows = []
    for data in results.datasets:
        cells = results.select(AUPRC("constant"), PRECISION("first"), data=data)
        if not cells:
            continue
        columns = cells[0].columns
        entries = [entry(columns[PRECISION(name)]) for name in ("random", *TRIVIAL)]
        entries += [entry(columns[TOKEN_F1(name)]) for name in ("random", "best")]
        entries += [entry(columns[AUPRC(name)]) for name in ("random", "constant")]
        rows.append(((data,), tuple(entries)))
    titles = (
        *(f"average precision, {name}" for name in ("random order", *TRIVIAL.values())),
        "token F1, random order",
        "token F1, best possible",
        "AUPRC, random scores",
        "AUPRC, constant scores",
    )
    note = "Rankings that know nothing of any model, on the audited texts; random ones in exact expectation."
    return Table("Floors", "What ignorance reaches", note, ("data",), titles, tuple(rows))


STUDY = Study(
    **study_file(NAME, "study.toml"),
    folder=NAME,
    runs=runs,
    tables=tables,
    columns={"saved_by_attention": saved},
    figures=lambda results: [],
)
