"""Calls of `heedful.audit` that must end in an error that says what to give. Run as a script: prints what each says.

In a process of its own, since the tests check types before anything else is said.
"""

import json
from collections.abc import Callable

import torch
from torch import nn

import heedful
from heedful import AuditSettings, Batch, Encoded
from support.custom_models import BagOfWords, Linear, changed, texts

ONLY = AuditSettings(tests=("permutation",), options={"permutation": {"count": 2}}, shown=0)
BATCH = texts(6)


def method(base: type = BagOfWords, **methods):
    """A model of that kind with other methods."""
    return type(f"Own{base.__name__}", (base,), methods)()


def attend_as(change: Callable):
    def attend(self, encoded, batch):
        scores, attention = BagOfWords.attend(self, encoded, batch)
        return scores, change(attention)

    return attend


def heads(self, encoded, batch):
    scores, attention = BagOfWords.attend(self, encoded, batch)
    return scores, attention[:, None].expand(-1, 4, -1)


def always_dropped(self, embedded, batch):
    return Encoded(nn.functional.dropout(embedded, 0.5), batch.attendable_mask)


def restless(self, encoded, batch):
    self.calls = getattr(self, "calls", 0) + 1
    scores, attention = BagOfWords.attend(self, encoded, batch)
    return scores, (attention * self.calls).masked_fill(~encoded.items, -torch.inf).softmax(-1)


def restless_later(self, encoded, attention):
    self.calls = getattr(self, "calls", 0) + 1
    return BagOfWords.decode(self, encoded, attention) + (self.calls > 4)


def not_a_number(self, encoded):
    return Linear.item_logits(self, encoded).index_fill(1, torch.tensor([0]), torch.nan)


def bent(self, encoded, attention):
    return BagOfWords.decode(self, encoded, attention).tanh()


class Plain:
    """No module, but it holds one, in training mode."""

    def __init__(self):
        self.inner, self.dropout = BagOfWords(), nn.Dropout(0.5)
        self.embed, self.attend, self.decode = self.inner.embed, self.inner.attend, self.inner.decode

    def encode(self, embedded, batch):
        return Encoded(self.dropout(embedded), batch.attendable_mask)


def audit(model, data=(BATCH,), **options):
    return lambda: heedful.audit(model, data, ONLY, **options)


def batches(**parts):
    return lambda: heedful.audit(BagOfWords(), [changed(BATCH, **parts)], ONLY)


CASES = {
    # the model
    "no model": audit(None),
    "a string": audit("a text", "a text"),
    "a class": audit(BagOfWords),
    "a module without the methods": audit(nn.Linear(2, 2)),
    "half of the linear methods": audit(method(item_logits=Linear.item_logits)),
    "four heads": audit(method(attend=heads)),
    "attention alone": audit(method(attend=lambda self, e, b: BagOfWords.attend(self, e, b)[1])),
    "scores as attention": audit(method(attend=lambda self, e, b: (BagOfWords.attend(self, e, b)[0],) * 2)),
    "negative attention": audit(method(attend=attend_as(lambda a: 2 * a - a.flip(1)))),
    "attention in half precision": audit(method(attend=attend_as(lambda a: (a * 0.9994).half().double()))),
    "half precision kept": audit(method(attend=attend_as(lambda a: a.half()))),
    "embeddings without an axis": audit(method(embed=lambda self, b: self.embedding(b.tokens).sum(-1))),
    "embeddings of other texts": audit(method(embed=lambda self, b: self.embedding(b.tokens)[:2])),
    "a tensor instead of Encoded": audit(method(encode=lambda self, e, b: e)),
    "items as numbers": audit(method(encode=lambda self, e, b: Encoded(e, b.attendable_mask.long()))),
    "items of other texts": audit(method(encode=lambda self, e, b: Encoded(e, b.attendable_mask[:, 1:]))),
    "a single logit": audit(method(decode=lambda self, e, a: BagOfWords.decode(self, e, a)[:, :1])),
    "logits without an axis": audit(method(decode=lambda self, e, a: BagOfWords.decode(self, e, a)[:, 0])),
    "logits of classes as numbers": audit(method(decode=lambda self, e, a: BagOfWords.decode(self, e, a).argmax(-1))),
    "logits that are no numbers": audit(method(decode=lambda self, e, a: BagOfWords.decode(self, e, a) / 0)),
    "float32 inside, failing": audit(method(encode=lambda self, e, b: Encoded(e.float(), b.attendable_mask))),
    "float32 inside, working": audit(method(decode=lambda self, e, a: BagOfWords.decode(self, e, a).float())),
    "dropout that is always on": audit(method(encode=always_dropped)),
    "dropout in what is no module": audit(Plain()),
    "changes itself": audit(method(attend=restless)),
    "changes itself later": audit(method(decode=restless_later)),
    "item logits that are no numbers": audit(method(Linear, item_logits=not_a_number)),
    "claims to be linear": audit(method(Linear, decode=bent)),
    "no gradient": audit(method(encode=lambda self, e, b: Encoded(e.detach(), b.attendable_mask))),
    "an embedding that is too small": audit(BagOfWords(vocabulary=3)),
    "a failure of its own": audit(method(encode=lambda self, e, b: {}["missing"])),
    "cannot be copied": audit(method(__deepcopy__=lambda self, memo: {}["no copy"])),
    # the batches
    "one batch": audit(BagOfWords(), BATCH),
    "a generator": audit(BagOfWords(), (batch for batch in [BATCH])),
    "strings": audit(BagOfWords(), ["a text", "another"]),
    "a path": audit(BagOfWords(), "texts.csv"),
    "tensors": audit(BagOfWords(), [BATCH.tokens]),
    "nothing": audit(BagOfWords(), None),
    "no batch": audit(BagOfWords(), []),
    "a data set": audit(BagOfWords(), heedful.Dataset("own", "", "classification", ("a", "b"), (), (), ())),
    "no texts": audit(BagOfWords(), [Batch(*(part[:0] for part in vars(BATCH).values() if part is not None))]),
    "no tokens": batches(tokens=BATCH.tokens[:, :0], mask=BATCH.mask[:, :0], attendable_mask=BATCH.mask[:, :0]),
    "tokens as floats": batches(tokens=BATCH.tokens.float()),
    "tokens as a list": batches(tokens=BATCH.tokens.tolist()),
    "tokens below 0": batches(tokens=BATCH.tokens - 1),
    "tokens beyond all embeddings": batches(tokens=BATCH.tokens + 1_000_000_000),
    "a mask of numbers": batches(mask=BATCH.mask.long()),
    "a mask of other texts": batches(mask=BATCH.mask[:3]),
    "padding that attention may weigh": batches(attendable_mask=torch.ones_like(BATCH.mask)),
    "a text without words": batches(attendable_mask=BATCH.mask & (torch.arange(6) > 0)[:, None]),
    "labels as floats": batches(labels=BATCH.labels.float()),
    "labels of other texts": batches(labels=BATCH.labels[:2]),
    "labels beyond the classes": batches(labels=BATCH.labels + 1),
    "labels below -1": batches(labels=BATCH.labels - 2),
    "fewer logits than labels": audit(BagOfWords(), [changed(BATCH, labels=torch.arange(6) % 3)]),
    "numbers twice": audit(BagOfWords(), [BATCH, BATCH]),
    "a query of other texts": batches(query_tokens=BATCH.tokens[:2]),
    # the rest
    "labels as a string": audit(BagOfWords(), labels="no"),
    "too few labels": audit(BagOfWords(), labels=("no",)),
    "labels alike": audit(BagOfWords(), labels=("no", "no")),
    "labels as numbers": audit(BagOfWords(), labels=(0, 1)),
    "a name that is a number": audit(BagOfWords(), name=5),
    "gpu": audit(BagOfWords(), device="gpu"),
    "a device that holds nothing": audit(BagOfWords(), device="meta"),
    "settings as a dict": lambda: heedful.audit(BagOfWords(), [BATCH], {"tests": ()}),
    "companions as a list": lambda: heedful.audit(BagOfWords(), [BATCH], ONLY, [BagOfWords()]),
    "a companion of other classes": lambda: heedful.audit(
        BagOfWords(), [BATCH], ONLY, heedful.ComparisonModels(seeds=(BagOfWords(classes=3),))
    ),
    "words as a string": audit(BagOfWords(), words="abc"),
    "words as texts": audit(BagOfWords(), words=["a text"] * 6),
    "words of fewer texts": audit(BagOfWords(), words=[["a"]]),
    "words of fewer items": audit(BagOfWords(), words=[["a"]] * 6),
    "a dict from words to numbers": audit(BagOfWords(), words={"the": 1}),
    "a dict without some words": audit(BagOfWords(), words={1: "the"}),
    "a function that gives no words": audit(BagOfWords(), words=lambda token: token),
    "words as a number": audit(BagOfWords(), words=5),
}


def outcomes() -> dict[str, tuple[str, str]]:
    """The kind of error that each call ends in, and what it says."""
    ends = {}
    for name, call in CASES.items():
        try:
            call()
            ends[name] = ("", "no error")
        except Exception as error:
            kind = "heedful" if isinstance(error, heedful.HeedfulError) else type(error).__name__
            ends[name] = (kind, str(error))
    return ends


if __name__ == "__main__":
    print(json.dumps(outcomes()))
