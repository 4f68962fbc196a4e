"""What training starts from where a pretrained transformer reads the texts, and what it reads in advance."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from torch import Tensor

from heedful.data.batching import EncodedSplit
from heedful.data.tokenizer import WordTokenizer
from heedful.errors import SettingError
from heedful.models.attention_model import AttentionModel, build_model
from heedful.models.pretrained.loading import encoder_width, tokenizer_of
from heedful.models.pretrained.pieces import whole_words
from heedful.models.pretrained.words import PretrainedWords
from heedful.settings import Run
from heedful.settings.validation import update_settings
from heedful.types import Dataset


def pretrained_start(run: Run, dataset: Dataset, *, has_query: bool) -> tuple[WordTokenizer, AttentionModel]:
    """The tokenizer and the model of a run whose encoder is a pretrained transformer, before its first step.

    The vocabulary is that of all splits and of the transformer: nothing is learnt about a word by itself, so that no
    word needs to be unknown because it is in no training text.
    """
    if run.network.vectors is not None:
        raise SettingError(
            f"network.vectors must be left out with the encoder {run.network.encoder}, which has word vectors of its "
            f"own; it was '{run.network.vectors}'."
        )
    words = WordTokenizer.from_settings(run.text)
    known = [whole_words(tokenizer_of(run.network.encoder), words)] * run.text.min_count
    texts = chain.from_iterable((e.tokens, e.query) for e in (*dataset.train, *dataset.dev, *dataset.test))
    words = words.learn(chain(texts, known), run.text.min_count)
    network = update_settings(run.network, {"embed_size": encoder_width(run.network.encoder)})
    model = build_model(network, words.words, len(dataset.labels), has_query=has_query)
    assert isinstance(model.embedding, PretrainedWords)
    model.embedding.load_pretrained()
    return words, model


def read_in_advance(
    model: AttentionModel, splits: Mapping[str, EncodedSplit], report: Callable[[int, int], None] | None = None
) -> tuple[str, ...]:
    """Notes on texts that are longer than a pretrained transformer reads at once; frozen, it reads all texts now."""
    if not isinstance(model.embedding, PretrainedWords):
        return ()
    notes = []
    for name, split in splits.items():
        texts: Sequence[Tensor] = (*split.texts, *split.queries)
        long = model.embedding.prepare([text.tolist() for text in texts], report)
        if long:
            longest = model.embedding.pieces.longest
            notes.append(f"{long} texts of {name} are longer than the encoder's {longest} pieces: read in parts")
    return tuple(notes)
