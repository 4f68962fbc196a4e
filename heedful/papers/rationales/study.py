"""Human rationales: HateXplain (Mathew et al. 2021) and ERASER's movie reviews (DeYoung et al. 2020)."""

from heedful.jobs.planning import RunWithBase
from heedful.papers.jain_wallace.columns import VECTORS
from heedful.papers.rationales.claims import claims
from heedful.papers.rationales.columns import ATTENTION, GUIDED, GUIDED_CODE, HATEXPLAIN, MOVIES, NAME, NONE
from heedful.papers.rationales.figures import figures
from heedful.papers.rationales.tables import tables
from heedful.papers.reproduction import (
    ENCODER,
    MINILM,
    NEVER_EARLY,
    NORMAL_START,
    Study,
    StudyRun,
    encoders_with_minilm,
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
BY: tuple[str, ...] = ("attention", "attention_x_gradient", "gradient_x_input")


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


STUDY = Study(
    name="rationales",
    folder=NAME,
    title="Human rationales: plausible, and faithful?",
    paper="Mathew et al. (2021), HateXplain, AAAI, arXiv:2012.10289, and DeYoung et al. (2020), ERASER, ACL, "
    "arXiv:1911.03429",
    scales={
        "small": "HateXplain (two classes): BiLSTM without attention, with attention, with guided attention (ours, and "
        "as published), 2,000 training posts; ERASER's movie reviews, read word by word, their first 300: with "
        "attention and both kinds of guided attention, all training reviews; 200 test posts and all test reviews "
        "audited; 3 seeds",
        "medium": "all training texts at hand, the first 1,000 words of reviews; 5 seeds, 3 of reviews and of MiniLM; "
        "500 test posts and all test reviews audited; MiniLM on HateXplain, with attention and guided (ours), audited "
        "on 150 posts",
        "paper": "as medium, with larger models, more epochs and whole texts; every test text audited",
    },
    runs=runs,
    tables=tables,
    claims=claims,
    figures=figures,
)
