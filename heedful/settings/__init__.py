"""All that decides a result: a Run and its parts, as validated, frozen, JSON-able settings.

The defaults are those of Jain and Wallace (2019): a BiLSTM of 128 units a direction, additive attention, AMSGrad at
1e-3, at most eight epochs of 32 texts. But embeddings start small, and training stops early, though no epoch before the
fourth is chosen: so attention points to the deciding words more often, at about equal accuracy. No torch here: the
command line reads this file to answer `--help` at once.
"""

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from heedful.errors import SettingError
from heedful.settings.keys import AUDIT_VERSION, BATTERY_VERSION, TRAINING_VERSION
from heedful.settings.run_and_audit import (
    AnswerSettings,
    Count,
    FinetuneSettings,
    NonNegative,
    Option,
    OptionValue,
    OutcomeSettings,
    Positive,
    Seed,
    Settings,
    Share,
)

__all__ = [
    "AnswerSettings",
    "AuditSettings",
    "Count",
    "DataSettings",
    "FinetuneSettings",
    "NetworkSettings",
    "NonNegative",
    "Option",
    "OptionValue",
    "OutcomeSettings",
    "Positive",
    "Run",
    "Seed",
    "Share",
    "TextSettings",
    "TrainingSettings",
    "audit_key_of",
    "key_of",
]


class DataSettings(Settings):
    """Which texts: a built-in or named set, a file or folder, or `hub:NAME`; and how to read them."""

    source: str = "mock-1"
    fingerprint: str = ""
    """Hash of the content, filled in when the data is loaded."""
    text: str | None = None
    label: str | None = None
    query: str | None = None
    rationale: str | None = None
    """Column of what people marked; several columns, one an annotator, are separated by commas."""
    task: Literal["classification", "nli", "qa"] | None = None
    """None: as the source says, or by whether there is a query column."""
    dev_share: Share = 0.1
    test_share: Share = 0.2
    split_seed: Seed = 0
    only_labels: tuple[str, ...] = ()
    """Keep only the examples with these labels; empty keeps all."""
    train_limit: Count | None = None
    test_limit: Count | None = None
    """At most so many texts of dev and of test, as well."""
    lexicon: Literal["heedful", "hu_liu"] = "heedful"
    """Word lists of the mock sets: our own, or Hu & Liu's under HEEDFUL_DATA."""
    positions: Literal["scattered", "start", "middle", "end"] = "scattered"
    """Where the informative words of a mock text stand: anywhere, or together in one place."""
    agreement: Annotated[float, Field(gt=0.5, le=1)] = 1.0
    """Share of a mock text's informative words that are of its own class; the others speak for another one."""
    classes: Annotated[int, Field(ge=2, le=50)] = 2
    """How many classes a mock set has; for more than two the words are distributed over as many lists."""


class TextSettings(Settings):
    """How a text becomes tokens."""

    words: Literal["punctuation", "alphanumeric", "spaces"] = "punctuation"
    """Cut at spaces and around each punctuation mark; make every non-word character a space; or cut at spaces alone."""
    lowercase: bool = True
    digits: Literal["keep", "map"] = "keep"
    """map: every run of digits becomes qqq, as Jain and Wallace write they do."""
    min_count: Count = 1
    start_end: bool = False
    """Put a start and an end symbol around each text: read by the encoder, never attended."""
    max_tokens: Count | None = None
    """Longer texts are cut to so many tokens (and counted)."""
    longer_than: Annotated[int, Field(ge=0)] | None = None
    shorter_than: Count | None = None
    """Keep only texts strictly longer, strictly shorter than so many tokens."""


class NetworkSettings(Settings):
    """The model: embedding, encoder, attention, head."""

    encoder: str = "bilstm"
    embed_size: Count = 300
    """Ignored where pretrained vectors set the size."""
    hidden_size: Count = 128
    """Units a direction (recurrent), features (token-wise), or filters a kernel (convolution)."""
    activation: Literal["relu", "tanh"] = "relu"
    kernels: tuple[Count, ...] = (1, 3, 5, 7)
    words: str = "gru"
    sentences: str = "gru"
    """Encoders inside a hierarchical one, over the words of a sentence and over the sentences."""
    layers: Annotated[int, Field(ge=1, le=4)] = 2
    heads: Count = 4
    encoder_dropout: Share = 0.1
    """Of a transformer that is trained from scratch: its layers, the heads of each, the dropout inside."""
    encoder_fingerprint: str = ""
    """Hash of the files of a pretrained encoder (`hf:PATH`), filled in when the run is made."""
    finetune: bool = False
    finetune_learning_rate: Positive = 5e-5
    """Whether a pretrained encoder is trained, too, and how fast; if not, each text is read by it only once."""
    attention: str = "additive"
    attention_size: Count | None = None
    """Width of additive attention; None: half the width of the hidden states."""
    scale: Positive | None = None
    """What scaled-dot scores are divided by (Sun and Lu's lambda); None: square root of the width."""
    temperature: Positive = 1.0
    head: str = "linear"
    head_bias: bool = True
    vectors: str | None = None
    vectors_fingerprint: str = ""
    """Hash of the vectors file, filled in when the run is made."""
    missing: Literal["normal", "zero"] = "normal"
    """Vector of a word that the pretrained ones lack: drawn from N(0, 1), or zero."""
    unit_vectors: bool = False
    embedding_start: Literal["normal", "uniform"] = "uniform"
    """Without pretrained vectors: N(0, 1), or uniform in +-0.1."""
    attention_start: Literal["default", "normal"] = "default"
    """What attention looks for (Sun and Lu's V) before training: as torch starts a layer, or N(0, 1)."""
    head_start: Literal["default", "uniform"] = "default"
    """The head's weights before training: as torch starts a layer, or uniform in +-1."""
    trains_embedding: bool = True
    embedding_dropout: Share = 0.0
    sentence_dropout: Share = 0.0
    """Before the encoder over sentences of a hierarchical model."""
    context_dropout: Share = 0.0
    logit_dropout: Share = 0.0


class TrainingSettings(Settings):
    """The loop: method, optimiser, stopping, selection."""

    method: str = "vanilla"
    options: dict[str, Option] = Field(default_factory=dict)
    """The method's own options."""
    epochs: Annotated[int, Field(ge=1, le=100_000)] = 8
    batch_size: Count = 32
    optimizer: str = "amsgrad"
    learning_rate: Positive = 1e-3
    learning_rate_decay: NonNegative = 0.0
    """Adagrad's own decay."""
    weight_decay: NonNegative = 1e-5
    """On everything but the attention module."""
    loss_sum: Literal["mean", "sum"] = "sum"
    """Over the batch; with L2 inside Adam, summing weakens the decay by the batch size."""
    class_weights: bool = True
    """Weigh each class by (count of the first class) / (its own count), as Jain and Wallace's code does for two."""
    clip_norm: Positive | None = None
    clip_value: Positive | None = None
    plateau: bool = False
    """Halve the learning rate whenever the selection value does not improve."""
    patience: Annotated[int, Field(ge=0)] | None = None
    """Stop after so many epochs without improvement; 0: never early. None: 2, but never early for adversaries, SEAT and
    deceptive training, nor while flow is recorded."""
    chosen_from: Count | None = None
    """The first epoch that may be chosen, or the last one if there are fewer; patience counts from there. None: 4, but
    1 for adversaries, SEAT and deceptive training."""
    min_epochs: Count = 1
    """Epochs that must pass before an early stop."""
    selection: Literal["clean", "paper", "train"] = "clean"
    """Choose the best epoch on dev (clean), on test as some papers did (paper), or by the loss trained on (train)."""
    metric: str = "roc_auc"
    record_flow: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """Epochs after which the scores of every token and their flow are recorded; 0: before training."""

    @field_validator("record_flow")
    @classmethod
    def _are_trained(cls, epochs: tuple[int, ...], info: Any) -> tuple[int, ...]:
        if "epochs" in info.data and max(epochs, default=0) > info.data["epochs"]:
            raise ValueError(f"must name epochs up to the last one, {info.data['epochs']}")
        return epochs


class Run(Settings):
    """One model, fully determined: same run, same machine, same number of threads, same weights."""

    data: DataSettings = DataSettings()
    text: TextSettings = TextSettings()
    network: NetworkSettings = NetworkSettings()
    training: TrainingSettings = TrainingSettings()
    seed: Seed = 0
    reference: str | None = None
    """Key of the run whose attention and predictions the method or the frozen attention takes."""
    finetune: FinetuneSettings | None = None
    """Fine-tune a Hugging Face encoder; `network` and `training` are of no use then, and must be left out."""

    @property
    def reads_sentences(self) -> bool:
        """Whether the model needs to know where sentences begin."""
        return self.network.encoder == "hierarchical"

    @model_validator(mode="after")
    def _has_one_model(self) -> "Run":
        defaults = {"network": NetworkSettings(), "training": TrainingSettings(), "reference": None}
        changed = [part for part, default in defaults.items() if getattr(self, part) != default]
        if self.finetune is not None and changed:
            raise ValueError(
                f"`{changed[0]}` must be left out where a Hugging Face model is fine-tuned (`finetune`): it has its "
                "own network, and its own settings of training, such as `finetune.epochs` and `finetune.learning_rate`"
            )
        return self


class AuditSettings(Settings):
    """Which tests to put to a model, on which texts, and how hard."""

    tests: tuple[str, ...] = ()
    """Names of tests, `outcome` for the answer; empty: the answer and the whole battery."""
    deep: bool = False
    """With no names: also the tests that cost more than all of the battery."""
    split: Literal["dev", "test"] = "test"
    examples: Count | None = 500
    """Number of texts, drawn at random; None: all."""
    shown: Annotated[int, Field(ge=0)] = 200
    """Texts whose words get rows of their own, to be shown as heat maps."""
    options: dict[str, dict[str, OptionValue]] = Field(default_factory=dict)
    """The tests' own options by test, for example {"permutation": {"count": 50}}; each test's file explains them."""
    seed: Seed = 0
    rankings: tuple[str, ...] = ()
    """Rankings by other methods that are tested in addition to attention, for example ("integrated_gradients",)."""
    outcome: OutcomeSettings = OutcomeSettings()
    """When a small set of words decides a prediction, and when a ranking points to it."""
    verdict: AnswerSettings = AnswerSettings()
    """From the outcomes of texts to an answer."""
    details: bool = False
    """Also answer with an alone_weight of 1/2, and with k one smaller and one larger."""

    @property
    def has_answer(self) -> bool:
        """Whether outcomes are computed: of the whole battery, or if they are named among the tests."""
        return not self.tests or "outcome" in self.tests


def key_of(run: Run) -> str:
    """The run's name on disk: a hash of its settings and of the training version.

    A run whose data and vectors were never read has none: their fingerprints are part of it.

    >>> first, again, other = (Run(data=DataSettings(fingerprint="f"), seed=seed) for seed in (1, 1, 2))
    >>> key_of(first) == key_of(again), key_of(first) == key_of(other)
    (True, False)
    """
    network, finetune = run.network, run.finetune
    for place, fingerprint, source in (
        ("data.fingerprint", run.data.fingerprint, run.data.source),
        ("network.vectors_fingerprint", network.vectors_fingerprint, network.vectors),
        (
            "network.encoder_fingerprint",
            network.encoder_fingerprint,
            network.encoder.startswith("hf:") and network.encoder,
        ),
        ("finetune.fingerprint", finetune and finetune.fingerprint, finetune and finetune.model),
    ):
        if source and not fingerprint:
            raise SettingError(
                f"a run has a key only once all that it reads is known: `{place}` must be set; it is empty for "
                f"'{source}'. Read it first (`heedful.jobs.work.load_data`)."
            )
    content = run.model_dump(mode="json")
    if run.finetune is not None:
        del content["finetune"]["model"]
    return _hash({"version": TRAINING_VERSION, **content})


def audit_key_of(model: str, data: str, settings: AuditSettings) -> str:
    """The audit's name on disk: a hash of the model's key, the data, the settings and the audit version."""
    content = {"version": AUDIT_VERSION, "model": model, "data": data, **settings.model_dump(mode="json")}
    if not settings.rankings:  # audits without them keep the key that they had before there were any
        del content["rankings"]
    if not settings.tests:
        content["battery"] = BATTERY_VERSION
    return _hash(content)


def _hash(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
