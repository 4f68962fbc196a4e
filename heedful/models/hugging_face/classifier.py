"""A classifier with its tokenizer, load_inspected: what every view of it, at any site and scope, shares."""

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from heedful.errors import HeedfulError, SettingError
from heedful.models.hugging_face.interventions import (
    Intervention,
    InterventionHook,
    InterventionSites,
    Reading,
    unchanged,
)
from heedful.models.hugging_face.model_files import FastTokenizer, HuggingFaceModel
from heedful.models.hugging_face.network import Inputs, Network, Transport, output_projection, shared_copy
from heedful.models.hugging_face.single_row_decoder import RowRecorder, SingleRowDecoder
from heedful.models.hugging_face.structure import ModelStructure, check_rows, inspect_structure, rounding
from heedful.models.hugging_face.subwords import TextReader

PROBES = ("one two three four five six", "one two three")
"""Texts on which a network is load_inspected: of different lengths, and of several words."""
EXACT, COARSE = 1e-6, 1e-4
"""How far logits may be from the untouched model's, relative to the largest: in float64, and in coarser floats."""
NOT_OF_A_MODEL = ("_name_or_path", "transformers_version", "dtype", "torch_dtype", "_attn_implementation")
"""Parts of a configuration that say where a model comes from and how it is run."""
CHECKED_TEXTS = 4
"""Texts of the first batch in which the row that the classifier reads is looked up again."""


@dataclass
class Classifier:
    """A Hugging Face classifier that was load_inspected.

    Args:
        name: the folder or name that it was loaded from.
        untouched: the classifier as it was loaded, with the attention it would run with by default.
        labels: what its classes are called, in the order of its logits.
        is_checked: whether its logits were compared with the untouched model's on a batch of the user's.
    """

    name: str
    network: Network
    untouched: HuggingFaceModel
    reader: TextReader
    anatomy: ModelStructure
    labels: tuple[str, ...]
    is_checked: bool = field(default=False, init=False)

    @property
    def is_encoder_decoder(self) -> bool:
        """Whether a decoder reads what an encoder made of the text."""
        return bool(getattr(self.network.module.config, "is_encoder_decoder", False))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what decides its answers: weights, configuration and tokenizer."""
        digest = hashlib.sha256(json.dumps(self._configuration(), sort_keys=True).encode())
        for name, tensor in sorted(self.untouched.state_dict().items()):
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
            digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    def _configuration(self) -> dict[str, Any]:
        config = {name: value for name, value in self.untouched.config.to_dict().items() if name not in NOT_OF_A_MODEL}
        tokenizer = json.loads(self.reader.tokenizer.backend_tokenizer.to_str())
        # What the tokenizer was last asked to do is no part of it.
        tokenizer |= {"truncation": None, "padding": None}
        return {"config": config, "tokenizer": tokenizer, "longest": self.reader.longest}

    @cached_property
    def probe(self) -> Inputs:
        """A short text."""
        return _inputs(self.reader, PROBES[0], self.network.device)

    @cached_property
    def one_row(self) -> SingleRowDecoder | None:
        """The one-row decoder; None if several rows are read, or the last block needs more than its row."""
        if self.anatomy.rows.place is None:
            return None
        for dtype in dict.fromkeys((torch.float64, self.network.dtype)):
            try:
                decoder = SingleRowDecoder(self.network, self.anatomy, dtype)
                if _decodes(decoder, self.network, self.anatomy, self.probe):
                    return decoder
            except Exception:  # a model file may want anything of its blocks; then the whole model is run
                continue
        return None

    @cached_property
    def projection(self) -> nn.Module:
        """The output projection of the last layer."""
        return output_projection(self.network, self.probe, self.anatomy.layers - 1)

    def check(self, inputs: Inputs) -> None:
        """Raise unless the logits of the first batch are those of the untouched model."""
        if self.is_checked:
            return
        with torch.no_grad():
            # Without padding, which some models misread by themselves: where it is all that a row may attend to.
            expected = _logits(self.network.around(self.untouched), inputs, padding_is_ignored=False)
            logits = _logits(self.network, inputs, padding_is_ignored=self.anatomy.padding_is_ignored)
        tolerance = EXACT if logits.dtype == torch.float64 else COARSE
        off = float((expected - logits).abs().max())
        if not off <= tolerance * max(1.0, float(expected.abs().max())):
            raise HeedfulError(
                f"{self.name} answers otherwise when its attention is looked at: on the first texts its logits differ "
                f"by {off:.3g} from those of the untouched model. It cannot be audited; please report it, with the "
                f"architecture ({type(self.untouched).__name__}) and the version of transformers."
            )
        check_rows(self.network, self.anatomy, Inputs(inputs.tokens[:CHECKED_TEXTS], inputs.mask[:CHECKED_TEXTS]))
        self.is_checked = True


def _logits(network: Network, inputs: Inputs, *, padding_is_ignored: bool) -> Tensor:
    """What a network answers to the texts, from their tokens, in their order."""
    together = groups(inputs.mask, padding_is_ignored=padding_is_ignored)
    texts = Inputs(inputs.tokens, inputs.mask)
    logits = torch.cat([network.logits(texts.select(rows)) for rows in together])
    return logits[torch.cat(together).argsort()]


def load_inspected(
    name: str,
    module: HuggingFaceModel,
    tokenizer: FastTokenizer,
    *,
    longest: int | None = None,
    transport: Transport | None = None,
) -> Classifier:
    """The classifier, load_inspected on two short texts; the module itself is left as it is.

    Args:
        longest: how many tokens it reads at most; None: what tokenizer and model say.
    """
    labels = label_names(module)
    for parameter, tensor in module.named_parameters():
        if not tensor.isfinite().all():
            raise SettingError(f"model must hold numbers; parameter '{parameter}' of {name} holds NaN or infinity.")
    reads_segments = "token_type_ids" in tokenizer.model_input_names
    network = Network(module, reads_segments=reads_segments, transport=transport)
    reader = TextReader.of(tokenizer, module, vocabulary=network.vocabulary, longest=longest)
    texts = [_inputs(reader, text, network.device) for text in PROBES]
    untouched = shared_copy(module).eval()
    untouched.config.pad_token_id = network.module.config.pad_token_id
    return Classifier(name, network, untouched, reader, inspect_structure(network, *texts), labels)


def label_names(module: HuggingFaceModel) -> tuple[str, ...]:
    """What the classes are called; raises if they are not alternatives of which one is chosen."""
    config: Any = module.config
    what = type(module).__name__
    if config.problem_type == "regression" or config.num_labels < 2:
        raise SettingError(
            f"model must choose between two classes or more; {what} has {config.num_labels} output"
            f"{' (a regression head)' if config.num_labels == 1 else ', and is made for regression'}. Attention is "
            "audited for classifiers only."
        )
    if config.problem_type == "multi_label_classification":
        raise SettingError(
            f"model must choose one of its classes; {what} may give several labels to a text (problem_type is "
            "'multi_label_classification'). Such models cannot be audited."
        )
    return tuple(str(config.id2label[number]) for number in range(config.num_labels))


def groups(mask: Bool[Tensor, "batch time"], *, padding_is_ignored: bool) -> list[Int[Tensor, " some"]]:
    """The texts that may be run together: all, or those of the same length where padding would be read."""
    lengths = mask.sum(1)
    if padding_is_ignored or bool((lengths == lengths[0]).all()):
        return [torch.arange(len(mask), device=mask.device)]
    return [(lengths == length).nonzero()[:, 0] for length in lengths.unique()]


def _inputs(reader: TextReader, text: str, device: torch.device) -> Inputs:
    numbers = reader.read(text).tokens
    tokens = torch.tensor([numbers], device=device)
    return Inputs(tokens, torch.ones_like(tokens, dtype=torch.bool))


@torch.no_grad()
def _decodes(decoder: SingleRowDecoder, network: Network, anatomy: ModelStructure, text: Inputs) -> bool:
    """Whether the decoder answers as the whole network does: as it is, and with every other token left out."""
    word_ids = torch.arange(text.tokens.shape[1], device=text.tokens.device)[None]
    items = torch.ones_like(word_ids, dtype=torch.bool)
    reading = Reading(text.mask, anatomy.rows.of(text.mask), word_ids, items)
    recorder = RowRecorder(anatomy, reading)
    with decoder.hearing_rows(recorder):
        own = network.logits(text, recorder)
    state = recorder.state(text.tokens)
    other = Intervention((word_ids % 2).double())
    places = InterventionSites(frozenset({anatomy.layers - 1}), reading.rows)
    imposed = network.logits(text, InterventionHook(other, places, word_ids, network.dtype))
    pairs = ((own, unchanged(items)), (imposed, other))
    return all(
        bool(((decoder.logits(state, change) - expected).abs() <= rounding(expected)).all())
        for expected, change in pairs
    )
