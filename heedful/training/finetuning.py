"""Fine-tuning: a Hugging Face encoder and a classifier on top of it, trained together on a data set."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from heedful.data.batching import bucketed, in_order
from heedful.errors import HeedfulError, SettingError, lookup
from heedful.models.hugging_face.model_files import FastTokenizer, HuggingFaceModel, quiet
from heedful.models.hugging_face.pretrained_modules import load_pretrained
from heedful.models.hugging_face.subwords import longest_text
from heedful.models.hugging_face.tokenized_texts import text_of
from heedful.settings import FinetuneSettings, Run
from heedful.training.metrics import METRICS, READ_SIZE, metrics
from heedful.training.start import check_content
from heedful.training.trained import BestEpoch, Finetuned, Progress, Record
from heedful.types import Dataset, Example

Report = Callable[[Progress], None]


def finetune(run: Run, dataset: Dataset, *, device: str = "cpu", report: Report | None = None) -> Finetuned:
    """The classifier that the run describes, fine-tuned on the data set.

    The result depends only on the arguments and on the files of the model that it starts from; the caller's random
    state is left as it was.

    Args:
        report: called after every batch and every epoch.
    """
    began = time.perf_counter()
    if run.finetune is None:
        raise SettingError("run must say which model to fine-tune in `finetune.model`; it has no `finetune` settings.")
    lookup("metric", run.finetune.metric, METRICS)
    run = check_content(run, dataset)
    assert run.finetune is not None
    on_device = torch.device(device)
    with torch.random.fork_rng([on_device] if on_device.type == "cuda" else []), quiet():
        torch.manual_seed(run.seed)
        module, tokenizer = load_pretrained(run.finetune.model, dataset.labels)
        # The tokenizer, as it will be stored, cuts texts at so many tokens, or at what the model reads if less.
        most = run.finetune.max_tokens
        tokenizer.model_max_length = longest = min(most, longest_text(tokenizer, module) or most)
        splits = {name: tokenize(getattr(dataset, name), tokenizer) for name in ("train", "dev", "test")}
        loop = _Loop(run, module.to(on_device), tokenizer, splits)  # pyright: ignore[reportArgumentType]
        history, chosen_epoch = loop.fit(report)
        scores = {name: loop.score(name) for name in ("dev", "test")}
    history += [Record(chosen_epoch, "test", measure, value) for measure, value in scores["test"].items()]
    cut = sum(split.cut for split in splits.values())
    return Finetuned(
        run=run,
        module=module.eval(),
        tokenizer=tokenizer,
        labels=dataset.labels,
        has_query=dataset.task != "classification",
        history=tuple(history),
        chosen_epoch=chosen_epoch,
        scores=scores,
        seconds=time.perf_counter() - began,
        notes=(*dataset.notes, *([f"{cut} texts cut to {longest} tokens"] if cut else [])),
    )


@dataclass(frozen=True)
class TokenizedSplit:
    """A split as the tokenizer reads it.

    Args:
        texts: arguments of the model for each text, without padding.
        cut: how many texts are longer than the model reads.
    """

    texts: tuple[Mapping[str, list[int]], ...]
    labels: Int[Tensor, " text"]
    cut: int

    @property
    def lengths(self) -> list[int]:
        """How many tokens each text has."""
        return [len(text["input_ids"]) for text in self.texts]


def tokenize(examples: Sequence[Example], tokenizer: FastTokenizer) -> TokenizedSplit:
    """The examples as tokens, cut at what the tokenizer calls the longest text."""
    texts: list[Mapping[str, list[int]]] = []
    cut = 0
    for example in examples:
        text = text_of(example)
        first, second = (text, None) if isinstance(text, str) else text
        encoded: Any = tokenizer(first, second, truncation="longest_first")
        cut += any(part.overflowing for part in encoded.encodings)
        texts.append({name: encoded[name] for name in tokenizer.model_input_names if name in encoded})
    return TokenizedSplit(tuple(texts), torch.tensor([example.label for example in examples], dtype=torch.long), cut)


class _Loop:
    """The state of a training run: what its epochs and steps share."""

    def __init__(self, run: Run, module: HuggingFaceModel, tokenizer: FastTokenizer, splits: dict[str, TokenizedSplit]):
        assert run.finetune is not None
        self.settings, self.module, self.tokenizer, self.splits = run.finetune, module, tokenizer, splits
        self.generator = torch.Generator().manual_seed(run.seed)
        self.device = next(module.parameters()).device
        self.optimizer = make_optimizer(module, run.finetune)
        batches = math.ceil(len(splits["train"].texts) / run.finetune.batch_size)
        self.schedule = LambdaLR(self.optimizer, warmup_and_decay(batches * run.finetune.epochs, run.finetune.warmup))

    def fit(self, report: Report | None) -> tuple[list[Record], int]:
        """The history and the best epoch, to which the model is restored; stops after the last epoch or on patience."""
        settings = self.settings
        history: list[Record] = []
        best = BestEpoch(self.module)
        for epoch in range(1, settings.epochs + 1):
            loss = self.epoch(epoch, report)
            scores = self.score("dev")
            history += [Record(epoch, "train", "loss", loss)]
            history += [Record(epoch, "dev", measure, value) for measure, value in scores.items()]
            best.offer(epoch, scores[settings.metric])
            if report:
                shown = {f"dev {measure}": score for measure, score in scores.items()}
                report(Progress(epoch, settings.epochs, 0, 0, {"loss": loss, **shown}))
            if settings.patience and epoch - best.number >= settings.patience:
                break
        best.restore()
        return history, best.number

    def epoch(self, epoch: int, report: Report | None) -> float:
        """One pass over the training texts; the mean loss, as of each step."""
        self.module.train()
        train, total = self.splits["train"], 0.0
        batches = bucketed(train.lengths, self.settings.batch_size, self.generator)
        for done, index in enumerate(batches, start=1):
            total += self.step(train, index) * len(index)
            if report:
                report(Progress(epoch, self.settings.epochs, done, len(batches)))
        return total / len(train.texts)

    def step(self, split: TokenizedSplit, index: Sequence[int]) -> float:
        """One optimiser step; the mean loss of the batch."""
        loss = nn.functional.cross_entropy(self.logits(split, index), split.labels[list(index)].to(self.device))
        if not loss.isfinite():
            raise HeedfulError(
                f"the training loss became {loss.item()}. Lower finetune.learning_rate (it was "
                f"{self.settings.learning_rate}) or finetune.clip_norm (it was {self.settings.clip_norm})."
            )
        self.optimizer.zero_grad()
        loss.backward()
        if self.settings.clip_norm:
            nn.utils.clip_grad_norm_(self.module.parameters(), self.settings.clip_norm)
        self.optimizer.step()
        self.schedule.step()
        return loss.item()

    @torch.no_grad()
    def score(self, name: str) -> dict[str, float]:
        """Every metric of the current model on a split."""
        self.module.eval()
        split = self.splits[name]
        blocks = in_order(split.lengths, READ_SIZE)
        logits = torch.cat([self.logits(split, index).cpu() for index in blocks])
        order = torch.tensor([number for index in blocks for number in index]).argsort()
        return metrics(logits[order], split.labels)

    def logits(self, split: TokenizedSplit, index: Sequence[int]) -> Float[Tensor, "batch classes"]:
        """What the model answers to some texts of a split."""
        texts: Any = [dict(split.texts[number]) for number in index]
        arguments = self.tokenizer.pad(texts, return_tensors="pt")
        return self.module(**{name: tensor.to(self.device) for name, tensor in arguments.items()}).logits


def make_optimizer(module: nn.Module, settings: FinetuneSettings) -> AdamW:
    """AdamW; biases and the weights of layer norms, which are vectors, are not decayed."""
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    groups = [
        {"params": [parameter for parameter in trained if parameter.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [parameter for parameter in trained if parameter.ndim <= 1], "weight_decay": 0.0},
    ]
    return AdamW([group for group in groups if group["params"]], settings.learning_rate, fused=True)


def warmup_and_decay(steps: int, warmup: float) -> Callable[[int], float]:
    """What the learning rate is multiplied by at each step: it rises linearly to 1, then falls to 0 at the end.

    >>> factor = warmup_and_decay(10, 0.2)
    >>> [round(factor(step), 3) for step in (0, 1, 2, 6, 9)]
    [0.5, 1.0, 1.0, 0.5, 0.125]
    """
    rising = math.ceil(steps * warmup)

    def factor(step: int) -> float:
        if step < rising:
            return (step + 1) / rising
        return max(0.0, (steps - step) / max(1, steps - rising))

    return factor
