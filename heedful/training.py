"""The one training loop: plain torch, any model, any method."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from heedful.batches import Numbered, bucketed, collate, number, pad_items, read, to_device
from heedful.errors import HeedfulError, SettingError, pick
from heedful.evaluation import METRICS, READ_SIZE, Outputs, metrics, outputs
from heedful.methods import METHODS, Method, bind
from heedful.methods.contract import Loss
from heedful.model import AttentionModel, build_model, trace
from heedful.settings import NetworkSettings, Run, TrainingSettings
from heedful.text import WordTokenizer, learn_vocabulary
from heedful.tokens.recording import Recorder
from heedful.types import Batch, Dataset, Reference
from heedful.vectors import embedding_matrix, load_vectors


@dataclass(frozen=True)
class Progress:
    """Where training stands: told after every batch, and with scores after every epoch."""

    epoch: int
    epochs: int
    batch: int
    batches: int
    scores: dict[str, float] | None = None


@dataclass(frozen=True)
class Record:
    """One number of one epoch: a row of history.parquet."""

    epoch: int
    split: str
    measure: str
    value: float


@dataclass(frozen=True)
class Trained:
    """A finished run: the model of the chosen epoch and how it came about.

    Args:
        coverage: share of the vocabulary that the pretrained vectors know; None without vectors.
        tokens: scores and flow of every token at the epochs that `record_flow` names; None where it names none.
    """

    run: Run
    model: AttentionModel
    words: WordTokenizer
    labels: tuple[str, ...]
    history: tuple[Record, ...]
    chosen_epoch: int
    scores: dict[str, dict[str, float]]
    seconds: float
    notes: tuple[str, ...] = ()
    coverage: float | None = None
    tokens: pl.DataFrame | None = None


SPLITS = ("train", "dev", "test")

OPTIMIZERS: dict[str, Callable[[list[dict], TrainingSettings], Optimizer]] = {
    # fused: one kernel for the whole step, eight times faster on a large embedding
    "adam": lambda groups, s: torch.optim.Adam(groups, s.learning_rate, fused=True),
    "amsgrad": lambda groups, s: torch.optim.Adam(groups, s.learning_rate, amsgrad=True, fused=True),
    "adagrad": lambda groups, s: torch.optim.Adagrad(groups, s.learning_rate, s.learning_rate_decay, fused=True),
    "sgd": lambda groups, s: torch.optim.SGD(groups, s.learning_rate, fused=True),
}


def train(
    run: Run,
    dataset: Dataset,
    *,
    device: str = "cpu",
    reference: Trained | None = None,
    report: Callable[[Progress], None] | None = None,
) -> Trained:
    """The model that the run describes, trained on the data set.

    Nothing but the arguments decides the result; the caller's random state is left as it was.

    Args:
        reference: the finished run that `run.reference` names, where the method or frozen attention needs one.
        report: called after every batch and every epoch.
    """
    began = time.perf_counter()
    method = pick("method", run.training.method, METHODS)
    pick("metric", run.training.metric, METRICS)
    _check_reference(run, method, reference)
    where = torch.device(device)
    with torch.random.fork_rng([where] if where.type == "cuda" else []):
        torch.manual_seed(run.seed)
        generator = torch.Generator().manual_seed(run.seed)
        words, model, coverage = _start(run, dataset, method, reference, generator)
        splits = {name: number(getattr(dataset, name), words) for name in SPLITS}
        recorder = Recorder(model.to(where), splits["train"], words, dataset.labels, run.training.record_flow)
        loop = _Loop(run, method, model, splits, _said(reference, dataset, where), generator, recorder)
        history, chosen = loop.run(report)
        scores = {name: loop.score(name) for name in ("dev", "test")}
    if run.training.selection != "paper":  # else test was scored after every epoch
        history += [Record(chosen, "test", measure, value) for measure, value in scores["test"].items()]
    told = (time.perf_counter() - began, dataset.notes, coverage, recorder.table)
    return Trained(run, model.eval(), words, dataset.labels, tuple(history), chosen, scores, *told)


class _Loop:
    """The state of one training: what changes from batch to batch."""

    def __init__(
        self,
        run: Run,
        method: Method,
        model: AttentionModel,
        splits: dict[str, Numbered],
        said: dict[str, Outputs],
        generator: torch.Generator,
        recorder: Recorder,
    ):
        self.settings, self.method, self.model, self.splits, self.said = run.training, method, model, splits, said
        self.loss: Loss = bind(method.loss, run.training.options)
        self.frozen = run.network.attention == "frozen"
        self.generator, self.device, self.recorder = generator, model.embedding.weight.device, recorder
        self.optimizer = make_optimizer(model, run.training, method.trains)
        self.weights = class_weights(splits["train"].labels, run.training).to(self.device)

    def run(self, report: Callable[[Progress], None] | None) -> tuple[list[Record], int]:
        """Train until the epochs are over or patience is; leaves the model at its best epoch, which it returns."""
        settings = self.settings
        split = "test" if settings.selection == "paper" else "dev"
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, "max", factor=0.5, patience=0, threshold=0)
        history: list[Record] = []
        best, chosen, state = -math.inf, 0, {}
        self.recorder.record(0)
        for epoch in range(1, settings.epochs + 1):
            rate = self.optimizer.param_groups[0]["lr"]
            scores = {"loss": self.epoch(epoch, report)}
            self.recorder.record(epoch)
            history += [Record(epoch, "train", "learning_rate", rate), Record(epoch, "train", "loss", scores["loss"])]
            selected = self.score(split) | self.own_loss(split)
            history += [Record(epoch, split, measure, value) for measure, value in selected.items()]
            judged = scores if settings.selection == "train" else selected
            value = -judged["loss"] if "loss" in judged else judged[settings.metric]
            value = -math.inf if math.isnan(value) else value
            if not state or value > best:
                best, chosen = value, epoch
                state = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
            if settings.plateau:
                plateau.step(value)
            if report:
                told = scores | {f"{split} {measure}": score for measure, score in selected.items()}
                report(Progress(epoch, settings.epochs, 0, 0, told))
            if settings.patience and epoch >= settings.min_epochs and epoch - chosen >= settings.patience:
                break
        self.optimizer.zero_grad()  # the last batch's gradients are nobody's
        self.model.load_state_dict(state)
        return history, chosen

    def epoch(self, epoch: int, report: Callable[[Progress], None] | None) -> float:
        """One pass over the training texts; the mean loss."""
        self.model.train()
        train = self.splits["train"]
        batches = bucketed(train.lengths, self.settings.batch_size, self.generator)
        total = torch.zeros((), device=self.device)
        for done, index in enumerate(batches, start=1):
            batch = to_device(collate(train, index, self.given("train")), self.device)
            total += self.step(batch).detach()
            if report:
                report(Progress(epoch, self.settings.epochs, done, len(batches)))
        mean = total.item() / len(train.texts)
        if not math.isfinite(mean):
            raise HeedfulError(
                f"the training loss became {mean} in epoch {epoch}. "
                f"Lower learning_rate (it was {self.settings.learning_rate}) or set clip_norm."
            )
        return mean

    def step(self, batch: Batch) -> Tensor:
        """One step of the optimiser on one batch; the sum of its losses, weighted where examples are weighed."""
        losses = self.loss(self.model, trace(self.model, batch), self.reference("train", batch), self.generator)
        weights = self.weights[batch.labels]
        total = (losses * weights).sum() if self.method.weighs == "examples" else losses.sum()
        objective = total if self.settings.loss_sum == "sum" else total / len(losses)
        if self.method.weighs == "batch" and self.settings.class_weights:
            objective = objective * weights.sum()
        self.optimizer.zero_grad()
        objective.backward()
        if self.settings.clip_norm:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip_norm)
        if self.settings.clip_value:
            nn.utils.clip_grad_value_(self.model.parameters(), self.settings.clip_value)
        self.optimizer.step()
        return total

    def score(self, split: str) -> dict[str, float]:
        """Every metric of the model as it now is."""
        return metrics(outputs(self.model, self.splits[split], self.given(split)).logits, self.splits[split].labels)

    def own_loss(self, split: str) -> dict[str, float]:
        """The method's own mean loss on a split, where epochs are selected by it."""
        if self.method.selects == "metric":
            return {}
        self.model.eval()
        total = 0.0
        with torch.no_grad():
            for batch in read(self.splits[split], READ_SIZE, self.device, self.given(split)):
                seen = trace(self.model, batch)
                total += self.loss(self.model, seen, self.reference(split, batch), self.generator).sum().item()
        return {"loss": total / len(self.splits[split].texts)}

    def given(self, split: str) -> tuple[Tensor, ...] | None:
        """The attention to impose on a split, where attention is frozen."""
        return self.said[split].attention if self.frozen else None

    def reference(self, split: str, batch: Batch) -> Reference | None:
        """What the reference run said of these texts."""
        if split not in self.said:
            return None
        index = batch.index.tolist()
        attention = pad_items([self.said[split].attention[i] for i in index], batch)
        return Reference(attention.to(self.device), self.said[split].logits[index].to(self.device))


def make_optimizer(model: AttentionModel, settings: TrainingSettings, trains: str) -> Optimizer:
    """The optimiser over what the method trains; the attention module has no weight decay (as in the papers' code)."""
    attention = [p for p in model.attention.parameters() if p.requires_grad]
    own = {id(p) for p in attention}
    rest = [p for p in model.parameters() if p.requires_grad and id(p) not in own] if trains == "all" else []
    groups = [{"params": rest, "weight_decay": settings.weight_decay}, {"params": attention, "weight_decay": 0.0}]
    return pick("optimizer", settings.optimizer, OPTIMIZERS)([g for g in groups if g["params"]], settings)


def class_weights(labels: Tensor, settings: TrainingSettings) -> Tensor:
    """How much an example of each class counts: (count of class 0) / (its count), or 1 without class weights.

    >>> class_weights(torch.tensor([0, 0, 0, 1]), TrainingSettings())
    tensor([1., 3.])
    """
    counts = labels.bincount().float()
    return counts[0] / counts if settings.class_weights else torch.ones_like(counts)


def _start(
    run: Run, dataset: Dataset, method: Method, reference: Trained | None, generator: torch.Generator
) -> tuple[WordTokenizer, AttentionModel, float | None]:
    """Tokenizer, model before the first step, and the coverage of its pretrained vectors."""
    classes, has_query = len(dataset.labels), dataset.task != "classification"
    if method.start == "reference" and reference is not None:
        model = build_model(network_of(reference), reference.words.size, classes, has_query=has_query)
        model.load_state_dict(reference.model.state_dict())
        return reference.words, model, reference.coverage
    words = learn_vocabulary(WordTokenizer.from_settings(run.text), dataset.train, run.text.min_count)
    network = run.network
    if network.vectors is None:
        return words, build_model(network, words.size, classes, has_query=has_query), None
    vectors = load_vectors(network.vectors, only=set(words.words))
    matrix, coverage = embedding_matrix(
        words.words, vectors, missing=network.missing, unit=network.unit_vectors, generator=generator
    )
    network = network.model_copy(update={"embed_size": matrix.shape[1]})
    model = build_model(network, words.size, classes, has_query=has_query)
    model.embedding.weight.data.copy_(matrix)
    return words, model, coverage


def network_of(trained: Trained) -> NetworkSettings:
    """The run's network settings with the embedding size that pretrained vectors gave it."""
    return trained.run.network.model_copy(update={"embed_size": trained.model.embedding.embedding_dim})


def _said(base: Trained | None, dataset: Dataset, device: torch.device) -> dict[str, Outputs]:
    """What the reference run says of every text: computed once, not every epoch."""
    if base is None:
        return {}
    return {name: outputs(base.model.to(device), number(getattr(dataset, name), base.words)) for name in SPLITS}


def _check_reference(run: Run, method: Method, reference: Trained | None) -> None:
    frozen = run.network.attention == "frozen"
    if reference is None:
        if frozen or method.needs_reference or method.start == "reference":
            what = "attention 'frozen'" if frozen else f"method '{run.training.method}'"
            raise SettingError(f"{what} needs a reference run: give `reference` the key of a finished one.")
        return
    if reference.run.text.model_copy(update={"min_count": run.text.min_count}) != run.text:
        raise SettingError(
            f"the reference run must cut texts as this run does; its text settings were {reference.run.text}, "
            f"this run's are {run.text}."
        )
    if (reference.run.network.encoder == "hierarchical") != (run.network.encoder == "hierarchical"):
        raise SettingError("a reference run and its follower must both attend to words or both to sentences.")
