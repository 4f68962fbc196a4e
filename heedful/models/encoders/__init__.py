"""Encoders, from embeddings to hidden states: each name here is a choice of `--encoder`."""

from collections.abc import Callable

from heedful.errors import SettingError, lookup
from heedful.models.encoders.cnn import Cnn
from heedful.models.encoders.encoder import Encoder, affine, average, identity
from heedful.models.encoders.hierarchical import Hierarchical
from heedful.models.encoders.recurrent import bigru, bilstm, gru, lstm, orthogonal_bilstm, orthogonal_lstm, rnn
from heedful.models.encoders.small_transformer import Transformer
from heedful.models.hugging_face.model_files import is_pretrained
from heedful.models.hugging_face.word_embedding import PretrainedStates
from heedful.settings import NetworkSettings

__all__ = ["ENCODERS", "FLAT", "Encoder", "Hierarchical", "build_encoder", "pick_encoder"]

FLAT: dict[str, Callable[[int, NetworkSettings], Encoder]] = {
    "identity": identity,
    "affine": affine,
    "average": average,
    "rnn": rnn,
    "gru": gru,
    "bigru": bigru,
    "lstm": lstm,
    "bilstm": bilstm,
    "orthogonal_lstm": orthogonal_lstm,
    "orthogonal_bilstm": orthogonal_bilstm,
    "cnn": Cnn,
    "transformer": Transformer,
}


def hierarchical(embed_size: int, settings: NetworkSettings) -> Hierarchical:
    """HAN: a flat encoder over the words of each sentence, and another over the sentences."""
    if "hierarchical" in (settings.words, settings.sentences):
        raise SettingError(
            "the encoders inside a hierarchical one must be flat; `words` or `sentences` was 'hierarchical'."
        )
    words = lookup("words encoder", settings.words, FLAT)(embed_size, settings)
    sentences = lookup("sentences encoder", settings.sentences, FLAT)(words.output_size, settings)
    return Hierarchical(words, sentences, settings)


ENCODERS: dict[str, Callable[[int, NetworkSettings], Encoder | Hierarchical]] = {**FLAT, "hierarchical": hierarchical}


def build_encoder(embed_size: int, settings: NetworkSettings) -> Encoder | Hierarchical:
    """The encoder of that name; the two inside a hierarchical one are checked where they are not used, too."""
    for part in ("words", "sentences"):
        lookup(f"{part} encoder", getattr(settings, part), ENCODERS)
    return pick_encoder(settings.encoder)(embed_size, settings)


def pick_encoder(name: str) -> Callable[[int, NetworkSettings], Encoder | Hierarchical]:
    """What makes the encoder of that name: one of ENCODERS, or `hf:` and a Hugging Face model."""
    return PretrainedStates if is_pretrained(name) else lookup("encoder", name, ENCODERS)
