"""States of a pretrained transformer as they are: what its words are read as is the model's embedding."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.data.tokenizer import END, PAD, START, UNKNOWN
from heedful.errors import SettingError
from heedful.models.encoders.encoder import MeanOfStates
from heedful.models.hugging_face.frozen_states import Words, WordStates, frozen_states
from heedful.models.hugging_face.pretrained_modules import piece_reader, pretrained_module, untrained_module
from heedful.models.hugging_face.subwords import PieceReader
from heedful.settings import NetworkSettings

# Word vectors from a pretrained transformer, instead of an embedding: what the encoder `hf:` reads.

SYMBOLS = (PAD, START, END)
"""Tokens that are no words: the transformer has symbols of its own around a text."""


class PretrainedWords(nn.Module):
    """The vector of each word of a text: the state of the transformer's last layer, averaged over the word's pieces.

    Hu et al. (2023) take BERT so: what is perturbed, attended to and classified are its last states. A vector depends
    on the whole text. The weights of a frozen transformer are not the model's, and it reads each text only once.

    Args:
        settings: `encoder` names it; `embed_size` is how wide its states are.
        words: the vocabulary, in order of id.
    """

    def __init__(self, settings: NetworkSettings, words: Sequence[str]):
        super().__init__()
        self.encoder, self.embedding_dim = settings.encoder, settings.embed_size
        self.vocabulary = tuple(words)
        self.learning_rate = settings.finetune_learning_rate
        self.transformer = untrained_module(settings.encoder) if settings.finetune else None
        self._pieces: PieceReader | None = None
        self._frozen = None if settings.finetune else frozen_states(settings.encoder, settings.encoder_fingerprint)
        self.register_buffer("_like", torch.zeros(()), persistent=False)  # where the model is, and its precision
        self._like: Tensor

    def forward(
        self, tokens: Int[Tensor, "batch time"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time embed"]:
        """The vector of each token; 0 at padding and at our start and end symbols."""
        is_word = mask & ~torch.isin(tokens, tokens.new_tensor(SYMBOLS))
        texts = [self.text(row[real].tolist()) for row, real in zip(tokens, is_word, strict=True)]
        vectors = torch.cat(self._states(texts)).to(self._like)
        place = tuple(is_word.nonzero().T)
        return vectors.new_zeros(*tokens.shape, self.embedding_dim).index_put(place, vectors)

    def text(self, tokens: Sequence[int]) -> Words:
        """The words of these tokens, as the transformer is to read them; symbols of ours are left out."""
        unknown = self.pieces.unknown
        return tuple(
            unknown if token == UNKNOWN else self.vocabulary[token] for token in tokens if token not in SYMBOLS
        )

    @property
    def pieces(self) -> PieceReader:
        """What cuts the words into pieces."""
        if self._frozen is not None:
            return self._frozen.reader.reader
        if self._pieces is None:
            assert self.transformer is not None
            self._pieces = piece_reader(self.encoder, self.transformer)
        return self._pieces

    def load_pretrained(self) -> None:
        """Start a transformer that is trained from the weights of its files."""
        if self.transformer is not None:
            self.transformer.load_state_dict(pretrained_module(self.encoder).state_dict())

    def prepare(self, texts: Sequence[Sequence[int]], report: Callable[[int, int], None] | None = None) -> int:
        """Read the texts in advance, where the transformer is frozen; how many are too long to be read at once."""
        words = [self.text(text) for text in texts]
        if self._frozen is not None:
            self._frozen.prepare(words, self._like.device, report)
        return sum(len(self.pieces.read(each)) > 1 for each in words)

    def _states(self, texts: Sequence[Words]) -> list[Float[Tensor, "word width"]]:
        if self._frozen is not None:
            return self._frozen.of(texts, self._like.device)
        assert self.transformer is not None
        return WordStates(self.transformer, self.pieces).of(texts)


def check_vocabulary(vocabulary: int | Sequence[str], encoder: str) -> Sequence[str]:
    """The words themselves, which a transformer reads; raises if only their count is given."""
    if isinstance(vocabulary, int):
        raise SettingError(
            f"vocabulary must be the words themselves for the encoder {encoder}, which reads them; it was {vocabulary}."
        )
    return vocabulary


class PretrainedStates(MeanOfStates):
    """The last states of a Hugging Face model, a folder or a name: frozen, or fine-tuned with the rest.

    h_t = e_t, as the model's word vectors are these states. They depend on the whole text already, so a word cannot be
    left out of them: whatever deletes a word has the transformer read the shortened text.
    """

    token_wise = False

    def __init__(self, embed_size: int, settings: NetworkSettings):
        super().__init__()
        self.output_size = embed_size

    def forward(
        self, embedded: Float[Tensor, "batch time embed"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time hidden"]:
        """The state of each token."""
        return embedded
