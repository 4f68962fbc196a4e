"""Predictions for sets of items of some texts: each set is read once, however often it is needed."""

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from heedful.attribution.deletion import Parts
from heedful.attribution.items import item_of_token
from heedful.attribution.subsets import logits_of_subsets
from heedful.attribution.variants import VariantReader
from heedful.types import Batch, Model, Trace

Sets = Bool[ndarray, "set item"]
"""Sets of a text's items, numbered without gaps: True on those that are left."""
Logits = Float[ndarray, " classes"]


class SubsetReader:
    """Reads what is left of texts after the other items are deleted, and keeps it.

    Args:
        reader: reads variants of these texts, if there is one.
        single: keeps texts of a single word by their tokens, also for other batches; None: the model may not be asked
            for one text's word in place of another's.
    """

    def __init__(
        self,
        model: Model,
        trace: Trace,
        reader: VariantReader | None = None,
        single: dict[bytes, Logits] | None = None,
    ):
        self.model, self.trace, self.reader, self.single = model, trace, reader, single
        items = trace.encoded.items.cpu().numpy()
        self._places = [row.nonzero()[0] for row in items]
        self._known: list[dict[bytes, Logits]] = [{} for _ in items]
        self._tokens = _TokensLeft(trace) if single is not None else None

    def remember_leave_one_out(self, logits: Float[Tensor, "batch item classes"]) -> None:
        """Keep what leave-one-out has read: each text without each of its items."""
        for known, places, own in zip(self._known, self._places, logits.cpu().numpy(), strict=True):
            without = np.packbits(~np.eye(len(places), dtype=bool), axis=1)
            known.update({key.tobytes(): own[place] for key, place in zip(without, places, strict=True)})

    def probabilities(self, requests: Mapping[int, Sets]) -> dict[int, Float[ndarray, "set classes"]]:
        """Class probabilities of sets of each text, given by its row; NaN if nothing is left to weigh."""
        keys = {row: [key.tobytes() for key in np.packbits(sets, axis=1)] for row, sets in requests.items()}
        self._read({row: self._new(row, sets, keys[row]) for row, sets in requests.items()})
        return {row: softmax(np.stack([self._known[row][key] for key in keys[row]])) for row in requests}

    def logits(self, keep: Parts) -> Float[Tensor, "batch part classes"]:
        """The same as logits, of parts that are given by the places of the batch."""
        sets = keep.cpu().numpy()
        own = {row: sets[row][:, places] for row, places in enumerate(self._places)}
        keys = {row: [key.tobytes() for key in np.packbits(parts, axis=1)] for row, parts in own.items()}
        self._read({row: self._new(row, parts, keys[row]) for row, parts in own.items()})
        return torch.from_numpy(np.stack([[self._known[row][key] for key in keys[row]] for row in own]))

    def _new(self, row: int, sets: Sets, keys: list[bytes]) -> dict[bytes, Bool[ndarray, " item"]]:
        """The sets of a text that have not been read yet."""
        known = self._known[row]
        new = {key: left for key, left in zip(keys, sets, strict=True) if key not in known}
        if self.single is None or self._tokens is None:
            return new
        for key, left in list(new.items()):
            if left.sum() == 1 and (logits := self.single.get(self._tokens.of(row, int(left.argmax())))) is not None:
                known[key] = logits
                del new[key]
        return new

    def _read(self, new: Mapping[int, Mapping[bytes, Bool[ndarray, " item"]]]) -> None:
        most = max(map(len, new.values()), default=0)
        if not most:
            return
        keep = np.zeros((len(self._places), most, self.trace.encoded.items.shape[1]), dtype=bool)
        for row, sets in new.items():
            if sets:
                keep[row, : len(sets), self._places[row]] = np.stack(list(sets.values())).T
        device = self.trace.attention.device
        read = logits_of_subsets(self.model, self.trace, torch.from_numpy(keep).to(device), reader=self.reader)
        logits = read.double().cpu().numpy()
        for row, sets in new.items():
            for number, (key, left) in enumerate(sets.items()):
                self._known[row][key] = logits[row, number]
                if self.single is not None and self._tokens is not None and left.sum() == 1:
                    self.single[self._tokens.of(row, int(left.argmax()))] = logits[row, number]


class _TokensLeft:
    """The tokens that are left of a text whose single word is left."""

    def __init__(self, trace: Trace):
        batch: Batch = trace.batch
        self.tokens, self.word_ids = batch.tokens.cpu().numpy(), item_of_token(trace).cpu().numpy()
        self.mask = batch.mask.cpu().numpy()
        self.places = [row.nonzero()[0] for row in trace.encoded.items.cpu().numpy()]

    def of(self, row: int, item: int) -> bytes:
        word_ids = self.word_ids[row]
        return self.tokens[row][((word_ids == self.places[row][item]) | (word_ids < 0)) & self.mask[row]].tobytes()


def softmax(logits: Float[ndarray, "set classes"]) -> Float[ndarray, "set classes"]:
    """Class probabilities."""
    exponents = np.exp(logits - logits.max(1, keepdims=True))
    return exponents / exponents.sum(1, keepdims=True)
