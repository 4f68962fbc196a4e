"""The attention model: embed, encode, attend, decode; and the trace of a batch through any model with these verbs."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.attention import ATTENTIONS, masked_softmax
from heedful.encoders import Hierarchical, build_encoder
from heedful.errors import SettingError, pick
from heedful.settings import NetworkSettings
from heedful.text import PAD
from heedful.types import Batch, Encoded, Model, Trace


def trace(model: Model, batch: Batch) -> Trace:
    """Everything the model computes on its way from the batch to its logits."""
    embedded = model.embed(batch)
    encoded = model.encode(embedded, batch)
    scores, attention = model.attend(encoded, batch)
    return Trace(batch, embedded, encoded, scores, attention, model.decode(encoded, attention))


class LinearHead(nn.Module):
    """logits = W context + b; with a query q, W [context ; q ; context * q] + b.

    Linear in the context, so in attention. Two classes own one weight row: the logit of class 0 is the constant 0.
    """

    def __init__(self, width: int, classes: int, settings: NetworkSettings, has_query: bool):
        super().__init__()
        rows = 1 if classes == 2 else classes
        self.linear = nn.Linear(width * (3 if has_query else 1), rows, bias=settings.head_bias)

    def forward(
        self, context: Float[Tensor, "*items hidden"], query: Float[Tensor, "*items hidden"] | None
    ) -> Float[Tensor, "*items classes"]:
        """The logits of each context."""
        features = context if query is None else torch.cat([context, query, context * query], -1)
        return with_both_classes(self.linear(features))


class TanhHead(nn.Module):
    """logits = W tanh(A context + B query) + b: the head of Jain and Wallace's NLI and QA models.

    Not linear in attention, so its tests run by search.
    """

    def __init__(self, width: int, classes: int, settings: NetworkSettings, has_query: bool):
        super().__init__()
        size = max(1, width // 2)
        self.context = nn.Linear(width, size)
        self.query = nn.Linear(width, size, bias=False) if has_query else None
        self.linear = nn.Linear(size, 1 if classes == 2 else classes, bias=settings.head_bias)

    def forward(
        self, context: Float[Tensor, "*items hidden"], query: Float[Tensor, "*items hidden"] | None
    ) -> Float[Tensor, "*items classes"]:
        """The logits of each context."""
        projected = self.context(context)
        if self.query is not None and query is not None:
            projected = projected + self.query(query)
        return with_both_classes(self.linear(projected.tanh()))


def with_both_classes(logits: Float[Tensor, "*items rows"]) -> Float[Tensor, "*items classes"]:
    """Logits of every class: a single row is class 1, and class 0 the constant 0.

    >>> with_both_classes(torch.tensor([[2.0]]))
    tensor([[0., 2.]])
    """
    return logits if logits.shape[-1] > 1 else torch.cat([torch.zeros_like(logits), logits], -1)


HEADS: dict[str, Callable[[int, int, NetworkSettings, bool], nn.Module]] = {"linear": LinearHead, "tanh": TanhHead}


class AttentionModel(nn.Module):
    """Embedding, encoder, attention, head; with a second encoder for the query of NLI and QA."""

    def __init__(self, settings: NetworkSettings, vocabulary: int, classes: int, has_query: bool):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, settings.embed_size, padding_idx=PAD)
        self.encoder = build_encoder(settings.embed_size, settings)
        if has_query and isinstance(self.encoder, Hierarchical):
            raise SettingError(
                "encoder 'hierarchical' takes texts without a query; choose a flat encoder for NLI and QA."
            )
        self.query_encoder = build_encoder(settings.embed_size, settings) if has_query else None
        width = self.encoder.output_size
        self.attention = pick("attention", settings.attention, ATTENTIONS)(width, settings, has_query)
        self.head = pick("head", settings.head, HEADS)(width, classes, settings, has_query)
        self.temperature = settings.temperature
        self.embedding_dropout = nn.Dropout(settings.embedding_dropout)
        self.context_dropout = nn.Dropout(settings.context_dropout)
        self.logit_dropout = nn.Dropout(settings.logit_dropout)

    def embed(self, batch: Batch) -> Float[Tensor, "batch time embed"]:
        """The vector of each token."""
        return self.embedding(batch.tokens)

    def encode(self, embedded: Float[Tensor, "batch time embed"], batch: Batch) -> Encoded:
        """The hidden state of each item, and of the query where there is one."""
        embedded = self.embedding_dropout(embedded)
        if isinstance(self.encoder, Hierarchical):
            if batch.sentence is None:
                raise SettingError(
                    "encoder 'hierarchical' needs sentence boundaries: load the data with `sentences=True`."
                )
            return Encoded(*self.encoder(embedded, batch.mask, batch.attendable, batch.sentence))
        return Encoded(self.encoder(embedded, batch.mask), batch.attendable, self._encode_query(batch))

    def attend(self, encoded: Encoded, batch: Batch) -> tuple[Float[Tensor, "batch item"], Float[Tensor, "batch item"]]:
        """Scores (0 where there is no item) and attention, their softmax at the temperature."""
        scores = self.attention(encoded, batch).masked_fill(~encoded.items, 0.0)
        return scores, masked_softmax(scores / self.temperature, encoded.items)

    def decode(self, encoded: Encoded, attention: Float[Tensor, "batch item"]) -> Float[Tensor, "batch classes"]:
        """Logits of the items weighed by any attention."""
        context = (attention[:, None] @ encoded.hidden)[:, 0]
        return self.logit_dropout(self.head(self.context_dropout(context), encoded.query))

    def _encode_query(self, batch: Batch) -> Float[Tensor, "batch hidden"] | None:
        if self.query_encoder is None or isinstance(self.query_encoder, Hierarchical):
            return None
        if batch.query_tokens is None or batch.query_mask is None:
            raise SettingError("this model was made for texts with a query (NLI, QA); the batch has none.")
        hidden = self.query_encoder(self.embedding_dropout(self.embedding(batch.query_tokens)), batch.query_mask)
        return self.query_encoder.summary(hidden, batch.query_mask)


class LinearAttentionModel(AttentionModel):
    """An attention model whose logits are the sum over items of attention x item_logits: every test is exact on it."""

    def item_logits(self, encoded: Encoded) -> Float[Tensor, "batch item classes"]:
        """What the model would say if all weight were on that item."""
        query = None if encoded.query is None else encoded.query[:, None].expand_as(encoded.hidden)
        return self.head(encoded.hidden, query)

    def empty_logits(self, encoded: Encoded) -> Float[Tensor, "batch classes"]:
        """What the model says when nothing is left: the head applied to the zero vector."""
        return self.head(torch.zeros_like(encoded.hidden[:, 0]), encoded.query)


def build_model(settings: NetworkSettings, vocabulary: int, classes: int, *, has_query: bool = False) -> AttentionModel:
    """A fresh model; linear in its attention where the head is."""
    kind = LinearAttentionModel if settings.head == "linear" else AttentionModel
    model = kind(settings, vocabulary, classes, has_query)
    if settings.embedding_start == "uniform":
        with torch.no_grad():
            model.embedding.weight.uniform_(-0.1, 0.1)
            model.embedding.weight[PAD] = 0
    _start_layers(model, settings)
    model.embedding.weight.requires_grad_(settings.trains_embedding)
    return model


def _start_layers(model: AttentionModel, settings: NetworkSettings) -> None:
    """Draw the weights of attention and head anew, where the settings ask for other starts than torch's."""
    looks_for = getattr(model.attention, "score", None) or getattr(model.attention, "query", None)
    says = getattr(model.head, "linear", None)
    with torch.no_grad():
        if settings.attention_start == "normal" and isinstance(looks_for, nn.Linear):
            looks_for.weight.normal_()
        if settings.head_start == "uniform" and isinstance(says, nn.Linear):
            says.weight.uniform_(-1, 1)
