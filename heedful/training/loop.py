"""The one training loop: plain torch, any model, any method."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from heedful.data.batching import EncodedSplit, bucketed, collate, encode_split, pad_items, read, to_device
from heedful.errors import HeedfulError, pick
from heedful.models.attention_model import AttentionModel
from heedful.models.trace import trace
from heedful.settings import Run, TrainingSettings
from heedful.token_scores.recording import Recorder
from heedful.training.methods import METHODS, Method, bind, bind_logs
from heedful.training.methods.method import Loss
from heedful.training.metrics import METRICS, READ_SIZE, Outputs, metrics, outputs
from heedful.training.start import check_reference, said, start
from heedful.training.trained import Progress, Record, Trained
from heedful.types import Batch, Dataset, Reference, Trace

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
    check_reference(run, method, reference)
    where = torch.device(device)
    with torch.random.fork_rng([where] if where.type == "cuda" else []):
        torch.manual_seed(run.seed)
        generator = torch.Generator().manual_seed(run.seed)
        words, model, coverage = start(run, dataset, method, reference, generator)
        splits = {name: encode_split(getattr(dataset, name), words) for name in SPLITS}
        recorder = Recorder(model.to(where), splits["train"], words, dataset.labels, run.training.record_flow)
        loop = _Loop(run, method, model, splits, said(reference, dataset, SPLITS, where), generator, recorder)
        with trained_alone(model, method.trains):
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
        splits: dict[str, EncodedSplit],
        said: dict[str, Outputs],
        generator: torch.Generator,
        recorder: Recorder,
    ):
        self.settings, self.method, self.model, self.splits, self.said = run.training, method, model, splits, said
        self.loss: Loss = bind(method.loss, run.training.options)
        self.logs = bind_logs(method, run.training.options)
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
            scores = self.epoch(epoch, report)
            self.recorder.record(epoch)
            seen = {"learning_rate": rate, **scores}
            history += [Record(epoch, "train", measure, value) for measure, value in seen.items()]
            selected = self.score(split) | self.own(split)
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

    def epoch(self, epoch: int, report: Callable[[Progress], None] | None) -> dict[str, float]:
        """One pass over the training texts; the mean loss and what the method follows, each at the time of its step."""
        self.model.train()
        train = self.splits["train"]
        batches = bucketed(train.lengths, self.settings.batch_size, self.generator)
        sums: dict[str, Tensor] = {}
        for done, index in enumerate(batches, start=1):
            batch = to_device(collate(train, index, self.imposed_attention("train")), self.device)
            for measure, value in self.step(batch).items():
                sums[measure] = sums.get(measure, torch.zeros_like(value)) + value
            if report:
                report(Progress(epoch, self.settings.epochs, done, len(batches)))
        means = {measure: value.item() / len(train.texts) for measure, value in sums.items()}
        if not math.isfinite(means["loss"]):
            raise HeedfulError(
                f"the training loss became {means['loss']} in epoch {epoch}. "
                f"Lower learning_rate (it was {self.settings.learning_rate}) or set clip_norm."
            )
        return means

    def step(self, batch: Batch) -> dict[str, Tensor]:
        """One step of the optimiser on one batch; sums over it, of losses weighted where examples are weighed."""
        seen, reference = trace(self.model, batch), self.reference("train", batch)
        losses = self.loss(self.model, seen, reference, self.generator)
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
        return {"loss": total.detach(), **self.followed(seen, reference)}

    def score(self, split: str) -> dict[str, float]:
        """Every metric of the model as it now is."""
        return metrics(
            outputs(self.model, self.splits[split], self.imposed_attention(split)).logits, self.splits[split].labels
        )

    def own(self, split: str) -> dict[str, float]:
        """Means on a split of what the method follows, and of its own loss where epochs are selected by it."""
        if self.method.selects == "metric" and self.method.logs is None:
            return {}
        self.model.eval()
        sums: dict[str, float] = {}
        with torch.no_grad():
            for batch in read(self.splits[split], READ_SIZE, self.device, self.imposed_attention(split)):
                seen, reference = trace(self.model, batch), self.reference(split, batch)
                found = self.followed(seen, reference)
                if self.method.selects == "loss":
                    found["loss"] = self.loss(self.model, seen, reference, self.generator).sum()
                sums = {measure: sums.get(measure, 0.0) + value.item() for measure, value in found.items()}
        return {measure: value / len(self.splits[split].texts) for measure, value in sums.items()}

    def followed(self, seen: Trace, reference: Reference | None) -> dict[str, Tensor]:
        """Sums over a batch of what the method follows beside its loss."""
        if self.logs is None:
            return {}
        with torch.no_grad():
            return {measure: value.sum() for measure, value in self.logs(seen, reference).items()}

    def imposed_attention(self, split: str) -> tuple[Tensor, ...] | None:
        """The attention to impose on a split, where attention is frozen."""
        return self.said[split].attention if self.frozen else None

    def reference(self, split: str, batch: Batch) -> Reference | None:
        """What the reference run said of these texts."""
        if split not in self.said:
            return None
        index = batch.index.tolist()
        attention = pad_items([self.said[split].attention[i] for i in index], batch)
        return Reference(attention.to(self.device), self.said[split].logits[index].to(self.device))


@contextmanager
def trained_alone(model: AttentionModel, trains: str) -> Iterator[None]:
    """Where attention alone is trained, no gradients of anything else: that is most of an epoch's time."""
    own = {id(parameter) for parameter in model.attention.parameters()}
    others = [p for p in model.parameters() if p.requires_grad and id(p) not in own] if trains == "attention" else []
    for parameter in others:
        parameter.requires_grad_(False)
    yield
    for parameter in others:
        parameter.requires_grad_(True)


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
