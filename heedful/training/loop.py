"""The training loop, for every model and every method."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from heedful.data.batching import EncodedSplit, bucketed, collate, encode_split, pad_items, to_device
from heedful.errors import HeedfulError, lookup
from heedful.models.attention_model import AttentionModel
from heedful.models.trace import trace
from heedful.settings import Run, TrainingSettings
from heedful.token_scores.measurements import Recorder
from heedful.training.methods import METHODS, Method, bind_logs, bind_loss, stopping
from heedful.training.methods.method import Loss, Step
from heedful.training.methods.vanilla import vanilla
from heedful.training.metrics import METRICS, Outputs, metrics, outputs
from heedful.training.start import build_start, check_content, check_reference, examples_by_split, read_in_advance
from heedful.training.teachers import check_teachers, planned_teachers, reference_outputs
from heedful.training.trained import BestEpoch, Progress, Record, Trained
from heedful.types import Batch, Dataset, Reference, Trace

SPLITS = ("train", "dev", "test")

OPTIMIZERS: dict[str, Callable[[list[dict], TrainingSettings], Optimizer]] = {
    # fused: a single kernel for the whole step, eight times faster on a large embedding
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
    teachers: Sequence[Trained] = (),
    report: Callable[[Progress], None] | None = None,
) -> Trained:
    """The model that the run describes, trained on the data set.

    The result depends only on the arguments; the caller's random state is left as it was.

    Args:
        reference: the finished run that `run.reference` names, if the method or frozen attention needs one.
        teachers: the finished runs of `heedful.training.teachers.teachers_of(run)`, if the method has any.
        report: called after every batch and every epoch.
    """
    began = time.perf_counter()
    run = check_content(run, dataset)
    method = lookup("method", run.training.method, METHODS)
    lookup("metric", run.training.metric, METRICS)
    check_reference(run, method, reference)
    check_teachers(run, teachers)
    examples = examples_by_split(run, method, dataset)
    references = teachers if reference is None else [reference]
    on_device = torch.device(device)
    with torch.random.fork_rng([on_device] if on_device.type == "cuda" else []):
        torch.manual_seed(run.seed)
        generator = torch.Generator().manual_seed(run.seed)
        start = build_start(run, dataset, method, reference, generator)
        model = start.model.to(on_device)
        splits = {name: encode_split(own, start.words) for name, own in examples.items()}
        # The reading of texts by a pretrained transformer is an epoch before the first.
        reading = report and (lambda done, count: report(Progress(0, run.training.epochs, done, count)))
        notes = read_in_advance(model, splits, reading)
        recorder = Recorder(model, splits["train"], start.words, dataset.labels, run.training.record_flow)
        deleted = ("train",) if planned_teachers(run.training).leave_one_out else ()
        known = reference_outputs(references, dataset, SPLITS, on_device, with_leave_one_out=deleted)
        loop = _Loop(run, method, model, splits, known, generator)
        with train_attention_only(model) if method.trains == "attention" else nullcontext():
            history, chosen_epoch = loop.fit(recorder, report)
        scores = {name: loop.score(name) for name in ("dev", "test")}
    if run.training.selection != "paper":  # else test was scored after every epoch
        history += [Record(chosen_epoch, "test", measure, value) for measure, value in scores["test"].items()]
    return Trained(
        run=run,
        model=model.eval(),
        words=start.words,
        labels=dataset.labels,
        history=tuple(history),
        chosen_epoch=chosen_epoch,
        scores=scores,
        seconds=time.perf_counter() - began,
        notes=(*dataset.notes, *notes),
        coverage=start.coverage,
        tokens=recorder.table,
    )


class _Loop:
    """The state of a training run: what its epochs and steps share."""

    def __init__(
        self,
        run: Run,
        method: Method,
        model: AttentionModel,
        splits: dict[str, EncodedSplit],
        reference: dict[str, Outputs],
        generator: torch.Generator,
    ):
        self.settings, self.method, self.model, self.splits = run.training, method, model, splits
        self.reference_outputs = reference
        self.loss: Loss = bind_loss(method, run.training)
        self.logs = bind_logs(method, run.training)
        self.frozen = run.network.attention == "frozen"
        self.generator, self.device = generator, model.device
        self.optimizer = make_optimizer(model, run.training, method.trains)
        self.weights = class_weights(splits["train"].labels, run.training).to(self.device)

    def fit(self, recorder: Recorder, report: Callable[[Progress], None] | None) -> tuple[list[Record], int]:
        """The history and the best epoch, to which the model is restored; stops after the last epoch or on patience."""
        settings = self.settings
        split = "test" if settings.selection == "paper" else "dev"
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, "max", factor=0.5, patience=0, threshold=0)
        history: list[Record] = []
        best = BestEpoch(self.model)
        first, patience = stopping(self.method, settings)
        recorder.record(0)
        for epoch in range(1, settings.epochs + 1):
            learning_rate = self.optimizer.param_groups[0]["lr"]
            train_scores = self.epoch(epoch, report)
            recorder.record(epoch)
            train_records = {"learning_rate": learning_rate, **train_scores}
            history += [Record(epoch, "train", measure, value) for measure, value in train_records.items()]
            split_scores = self.epoch_scores(split)
            history += [Record(epoch, split, measure, value) for measure, value in split_scores.items()]
            criteria = train_scores if settings.selection == "train" else split_scores
            value = -criteria["loss"] if "loss" in criteria else criteria[settings.metric]
            if epoch >= first:
                best.offer(epoch, value)
            if settings.plateau and epoch > self.method.honest_epochs:
                plateau.step(-math.inf if math.isnan(value) else value)
            if report:
                epoch_scores = train_scores | {f"{split} {measure}": score for measure, score in split_scores.items()}
                report(Progress(epoch, settings.epochs, 0, 0, epoch_scores))
            if patience and epoch >= max(first, settings.min_epochs) and epoch - best.number >= patience:
                break
        best.restore()
        recorder.record(best.number, "chosen")
        return history, best.number

    def epoch(self, epoch: int, report: Callable[[Progress], None] | None) -> dict[str, float]:
        """One pass over the training texts; the mean loss and the means of what the method logs, as of each step."""
        self.model.train()
        train = self.splits["train"]
        batches = bucketed(train.lengths, self.settings.batch_size, self.generator)
        loss = vanilla if epoch <= self.method.honest_epochs else self.loss
        sums: dict[str, Tensor] = {}
        for done, index in enumerate(batches, start=1):
            batch = to_device(collate(train, index, self.imposed_attention("train")), self.device)
            for measure, value in self.step(batch, loss).items():
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

    def step(self, batch: Batch, loss: Loss) -> dict[str, Tensor]:
        """One optimiser step; batch sums of the loss (weighted if examples are) and of what the method logs."""
        seen, reference = trace(self.model, batch), self.reference("train", batch)
        losses = loss(Step(self.model, seen, reference, self.generator))
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
        return {"loss": total.detach(), **self.logged_sums(seen, reference)}

    def score(self, split: str, each: Callable[[Batch, Trace], None] | None = None) -> dict[str, float]:
        """Every metric of the current model on a split."""
        encoded = self.splits[split]
        return metrics(outputs(self.model, encoded, self.imposed_attention(split), each).logits, encoded.labels)

    def epoch_scores(self, split: str) -> dict[str, float]:
        """Every metric, the means of what the method logs, and that of its loss if epochs are selected by it."""
        by_loss, sums = self.method.selects == "loss", dict[str, float]()

        def add(batch: Batch, seen: Trace) -> None:
            reference = self.reference(split, batch)
            batch_sums = self.logged_sums(seen, reference)
            if by_loss:
                batch_sums["loss"] = self.loss(Step(self.model, seen, reference, self.generator)).sum()
            for measure, value in batch_sums.items():
                sums[measure] = sums.get(measure, 0.0) + value.item()

        scores = self.score(split, add if by_loss or self.logs else None)
        return scores | {measure: value / len(self.splits[split].texts) for measure, value in sums.items()}

    def logged_sums(self, seen: Trace, reference: Reference | None) -> dict[str, Tensor]:
        """Sums over a batch of what the method logs besides its loss."""
        if self.logs is None:
            return {}
        with torch.no_grad():
            return {measure: value.sum() for measure, value in self.logs(seen, reference).items()}

    def imposed_attention(self, split: str) -> tuple[Tensor, ...] | None:
        """The attention to impose on a split, if attention is frozen."""
        return self.reference_outputs[split].attention if self.frozen else None

    def reference(self, split: str, batch: Batch) -> Reference | None:
        """The reference run's outputs on the texts of a batch."""
        if split not in self.reference_outputs:
            return None
        reference, index = self.reference_outputs[split], batch.index.tolist()

        def padded(rows: Sequence[Tensor]) -> Tensor:
            return pad_items([rows[i] for i in index], batch).to(self.device)

        sizes = None if reference.leave_one_out is None else padded(reference.leave_one_out)
        return Reference(padded(reference.attention), reference.logits[index].to(self.device), sizes)


@contextmanager
def train_attention_only(model: AttentionModel) -> Iterator[None]:
    """Turns off all gradients but those of the attention module, which saves most of an epoch's time."""
    others = _parameters_outside_attention(model)
    for parameter in others:
        parameter.requires_grad_(False)
    yield
    for parameter in others:
        parameter.requires_grad_(True)


def make_optimizer(model: AttentionModel, settings: TrainingSettings, trains: str) -> Optimizer:
    """The optimiser of what the method trains; the attention module has no weight decay (as in the papers' code)
    unless the settings name it.

    A pretrained encoder that is trained, too, has a learning rate of its own.
    """
    decay, pretrained = settings.weight_decay, model.pretrained_words
    by_layer = {**decay} if isinstance(decay, dict) else {"embedding": decay, "encoder": decay, "head": decay}
    tuned = set() if pretrained is None else {id(p) for p in pretrained.parameters()}
    groups: dict[tuple[bool, float], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        layer = name.partition(".")[0].removeprefix("query_")
        if parameter.requires_grad and (trains == "all" or layer == "attention"):
            groups.setdefault((id(parameter) in tuned, by_layer.get(layer, 0.0)), []).append(parameter)
    slow = {} if pretrained is None else {"lr": pretrained.learning_rate}
    return lookup("optimizer", settings.optimizer, OPTIMIZERS)(
        [
            {"params": parameters, "weight_decay": amount} | (slow if is_tuned else {})
            for (is_tuned, amount), parameters in sorted(groups.items(), key=lambda group: group[0][0])
        ],
        settings,
    )


def _parameters_outside_attention(model: AttentionModel) -> list[nn.Parameter]:
    """The trainable parameters outside the attention module."""
    attention = {id(p) for p in model.attention.parameters()}
    return [p for p in model.parameters() if p.requires_grad and id(p) not in attention]


def class_weights(labels: Tensor, settings: TrainingSettings) -> Tensor:
    """The weight of each class: (count of class 0) / (count of the class), or 1 without class weights.

    >>> class_weights(torch.tensor([0, 0, 0, 1]), TrainingSettings())
    tensor([1., 3.])
    """
    counts = labels.bincount().float()
    return counts[0] / counts if settings.class_weights else torch.ones_like(counts)
