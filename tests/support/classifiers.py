"""Tiny Hugging Face classifiers in folders, and texts that their tokenizer knows."""

import torch

from heedful.types import Dataset, Example
from support.tiny_transformers import tiny_module, tiny_tokenizer

LABELS = ("bad", "good")
NAMED = {"num_labels": 2, "id2label": dict(enumerate(LABELS)), "label2id": {"bad": 0, "good": 1}}
WORDS = ("the", "film", "is", "unlikely", "plot", "and", "not", "a", "goodish", "badish")


def save_classifier(folder, seed=0, **changes):
    """A BERT of two classes, as `save_pretrained` writes it."""
    module = tiny_module("bert", torch.float32, **{**NAMED, **changes})
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed))
            parameter.add_(0.05 * seed * noise)
    module.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return str(folder)


def written(count, start=0):
    """So many texts of three to eight words, each with a label that one of its words gives."""
    for number in range(start, start + count):
        label = number % 2
        words = [WORDS[(number * 7 + 3 * place) % len(WORDS)] for place in range(2 + number % 6)]
        yield " ".join([*words, LABELS[label]]), LABELS[label]


def make_examples(count, start=0, labels=LABELS):
    """The texts as examples."""
    return tuple(
        Example(tuple(text.split()), labels.index(label), text=text, row=number + 1)
        for number, (text, label) in enumerate(written(count, start))
    )


def make_dataset(labels=LABELS, train=40, dev=12, test=16):
    """A data set of such texts."""
    parts = {"train": make_examples(train, 0, labels), "dev": make_examples(dev, 100, labels)}
    return Dataset("toy", "f" * 64, "classification", labels, **parts, test=make_examples(test, 200, labels))


def two_classes(**options):
    """A view of a tiny BERT of two classes, in memory."""
    from heedful.models.hugging_face.attention_view import TransformerModel
    from heedful.models.hugging_face.classifier import load_inspected

    return TransformerModel(
        load_inspected("tiny", tiny_module("bert", torch.float32, **NAMED), tiny_tokenizer(), **options)
    )
