"""All heads of a transformer at a glance: is there any that one may show?"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.measures import (
    Estimate,
    difference_interval,
    kendall_tau,
    mean_interval,
    ties_within,
    total_variation_distance,
)
from heedful.models.hugging_face.attention_hooks import AttentionHook, CallWeights
from heedful.models.hugging_face.attention_view import Decoder, EncodedPart, EncodedTexts, TransformerModel
from heedful.models.hugging_face.interventions import Intervention, InterventionSites, Reading
from heedful.types import Trace

PerHead = Float[Tensor, "layer head text"]
"""One number for each head and text; NaN if it is undefined, or where a layer has fewer heads."""

DESCRIPTIONS = {
    "agreement": "Kendall's tau-b of the head's weights with leave-one-out",
    "deletion_moves": "how far the prediction moves when the head's top word is deleted from the text",
    "deletion_flips": "whether that changes the decision",
    "erasing_moves": "how far it moves when that word loses its weight in this head alone",
    "erasing_flips": "whether that changes the decision",
    "uniform_moves": "how far it moves when this head alone weighs all words alike",
    "uniform_flips": "whether that changes the decision",
}
"""What is measured of each head, in words; moves are total variation distances."""
DOES = ("erasing_moves", "erasing_flips", "uniform_moves", "uniform_flips")
"""Those for which weights are changed head by head."""


@dataclass(frozen=True)
class HeadMeasures:
    """What each head shows of each text, and what it does; see `DESCRIPTIONS`.

    Weights are those of the row that the classifier reads, of words alone.

    Args:
        mean_agreement: mean agreement of the attention that the model's site shows, for comparison.
    """

    agreement: PerHead
    deletion_moves: PerHead
    deletion_flips: PerHead
    erasing_moves: PerHead
    erasing_flips: PerHead
    uniform_moves: PerHead
    uniform_flips: PerHead
    mean_agreement: Float[Tensor, " text"]

    @classmethod
    def joined(cls, parts: Sequence["HeadMeasures"]) -> "HeadMeasures":
        """Those of all parts' texts."""
        names = [part.name for part in fields(cls)]
        return cls(**{name: torch.cat([getattr(part, name) for part in parts], -1) for name in names})

    def texts(self, which: slice) -> "HeadMeasures":
        """Those of some texts."""
        return HeadMeasures(**{part.name: getattr(self, part.name)[..., which] for part in fields(self)})

    def means(self, measure: str) -> Float[Tensor, "layer head"]:
        """The mean over texts of a measure, of those for which it is defined."""
        return getattr(self, measure).nanmean(-1)


@dataclass(frozen=True)
class BestHead:
    """The head that agrees best with leave-one-out on some texts, and how it does on others.

    Args:
        agreement: its agreement on the other texts.
        mean_agreement: that of the model's own site on these.
        gain: the former minus the latter, text by text.
    """

    layer: int
    head: int
    agreement: Estimate
    mean_agreement: Estimate
    gain: Estimate

    @property
    def site(self) -> str:
        """The site to audit or show it at."""
        return f"head:{self.layer}.{self.head}"


def best_head(dev: HeadMeasures, test: HeadMeasures) -> BestHead:
    """The head that agrees best with leave-one-out on dev, reported on test next to the mean over heads."""
    means = dev.means("agreement").nan_to_num(-torch.inf)
    layer, head = divmod(int(means.argmax()), means.shape[1])
    own = test.agreement[layer, head]
    return BestHead(
        layer=layer,
        head=head,
        agreement=mean_interval(own),
        mean_agreement=mean_interval(test.mean_agreement),
        gain=difference_interval(own, test.mean_agreement),
    )


@torch.no_grad()
def head_measures(
    model: TransformerModel,
    seen: Trace,
    deleted: Float[Tensor, "batch item classes"],
    *,
    what_it_does: bool = True,
) -> HeadMeasures:
    """What each head shows and does, on the texts of a batch.

    What a head does costs two variants of each text: through the whole model, or through the last block alone for the
    last layer's heads where there is a one-row decoder.

    Args:
        seen: what the model made of the texts.
        deleted: logits without each word in turn, as `leave_one_out` gives them.
        what_it_does: whether weights are changed head by head; where not, what that would do is NaN.
    """
    encoded, layers = seen.encoded, model.classifier.anatomy.layers
    assert isinstance(encoded, EncodedTexts)
    batch = len(encoded.items)
    heads = max(call.heads for call in model.classifier.anatomy.calls)
    blank = {name: torch.full((layers, heads, batch), torch.nan, dtype=torch.float64) for name in DESCRIPTIONS}
    whole, decided = seen.logits.softmax(-1), seen.logits.argmax(-1)
    moved, flips = _moved(deleted, whole), _flips(deleted, decided)
    for part in encoded.parts:
        own, texts = (whole[part.texts], decided[part.texts]), part.texts.cpu()
        for layer, words in _weights(model, part).items():
            top, items = words.argmax(-1), part.reading.items
            loss = [of[part.texts].gather(1, top) for of in (moved, flips)]
            values = {
                "agreement": _agreement(words, moved[part.texts], items),
                "deletion_moves": loss[0],
                "deletion_flips": loss[1],
                **(_changes(model, part, layer, words, own) if what_it_does else {}),
            }
            for name, value in values.items():
                blank[name][layer, : words.shape[1], texts] = value.T.cpu()
    mean = _tau(encoded.attention, moved, encoded.items).cpu()
    return HeadMeasures(**blank, mean_agreement=mean)


class _RowsOfAllLayers(AttentionHook):
    """A listener that keeps what the rows that are read give to each word, in every head of every layer."""

    def __init__(self, reading: Reading, layers: Sequence[int]):
        self.reading, self.layers = reading, layers
        self.words: dict[int, Float[Tensor, "some head item"]] = {}

    def weights(self, call: int, weights: CallWeights) -> CallWeights:
        if call in self.layers:
            self.words[call] = self.reading.by_word(self.reading.of_rows(weights))
        return weights


def _weights(model: TransformerModel, part: EncodedPart) -> dict[int, Float[Tensor, "some head item"]]:
    """The weights of words, of each layer that attends to the text's tokens."""
    calls = model.classifier.anatomy.calls
    listener = _RowsOfAllLayers(part.reading, [layer for layer, call in enumerate(calls) if call.is_over_tokens])
    model.classifier.network.logits(part.inputs, listener)
    return listener.words


def _agreement(
    words: Float[Tensor, "some head item"], moved: Float[Tensor, "some item"], items: Bool[Tensor, "some item"]
) -> Float[Tensor, "some head"]:
    heads = words.shape[1]
    each = (part.repeat_interleave(heads, 0) for part in (moved, items))
    return _tau(words.flatten(0, 1), *each).unflatten(0, (-1, heads))


def _tau(
    weights: Float[Tensor, "row item"], moved: Float[Tensor, "row item"], items: Bool[Tensor, "row item"]
) -> Float[Tensor, " row"]:
    """Kendall's tau-b of weights and importances; what differs by rounding alone is tied."""
    weights, moved, items = weights.cpu(), moved.cpu(), items.cpu()
    return kendall_tau(ties_within(weights, items), ties_within(moved.nan_to_num(0.0), items), items)[0]


def _changes(
    model: TransformerModel,
    part: EncodedPart,
    layer: int,
    words: Float[Tensor, "some head item"],
    own: tuple[Float[Tensor, "some classes"], Int[Tensor, " some"]],
) -> dict[str, Float[Tensor, "some head"]]:
    """What erasing each head's top word from it, and making it uniform, does.

    Args:
        own: the model's probabilities, and its decisions.
    """
    batch, heads, count = words.shape
    items = part.reading.items
    top = torch.nn.functional.one_hot(words.argmax(-1), count).bool()
    even = (items / items.sum(1, keepdim=True)).double()[:, None].expand_as(words).flatten(0, 1)
    which = torch.eye(heads, dtype=torch.bool, device=words.device).repeat(batch, 1)
    is_last = layer == model.classifier.anatomy.layers - 1 and part.state is not None
    places = InterventionSites(frozenset({layer}), part.reading.rows)
    decoder = Decoder(model.classifier.network, model.one_row if is_last else None, part, places)
    changes = {
        "erasing": Intervention((~top).double().flatten(0, 1), heads=which),
        "uniform": Intervention(torch.ones_like(even), imposed=even, heads=which),
    }
    # Nothing is left of a head whose only weight is on one word.
    undefined = {"erasing": words.masked_fill(top, 0.0).sum(-1) == 0, "uniform": torch.zeros_like(top[..., 0])}
    values: dict[str, Float[Tensor, "some head"]] = {}
    for name, change in changes.items():
        logits = decoder.logits(change).unflatten(0, (batch, heads))
        values[f"{name}_moves"] = _moved(logits, own[0]).masked_fill(undefined[name], torch.nan)
        values[f"{name}_flips"] = _flips(logits, own[1]).masked_fill(undefined[name], torch.nan)
    return values


def _moved(
    logits: Float[Tensor, "some variant classes"], whole: Float[Tensor, "some classes"]
) -> Float[Tensor, "some variant"]:
    predictions = logits.softmax(-1)
    return total_variation_distance(predictions, whole[:, None].expand_as(predictions))


def _flips(
    logits: Float[Tensor, "some variant classes"], decided: Int[Tensor, " some"]
) -> Float[Tensor, "some variant"]:
    """1 if the prediction differs, 0 if not; NaN if there are no logits."""
    flips = (logits.argmax(-1) != decided[:, None]).double()
    return flips.masked_fill(logits.isnan().any(-1), torch.nan)
