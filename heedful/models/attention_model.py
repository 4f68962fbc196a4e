"""The attention model: embed, encode, attend, decode."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.data.tokenizer import PAD
from heedful.errors import SettingError, lookup
from heedful.models.attention import ATTENTIONS, masked_softmax
from heedful.models.encoders import Hierarchical, build_encoder
from heedful.models.hugging_face.model_files import is_pretrained
from heedful.models.hugging_face.word_embedding import PretrainedWords, check_vocabulary
from heedful.settings import NetworkSettings
from heedful.types import Batch, Encoded

# Heads: from the attention-weighted context to logits.


class LinearHead(nn.Module):
    """logits = W context + b; with a query q, W [context ; q ; context * q] + b.

    Linear in the context, so in attention. Two classes share one weight row: the logit of class 0 is the constant 0.
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

    Not linear in attention, so its tests are solved by search.
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
    """Logits of every class: a single row is class 1, and class 0 is the constant 0.

    >>> with_both_classes(torch.tensor([[2.0]]))
    tensor([[0., 2.]])
    """
    return logits if logits.shape[-1] > 1 else torch.cat([torch.zeros_like(logits), logits], -1)


HEADS: dict[str, Callable[[int, int, NetworkSettings, bool], nn.Module]] = {"linear": LinearHead, "tanh": TanhHead}


class AttentionModel(nn.Module):
    """Embedding, encoder, attention, head; with a second encoder for the query of NLI and QA.

    A pretrained encoder (`hf:`) replaces the embedding. Perturbations, as in SEAT, apply to its output.
    """

    def __init__(self, settings: NetworkSettings, vocabulary: int | Sequence[str], classes: int, has_query: bool):
        super().__init__()
        self.embedding = _build_embedding(settings, vocabulary)
        self.encoder = build_encoder(settings.embed_size, settings)
        if has_query and isinstance(self.encoder, Hierarchical):
            raise SettingError(
                "encoder 'hierarchical' takes texts without a query; choose a flat encoder for NLI and QA."
            )
        self.query_encoder = build_encoder(settings.embed_size, settings) if has_query else None
        width = self.encoder.output_size
        self.attention = lookup("attention", settings.attention, ATTENTIONS)(width, settings, has_query)
        self.head = lookup("head", settings.head, HEADS)(width, classes, settings, has_query)
        self.temperature = settings.temperature
        self.embedding_dropout = nn.Dropout(settings.embedding_dropout)
        self.context_dropout = nn.Dropout(settings.context_dropout)
        self.logit_dropout = nn.Dropout(settings.logit_dropout)

    def embed(self, batch: Batch) -> Float[Tensor, "batch time embed"]:
        """The vector of each token."""
        return self._vectors(batch.tokens, batch.mask)

    def encode(self, embedded: Float[Tensor, "batch time embed"], batch: Batch) -> Encoded:
        """The hidden state of each item, and of the query where there is one."""
        embedded = self.embedding_dropout(embedded)
        if isinstance(self.encoder, Hierarchical):
            if batch.sentence is None:
                raise SettingError(
                    "encoder 'hierarchical' needs sentence boundaries: load the data with `sentences=True`."
                )
            return Encoded(*self.encoder(embedded, batch.mask, batch.attendable_mask, batch.sentence))
        return Encoded(self.encoder(embedded, batch.mask), batch.attendable_mask, self._encode_query(batch))

    def attend(self, encoded: Encoded, batch: Batch) -> tuple[Float[Tensor, "batch item"], Float[Tensor, "batch item"]]:
        """Scores (0 outside items) and attention, their softmax at the temperature."""
        scores = self.attention(encoded, batch).masked_fill(~encoded.items, 0.0)
        return scores, masked_softmax(scores / self.temperature, encoded.items)

    def decode(self, encoded: Encoded, attention: Float[Tensor, "batch item"]) -> Float[Tensor, "batch classes"]:
        """Logits of the items weighted by any attention."""
        context = (attention[:, None] @ encoded.hidden)[:, 0]
        return self.logit_dropout(self.head(self.context_dropout(context), encoded.query))

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.parameters()).device

    @property
    def pretrained_words(self) -> PretrainedWords | None:
        """The pretrained encoder that replaces the embedding, if there is one."""
        return self.embedding if isinstance(self.embedding, PretrainedWords) else None

    @property
    def hierarchical(self) -> Hierarchical | None:
        """The encoder, if it reads words into sentences, which are then the items."""
        return self.encoder if isinstance(self.encoder, Hierarchical) else None

    @property
    def word_vectors(self) -> Float[Tensor, "token embed"]:
        """The vector of each token of the vocabulary; raises if these depend on the text."""
        if isinstance(self.embedding, PretrainedWords):
            raise SettingError(
                f"encoder {self.embedding.encoder} has no vectors of words by themselves: they depend on the text. "
                "Choose another encoder to look at these."
            )
        return self.embedding.weight

    def _vectors(
        self, tokens: Int[Tensor, "batch time"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time embed"]:
        return self.embedding(tokens, mask) if isinstance(self.embedding, PretrainedWords) else self.embedding(tokens)

    def _encode_query(self, batch: Batch) -> Float[Tensor, "batch hidden"] | None:
        if self.query_encoder is None or isinstance(self.query_encoder, Hierarchical):
            return None
        if batch.query_tokens is None or batch.query_mask is None:
            raise SettingError("this model was built for texts with a query (NLI, QA); the batch has none.")
        embedded = self._vectors(batch.query_tokens, batch.query_mask)
        hidden = self.query_encoder(self.embedding_dropout(embedded), batch.query_mask)
        return self.query_encoder.summary(hidden, batch.query_mask)


class LinearAttentionModel(AttentionModel):
    """An attention model whose logits are the sum over items of attention x item_logits: every test is exact on it."""

    def item_logits(self, encoded: Encoded) -> Float[Tensor, "batch item classes"]:
        """The logits if all weight were on that item."""
        query = None if encoded.query is None else encoded.query[:, None].expand_as(encoded.hidden)
        return self.head(encoded.hidden, query)

    def empty_logits(self, encoded: Encoded) -> Float[Tensor, "batch classes"]:
        """The logits when nothing is left to weigh: the head applied to the zero vector."""
        return self.head(torch.zeros_like(encoded.hidden[:, 0]), encoded.query)


def build_model(
    settings: NetworkSettings, vocabulary: int | Sequence[str], classes: int, *, has_query: bool = False
) -> AttentionModel:
    """A newly initialized model; a `LinearAttentionModel` if the head is linear.

    Args:
        vocabulary: how many tokens there are; for a pretrained encoder the tokens themselves, in order of id.
    """
    kind = LinearAttentionModel if settings.head == "linear" else AttentionModel
    model = kind(settings, vocabulary, classes, has_query)
    if isinstance(model.embedding, nn.Embedding):
        if settings.embedding_start == "uniform":
            with torch.no_grad():
                model.embedding.weight.uniform_(-0.1, 0.1)
                model.embedding.weight[PAD] = 0
        model.embedding.weight.requires_grad_(settings.trains_embedding)
    _initialize_layers(model, settings)
    return model


def _build_embedding(settings: NetworkSettings, vocabulary: int | Sequence[str]) -> nn.Embedding | PretrainedWords:
    if is_pretrained(settings.encoder):
        return PretrainedWords(settings, check_vocabulary(vocabulary, settings.encoder))
    size = vocabulary if isinstance(vocabulary, int) else len(vocabulary)
    return nn.Embedding(size, settings.embed_size, padding_idx=PAD)


def _initialize_layers(model: AttentionModel, settings: NetworkSettings) -> None:
    """Reinitialize attention, head and recurrent layers, where the settings ask for other than torch's defaults."""
    score_layer = getattr(model.attention, "score", None) or getattr(model.attention, "query", None)
    output_layer = getattr(model.head, "linear", None)
    with torch.no_grad():
        if settings.attention_start == "normal" and isinstance(score_layer, nn.Linear):
            score_layer.weight.normal_()
        if settings.head_start == "uniform" and isinstance(output_layer, nn.Linear):
            output_layer.weight.uniform_(-1, 1)
    if settings.encoder_start == "orthogonal":
        recurrent = (layer for layer in model.modules() if isinstance(layer, nn.RNNBase))
        for matrix in (weight for layer in recurrent for weight in layer.parameters() if weight.dim() == 2):
            nn.init.orthogonal_(matrix)
