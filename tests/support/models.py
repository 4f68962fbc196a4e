"""Tiny models with random weights, and a batch of random texts: each axis has another size."""

from dataclasses import replace
from itertools import product

import torch

from heedful.models.attention import ATTENTIONS
from heedful.models.attention_model import build_model
from heedful.models.encoders import ENCODERS
from heedful.settings import NetworkSettings
from heedful.settings.validation import update_settings
from heedful.types import Batch
from support.pairwise import pairwise

BATCH, TIME, QUERY, VOCABULARY, HIDDEN = 3, 7, 5, 11, 2


LENGTHS = torch.tensor([7, 4, 1])


NETWORK = NetworkSettings(
    embed_size=5, hidden_size=HIDDEN, kernels=(1, 3), words="bigru", sentences="rnn", embedding_start="normal"
)


def make_batch(has_query: bool = False) -> Batch:
    draw = torch.Generator().manual_seed(0)
    mask = torch.arange(TIME) < LENGTHS[:, None]
    tokens = torch.randint(1, VOCABULARY, (BATCH, TIME), generator=draw) * mask
    batch = Batch(torch.arange(BATCH), tokens, mask, mask, torch.tensor([0, 1, 1]))
    sentence = (torch.arange(TIME) // 3).expand(BATCH, TIME) * mask
    batch = replace(batch, sentence=sentence, marks=make_marks())
    if has_query:
        query_mask = torch.arange(QUERY) < torch.tensor([5, 2, 3])[:, None]
        query = torch.randint(1, VOCABULARY, (BATCH, QUERY), generator=draw) * query_mask
        batch = replace(batch, query_tokens=query, query_mask=query_mask)
    return batch


def make_marks() -> torch.Tensor:
    """Two annotators marked the first and the last text, one the second."""
    marks = torch.rand(BATCH, 2, TIME, generator=torch.Generator().manual_seed(4)) < 0.4
    marks[:, 0, 0] = True
    marks = (marks & (torch.arange(TIME) < LENGTHS[:, None, None])).float()
    marks[1, 1] = torch.nan
    return marks


def give_attention(batch: Batch, hierarchical: bool) -> Batch:
    given = torch.rand(BATCH, 3 if hierarchical else TIME, generator=torch.Generator().manual_seed(2)).double()
    items = torch.arange(given.shape[1]) < (((LENGTHS - 1) // 3 + 1) if hierarchical else LENGTHS)[:, None]
    given = given * items
    return replace(batch, imposed_attention=given / given.sum(1, keepdim=True))


def make(encoder="bilstm", attention="additive", classes=2, has_query=False, head="linear", **changes):
    update = {"encoder": encoder, "attention": attention, "head": head, **changes}
    torch.manual_seed(0)
    return build_model(update_settings(NETWORK, update), VOCABULARY, classes, has_query=has_query).double().eval()


def cases(*heads):
    """Of encoder, attention, classes, query and, if given, head: each two values together."""
    rows = product(ENCODERS, ATTENTIONS, (2, 5), (False, True), *([heads] if heads else []))
    return pairwise(row for row in rows if row[0] != "hierarchical" or not row[3])


def cut(batch: Batch, rows: list[int], time: int) -> Batch:
    lookup = {name: getattr(batch, name)[rows] for name in ("index", "labels")}
    lookup |= {name: getattr(batch, name)[rows, :time] for name in ("tokens", "mask", "attendable_mask", "sentence")}
    if batch.query_tokens is not None and batch.query_mask is not None:
        lookup |= {"query_tokens": batch.query_tokens[rows], "query_mask": batch.query_mask[rows]}
    if batch.marks is not None:
        lookup["marks"] = batch.marks[rows, :, :time]
    return Batch(**lookup)
