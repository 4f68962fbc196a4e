"""The audit of a Hugging Face classifier, test by test, in forward passes of the same texts; and beside its rivals.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/hugging_face.py MODEL_FOLDER [DATA] [TEXTS]

DATA is sst2 unless named (then HEEDFUL_DATA is needed). One thread, processor time; all ratios are measured in one run.
A forward pass is what the untouched model takes for a text, in batches by length, without gradients. Leave-one-out,
which several tests share, is charged by itself. interpreto's occlusion is measured too, where it is installed.
"""

import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from rich.console import Console
from rich.table import Table

from heedful.auditing.audit import audit_subject
from heedful.auditing.heads import heads_of
from heedful.battery import BATTERY, Evidence
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.models.hugging_face.network import Inputs
from heedful.models.trace import trace
from heedful.settings import AuditSettings, DataSettings
from heedful.subjects.hugging_face_subject import HuggingFaceSubject
from heedful.subjects.opening import load_texts, open_subject
from heedful.types import Batch, Dataset

LONG = 100
"""Tokens of the single long text."""
AIM = 200
"""Forward passes within which the whole battery should stay, leave-one-out and the picture of heads aside."""
console = Console(highlight=False, width=110)


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


@torch.no_grad()
def forward(model: TransformerModel, batches: list[Batch]) -> None:
    network = model.classifier.network.around(model.classifier.untouched)
    for batch in batches:
        network.logits(Inputs(batch.tokens, batch.mask))


def shares(model: TransformerModel, dataset: Dataset, texts: int) -> tuple[dict[str, float], float]:
    """Seconds of each test of the default battery on so many texts, and of one forward pass of them."""
    subject = HuggingFaceSubject(model).texts(dataset, AuditSettings(examples=texts))
    batches = list(subject.batches())
    forward(model, batches[:1])
    passing = min(seconds(lambda: forward(model, batches)) for _ in range(3))
    times = dict.fromkeys(["reading", "leave-one-out", *(n for n, t in BATTERY.items() if t.cost == "default")], 0.0)
    for batch in batches:
        began = time.process_time()
        with torch.no_grad():
            seen = trace(model, batch)
        times["reading"] += time.process_time() - began
        evidence = Evidence(model, seen, subject.context)
        times["leave-one-out"] += seconds(lambda evidence=evidence: evidence.deletion_logits)
        for name in times:
            if name in BATTERY:
                generator = torch.Generator().manual_seed(0)
                with torch.no_grad():
                    run = BATTERY[name].function
                    times[name] += seconds(lambda run=run, own=(evidence, generator): run(*own))
    return times, passing


def print_shares(times: dict[str, float], passing: float, texts: int) -> None:
    table = Table("test", "ms a text", "forward passes", title=f"{texts} texts, one by one test")
    for name, taken in sorted(times.items(), key=lambda pair: -pair[1]):
        table.add_row(name, f"{1000 * taken / texts:.1f}", f"{taken / passing:.1f}")
    total = sum(taken for name, taken in times.items() if name != "leave-one-out")
    table.add_row("all but leave-one-out", f"{1000 * total / texts:.1f}", f"{total / passing:.1f}")
    console.print(table)
    verdict = "within" if total / passing < AIM else "above"
    console.print(f"A forward pass: {1000 * passing / texts:.2f} ms a text. {verdict} the aim of {AIM} passes.\n")


def peers(model: TransformerModel, dataset: Dataset, texts: int) -> Iterator[tuple[str, str, float, float]]:
    """Question, rival, seconds of ours and of the rival's, on the same texts."""
    subject = HuggingFaceSubject(model).texts(dataset, AuditSettings(examples=texts))
    batches = list(subject.batches())
    with torch.no_grad():
        seen = [trace(model, batch) for batch in batches]
    evidences = [Evidence(model, each, subject.context) for each in seen]
    loo = seconds(lambda: [evidence.deletion_logits for evidence in evidences])
    yield "leave-one-out", "plain loop, a text at a time", loo, seconds(lambda: plain_deletions(model, batches))
    yield "leave-one-out", "captum FeatureAblation, 16 at once", loo, seconds(lambda: captum_ablation(model, batches))
    if occlusion := interpreto_occlusion(model, subject):
        yield "leave-one-out", "interpreto Occlusion", loo, seconds(occlusion)
    test = BATTERY["comprehensiveness_sufficiency"].function
    own = seconds(lambda: [test(evidence, torch.Generator()) for evidence in evidences])
    yield "comprehensiveness, sufficiency", "plain loop", own, seconds(lambda: plain_parts(model, evidences))
    erase = BATTERY["erase_one"].function
    own = seconds(lambda: [erase(evidence, torch.Generator()) for evidence in evidences])
    yield "erase each word's attention", "whole model for each", own, seconds(lambda: whole_erasures(model, seen))


@torch.no_grad()
def plain_deletions(model: TransformerModel, batches: list[Batch]) -> None:
    """A forward pass for each word of each text, alone."""
    network = model.classifier.network.around(model.classifier.untouched)
    for batch in batches:
        for row, own in enumerate(batch.sentence):
            for word in range(int(own.max()) + 1):
                kept = batch.mask[row] & (own != word)
                network.logits(Inputs(batch.tokens[row][kept][None], kept[kept][None]))


@torch.no_grad()
def plain_parts(model: TransformerModel, evidences: list[Evidence]) -> None:
    """The tops of four rankings at five sizes, deleted and alone: a forward pass each, as ferret makes them."""
    network = model.classifier.network.around(model.classifier.untouched)
    for evidence in evidences:
        batch, count = evidence.trace.batch, evidence.count
        orders = [evidence.ranking(n) for n in ("attention", "weight_gradient", "leave_one_out")] + [
            evidence.random_order
        ]
        for row, own in enumerate(batch.sentence):
            for order in orders:
                for size in (1, 3, 5, 10, max(1, int(0.2 * count[row]))):
                    top = torch.isin(own, order[row, :size])
                    for stays in (~top, top | (own < 0)):
                        kept = batch.mask[row] & stays
                        network.logits(Inputs(batch.tokens[row][kept][None], kept[kept][None]))


@torch.no_grad()
def whole_erasures(model: TransformerModel, seen: list) -> None:
    """Each word's weight erased by running the whole model again."""
    whole = model.at()
    whole.one_row = None
    for each in seen:
        encoded = whole.encode(each.embedded, each.batch)
        keep = 1 - torch.eye(encoded.items.shape[1], dtype=torch.float64)
        weights = encoded.attention[:, None] * keep
        whole.decode_each(encoded, weights / weights.sum(-1, keepdim=True).clamp_min(1e-12))


def captum_ablation(model: TransformerModel, batches: list[Batch]) -> None:
    """Captum's ablation of each word, to the padding token, several at once."""
    from captum.attr import FeatureAblation

    network = model.classifier.network.around(model.classifier.untouched)
    padding = network.module.config.pad_token_id or 0

    def predict(tokens):
        return network.logits(Inputs(tokens, torch.ones_like(tokens, dtype=torch.bool)))

    ablation = FeatureAblation(predict)
    with torch.no_grad():
        for batch in batches:
            for row, own in enumerate(batch.sentence):
                tokens = batch.tokens[row][batch.mask[row]][None]
                words = (own[batch.mask[row]] + 1)[None]
                target = int(predict(tokens).argmax())
                ablation.attribute(
                    tokens, baselines=padding, target=target, feature_mask=words, perturbations_per_eval=16
                )


def interpreto_occlusion(model: TransformerModel, subject) -> Callable[[], object] | None:
    """Interpreto's occlusion of words, where it is installed."""
    try:
        from interpreto import Granularity, Occlusion
    except ImportError:
        return None
    classifier = model.classifier
    texts = [subject.examples[number].text for number in subject.numbers]
    explainer = Occlusion(classifier.untouched, classifier.reader.tokenizer, granularity=Granularity.WORD)
    return lambda: [explainer(text) for text in texts]


def long_text(dataset: Dataset) -> Dataset:
    """A data set of one text of some hundred tokens, written of others."""
    words: list[str] = []
    for example in dataset.test:
        words += example.text.split()
        if len(words) > 0.8 * LONG:
            break
    first = replace(dataset.test[0], text=" ".join(words))
    return replace(dataset, test=(first,), dev=())


def peak_memory() -> float:
    """Of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    torch.set_num_threads(1)
    folder, source, texts = (*sys.argv[1:4], *("", "sst2", "100")[len(sys.argv) - 1 :])
    if not folder:
        sys.exit(
            "Name the folder of a Hugging Face classifier: python benchmarks/hugging_face.py FOLDER [DATA] [TEXTS]"
        )
    subject, count = open_subject(folder), int(texts)
    model, dataset = subject.opened, load_texts(subject, DataSettings(source=source))
    times, passing = shares(model, dataset, count)
    print_shares(times, passing, count)
    heads = seconds(lambda: heads_of(subject, dataset, AuditSettings()))
    console.print(f"The picture of all heads: {heads:.0f} s, {heads * count / passing:,.0f} forward passes of a text.")
    table = Table("question", "beside", "ours, s", "theirs, s", "ratio", title=f"{min(count, 20)} texts")
    for question, rival, own, other in peers(model, dataset, min(count, 20)):
        table.add_row(question, rival, f"{own:.2f}", f"{other:.2f}", f"{other / own:.1f}")
    console.print(table)
    one = long_text(dataset)
    taken = seconds(lambda: audit_subject(subject, one, AuditSettings(shown=0)))
    tokens = next(subject.texts(one, AuditSettings()).batches()).tokens.shape[1]
    console.print(f"The whole battery on one text of {tokens} tokens: {taken:.1f} s.")
    before = peak_memory()
    quick = AuditSettings(tests=("erase_until_flip", "adversarial_attention"), shown=0, examples=4 * count)
    audit_subject(subject, dataset, quick)
    console.print(f"Peak memory: {before:,.0f} MB after {count} texts, {peak_memory():,.0f} MB after {5 * count}.")


if __name__ == "__main__":
    main()
