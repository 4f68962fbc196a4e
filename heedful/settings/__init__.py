"""All that decides a result: a Run and its parts, as validated, frozen, JSON-able settings.

The defaults are those of Jain and Wallace (2019): a BiLSTM of 128 units per direction, additive attention, AMSGrad at
1e-3, at most eight epochs of 32 texts. But embeddings start small, and training stops early, though no epoch before the
fourth is chosen: so attention points to the deciding words more often, at about equal accuracy. No torch here: the
command line reads this file to answer `--help` at once.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from heedful.errors import SettingError

Share = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Seed = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""What torch's generators take."""
Layer = Literal["embedding", "encoder", "attention", "head"]
Option = bool | int | float | str
OptionValue = Option | tuple[Option, ...]


class Settings(BaseModel):
    """Settings: frozen, nothing unknown among them, finite; shown by what is not as usual."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        """What is set otherwise than by default."""
        for name, field in type(self).model_fields.items():
            if (value := getattr(self, name)) != field.get_default(call_default_factory=True):
                yield name, value


class DataSettings(Settings):
    """Which texts: a built-in or named set, a file or folder, or `hub:NAME`; and how to read them."""

    source: str = "mock-1"
    fingerprint: str = ""
    """Hash of the content, filled in when the data is loaded."""
    text: str | None = None
    label: str | None = None
    query: str | None = None
    rationale: str | None = None
    """Column of the human rationales. Separate several columns, one per annotator, by commas."""
    task: Literal["classification", "nli", "qa"] | None = None
    """None: as the source says, or by whether there is a query column."""
    dev_share: Share = 0.1
    test_share: Share = 0.2
    split_seed: Seed = 0
    only_labels: tuple[str, ...] = ()
    """Keep only the examples with these labels; empty keeps all."""
    train_limit: Count | None = None
    test_limit: Count | None = None
    """Maximum number of dev texts, and of test texts."""
    lexicon: Literal["heedful", "hu_liu"] = "heedful"
    """Word lists of the mock sets: our own, or Hu & Liu's under HEEDFUL_DATA."""
    positions: Literal["scattered", "start", "middle", "end"] = "scattered"
    """Where the informative words of a mock text stand: anywhere, or together in one place."""
    agreement: Annotated[float, Field(gt=0.5, le=1)] = 1.0
    """Share of a mock text's informative words that are of its own class; the others indicate a different class."""
    classes: Annotated[int, Field(ge=2, le=50)] = 2
    """How many classes a mock set has; for more than two the words are distributed over as many lists."""


class TextSettings(Settings):
    """How a text becomes tokens."""

    words: Literal["punctuation", "alphanumeric", "spaces"] = "punctuation"
    """Cut at spaces and around each punctuation mark; make every non-word character a space; or cut at spaces alone."""
    lowercase: bool = True
    digits: Literal["keep", "map"] = "keep"
    """map: every word with a digit becomes qqq, as in Jain and Wallace (2019, appendix A)."""
    min_count: Count = 1
    start_end: bool = False
    """Put a start and an end symbol around each text: read by the encoder, never attended."""
    max_tokens: Count | None = None
    """Longer texts are truncated to this number of tokens, and counted."""
    longer_than: Annotated[int, Field(ge=0)] | None = None
    shorter_than: Count | None = None
    """Keep only texts with strictly more, or strictly fewer, tokens than this."""


class NetworkSettings(Settings):
    """The model: embedding, encoder, attention, head."""

    encoder: str = "bilstm"
    embed_size: Count = 300
    """Ignored where pretrained vectors set the size."""
    hidden_size: Count = 128
    """Units per direction (recurrent), features (token-wise), or filters per kernel (convolution)."""
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
    encoder_start: Literal["default", "orthogonal"] = "default"
    """Matrices of a recurrent encoder before training: as torch starts them, or orthogonal."""
    trains_embedding: bool = True
    embedding_dropout: Share = 0.0
    sentence_dropout: Share = 0.0
    """Before the encoder over sentences of a hierarchical model."""
    context_dropout: Share = 0.0
    logit_dropout: Share = 0.0


class TrainingSettings(Settings):
    """The loop: method, optimizer, stopping, selection."""

    method: str = "vanilla"
    options: dict[str, Option] = Field(default_factory=dict)
    """The method's own options."""
    epochs: Annotated[int, Field(ge=1, le=100_000)] = 8
    batch_size: Count = 32
    optimizer: str = "amsgrad"
    learning_rate: Positive = 1e-3
    learning_rate_decay: NonNegative = 0.0
    """Adagrad's own decay."""
    weight_decay: NonNegative | dict[Layer, NonNegative] = 1e-5
    """On everything but the attention module; or by layer, {"attention": 0.001}, and none on the others."""
    loss_sum: Literal["mean", "sum"] = "sum"
    """Over the batch; with L2 inside Adam, summing weakens the decay by the batch size."""
    class_weights: bool = True
    """Weigh each class by (count of the first class) / (its own count), as Jain and Wallace's code does for two."""
    clip_norm: Positive | None = None
    clip_value: Positive | None = None
    plateau: bool = False
    """Halve the learning rate whenever the selection value does not improve."""
    patience: Annotated[int, Field(ge=0)] | None = None
    """Stop after this number of epochs without improvement; 0: never early. None: 2, but never early for adversaries,
    SEAT and deceptive training, nor while flow is recorded."""
    chosen_from: Count | None = None
    """The first epoch that may be chosen, or the last one if there are fewer; patience counts from there. None: 4, but
    1 for adversaries, SEAT and deceptive training."""
    min_epochs: Count = 1
    """Epochs that must pass before an early stop."""
    selection: Literal["clean", "paper", "train"] = "clean"
    """Choose the best epoch on dev (clean), on test as some papers did (paper), or by the loss trained on (train)."""
    metric: str = "roc_auc"
    record_flow: tuple[Annotated[int, Field(ge=0)] | Literal["chosen"], ...] = ()
    """Epochs after which the scores of every token and their flow are recorded; 0: before training; chosen: of the
    epoch that is chosen in the end."""

    @field_validator("record_flow")
    @classmethod
    def _are_trained(cls, epochs: tuple[int | str, ...], info: Any) -> tuple[int | str, ...]:
        if "epochs" in info.data and max((n for n in epochs if isinstance(n, int)), default=0) > info.data["epochs"]:
            raise ValueError(f"must name epochs up to the last one, {info.data['epochs']}")
        return epochs


class FinetuneSettings(Settings):
    """A Hugging Face encoder under a new classifier, trained as a whole: AdamW, a linear warm-up and decay."""

    model: str
    """Its folder, or its name on the hub."""
    fingerprint: str = ""
    """Hash of the model's files, filled in when they are read; the folder's own name is not part of a run's key."""
    epochs: Annotated[int, Field(ge=1, le=1000)] = 3
    batch_size: Count = 32
    learning_rate: Positive = 1e-4
    """Of the first step after the warm-up; it falls to 0 at the last step."""
    warmup: Share = 0.1
    """Share of all steps in which the learning rate rises from 0."""
    weight_decay: NonNegative = 0.01
    """On matrices alone, neither on biases nor on layer norms."""
    clip_norm: Positive | None = 1.0
    max_tokens: Annotated[int, Field(ge=4, le=1_000_000)] = 128
    """Longer texts are truncated to this number of tokens, including special ones, in training and afterwards."""
    patience: Count | None = None
    """Stop after this number of epochs without improvement; None: never early."""
    metric: str = "accuracy"
    """What the best epoch is chosen by, on dev."""


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
    """Fine-tune a Hugging Face encoder; cannot be combined with `network` and `training`."""

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
                f"`{changed[0]}` cannot be combined with `finetune`; remove it. A Hugging "
                "Face model has its own network and its own training settings, such as "
                "`finetune.epochs` and `finetune.learning_rate`"
            )
        return self


Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Natural = Annotated[int, Field(ge=0)]


class OutcomeSettings(Settings):
    """The outcome of one text: points, misses or no small set."""

    alone_weight: Fraction = 2 / 3
    """Weight of what a set of words says alone; the rest is the weight of what is lost without it."""
    share: Fraction = 0.1
    """Share of the words of a text that count as shown."""
    least: Annotated[int, Field(ge=1)] = 2
    """At least this many words count as shown (one in texts of two or three words)."""
    most: Annotated[int, Field(ge=1)] = 5
    """At most this many words count as shown."""
    decisive: Fraction = 0.15
    """A small set of words decides if best - chance is at least this large."""
    enough: Fraction = 0.5
    """A ranking points if its top words go this far from chance to best."""
    near: Fraction = 0.15
    """A part of the text gives the prediction if its probability is at most this much below the whole text's."""
    random_sets: Annotated[int, Field(ge=2)] = 10
    """Random sets of words per text, for chance and luck."""
    all_sets: Natural = 66
    """If a text has at most this many sets of k words, all of them are read."""
    swaps: Annotated[float, Field(ge=0.0)] = 1.0
    """Budget of the search for the key words: new sets per word of the text."""
    most_swaps: Natural = 500
    """Largest budget: it bounds the time that texts of thousands of words take."""
    dev_texts: Natural = 150
    """Dev texts on which the ranking to show is chosen, at most."""
    replaced_texts: Natural = 150
    """Audited texts whose words are also replaced, at most."""
    replace_with: Literal["word", "mask"] = "word"
    """A different word, drawn by frequency; or the mask token of a Hugging Face model."""


class AnswerSettings(Settings):
    """From outcomes to an answer."""

    texts: Annotated[int, Field(ge=2)] = 30
    """Fewer audited texts are too few."""
    decided_texts: Annotated[int, Field(ge=2)] = 20
    """Fewer texts in which a small set decides are too few."""
    most_texts: Fraction = 0.5
    """No small set decides if the interval of the share of these texts lies above this."""
    yes: Fraction = 0.75
    """Yes if the interval of the share of texts in which attention points lies above this."""
    yes_beyond_luck: Fraction = 0.5
    """And attention is further than this on the way from luck to 1."""
    no: Fraction = 0.5
    """No if the interval of the share lies below this."""
    no_beyond_luck: Fraction = 0.25
    """Or attention is less far than this on the way from luck to 1."""
    named_share: Fraction = 0.8
    """Answers name the share of texts in which a small set decides if it is below this."""
    seed_gap: Fraction = 0.2
    """Answers list the seeds if their shares differ by more than this."""
    dev_texts: Annotated[int, Field(ge=2)] = 60
    """With fewer dev texts, halves of the audited texts serve as dev and test."""
    wrong_texts: Annotated[int, Field(ge=2)] = 30
    """Wrong predictions get a sentence if there are at least this many."""
    level: Annotated[float, Field(gt=0.5, lt=1.0)] = 0.95
    """Level of all intervals."""


class AuditSettings(Settings):
    """Which tests to run on a model, on which texts, and how hard."""

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


Companion = TypeVar("Companion", covariant=True)
Other = TypeVar("Other")


@dataclass(frozen=True, repr=False)
class ComparisonModels(Generic[Companion]):
    """Models to compare the audited model with, given as run keys, as runs to train, or as loaded models.

    Args:
        retrained: the same model trained with uniform attention, for the question whether attention is needed at all.
        seeds: the same model trained with other seeds.
        adversaries: models trained to predict as it does and attend elsewhere.
        reference: the run whose attention a model of ours with frozen attention imposes.
    """

    retrained: Companion | None = None
    seeds: tuple[Companion, ...] = ()
    adversaries: tuple[Companion, ...] = ()
    reference: Companion | None = None

    def by_role(self) -> dict[str, tuple[Companion, ...]]:
        """Those that add rows of their own, in a fixed order."""
        retrained = () if self.retrained is None else (self.retrained,)
        return {"retrained": retrained, "seed": self.seeds, "adversary": self.adversaries}

    def map(self, function: Callable[[Companion], Other]) -> "ComparisonModels[Other]":
        """The same models as something else."""
        return ComparisonModels(
            retrained=None if self.retrained is None else function(self.retrained),
            seeds=tuple(map(function, self.seeds)),
            adversaries=tuple(map(function, self.adversaries)),
            reference=None if self.reference is None else function(self.reference),
        )

    def __repr__(self) -> str:
        roles = {**self.by_role(), "reference": () if self.reference is None else (self.reference,)}
        named = [
            f"{role} {_name(companion)}" for role, comparison_models in roles.items() for companion in comparison_models
        ]
        return f"ComparisonModels({', '.join(named)})"

    def __iter__(self) -> Iterator[Companion]:
        for comparison_models in self.by_role().values():
            yield from comparison_models
        if self.reference is not None:
            yield self.reference


def _name(companion: object) -> str:
    return companion if isinstance(companion, str) else type(companion).__name__


TRAINING_VERSION = 2
"""Bumped when the same settings give other weights on purpose; part of every run's key."""
AUDIT_VERSION = 12
"""Bumped when the same model and audit settings give other rows on purpose; part of every audit's key."""
BATTERY_VERSION = 1
"""Bumped when the whole battery asks more than before, and no test answers otherwise; for audits that name no tests."""


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
    if network.encoder_start == "default":  # runs stored before there was a choice keep their keys
        del content["network"]["encoder_start"]
    return _hash({"version": TRAINING_VERSION, **content})


def audit_key_of(model: str, data: str, settings: AuditSettings) -> str:
    """The audit's name on disk: a hash of the model's key, the data, the settings and the audit version."""
    content = {"version": AUDIT_VERSION, "model": model, "data": data, **settings.model_dump(mode="json")}
    if not settings.tests:
        content["battery"] = BATTERY_VERSION
    return _hash(content)


def _hash(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
