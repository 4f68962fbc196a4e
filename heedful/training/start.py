"""What training starts from: a tokenizer, and an untrained model or a copy of the reference run's."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import torch
from torch import Tensor

from heedful.data.batching import EncodedSplit
from heedful.data.tokenizer import WordTokenizer, learn_vocabulary
from heedful.data.word_vectors import embedding_matrix, load_vectors, vectors_fingerprint
from heedful.errors import SettingError
from heedful.models.attention_model import AttentionModel, build_model
from heedful.models.hugging_face.model_files import files_fingerprint, is_pretrained
from heedful.models.hugging_face.pretrained_modules import encoder_width, tokenizer_of
from heedful.models.hugging_face.subwords import whole_words
from heedful.settings import FinetuneSettings, Run
from heedful.settings.validation import update_settings
from heedful.training.methods import Method
from heedful.training.trained import Trained, network_of
from heedful.types import Dataset, Example

# What training starts from where a pretrained transformer reads the texts, and what it reads in advance.


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
    assert model.pretrained_words is not None
    model.pretrained_words.load_pretrained()
    return words, model


def read_in_advance(
    model: AttentionModel, splits: Mapping[str, EncodedSplit], report: Callable[[int, int], None] | None = None
) -> tuple[str, ...]:
    """Notes on texts that are longer than a pretrained transformer reads at once; frozen, it reads all texts now."""
    if (pretrained := model.pretrained_words) is None:
        return ()
    notes = []
    for name, split in splits.items():
        texts: Sequence[Tensor] = (*split.texts, *split.queries)
        long = pretrained.prepare([text.tolist() for text in texts], report)
        if long:
            longest = pretrained.pieces.longest
            notes.append(f"{long} texts of {name} are longer than the encoder's {longest} pieces: read in parts")
    return tuple(notes)


@dataclass(frozen=True)
class Start:
    """A tokenizer and a model before its first step.

    Args:
        coverage: share of the vocabulary that has a pretrained vector; None without vectors.
    """

    words: WordTokenizer
    model: AttentionModel
    coverage: float | None


def with_fingerprints(run: Run, data: str) -> Run:
    """The run with the fingerprints of its data, which is given, and of its vectors and pretrained models, if any."""
    network = run.network
    changes = {
        "data.fingerprint": data,
        "network.vectors_fingerprint": vectors_fingerprint(network.vectors) if network.vectors else "",
        "network.encoder_fingerprint": files_fingerprint(network.encoder) if is_pretrained(network.encoder) else "",
    }
    if run.finetune is not None:
        changes["finetune.fingerprint"] = files_fingerprint(run.finetune.model)
    return update_settings(run, changes)


def check_content(run: Run, dataset: Dataset) -> Run:
    """The run with its fingerprints; refused where it names other data or other vectors."""
    known = with_fingerprints(run, dataset.fingerprint)
    own, files, network = run.finetune or FinetuneSettings(model=""), known.finetune, run.network
    places = (
        ("is of data", run.data, known.data, "data.fingerprint", dataset.name),
        ("is of vectors", network, known.network, "network.vectors_fingerprint", network.vectors),
        ("is of an encoder", network, known.network, "network.encoder_fingerprint", network.encoder),
        ("starts from model", own, files or own, "finetune.fingerprint", own.model),
    )
    for what, asked, present, setting, name in places:
        wanted, fingerprint = (getattr(part, setting.partition(".")[2]) for part in (asked, present))
        if wanted not in ("", fingerprint):
            raise SettingError(
                f"the run {what} {wanted[:16]}, but '{name}' is {fingerprint[:16]}: use what the run was made with, or "
                f"leave `{setting}` empty."
            )
    return known


def build_start(
    run: Run, dataset: Dataset, method: Method, reference: Trained | None, generator: torch.Generator
) -> Start:
    """A copy of the reference run, if the method starts from it; else a fresh tokenizer and model."""
    classes, has_query = len(dataset.labels), dataset.task != "classification"
    if method.start != "fresh" and reference is not None:
        model = build_model(network_of(reference), reference.words.words, classes, has_query=has_query)
        kept = "" if method.start == "reference" else "attention."
        state = reference.model.state_dict()
        model.load_state_dict(
            {name: own for name, own in state.items() if not (kept and name.startswith(kept))}, strict=not kept
        )
        return Start(reference.words, model, reference.coverage)
    if is_pretrained(run.network.encoder):
        return Start(*pretrained_start(run, dataset, has_query=has_query), None)
    words = learn_vocabulary(WordTokenizer.from_settings(run.text), dataset.train, run.text.min_count)
    network = run.network
    if network.vectors is None:
        return Start(words, build_model(network, words.size, classes, has_query=has_query), None)
    vectors = load_vectors(network.vectors, only=set(words.words))
    matrix, coverage = embedding_matrix(
        words.words, vectors, missing=network.missing, unit=network.unit_vectors, generator=generator
    )
    network = update_settings(network, {"embed_size": matrix.shape[1]})
    model = build_model(network, words.size, classes, has_query=has_query)
    model.word_vectors.data.copy_(matrix)
    return Start(words, model, coverage)


def examples_by_split(run: Run, method: Method, dataset: Dataset) -> dict[str, tuple[Example, ...]]:
    """The examples of each split; if the method uses rationales, these stand for what one annotator marked.

    Raise if the method needs rationales and there are none, or one takes a whole text, or if it needs more epochs.
    """
    splits = {"train": dataset.train, "dev": dataset.dev, "test": dataset.test}
    if run.training.epochs <= method.honest_epochs:
        raise SettingError(
            f"`training.epochs` must be more than {method.honest_epochs} for method '{run.training.method}', which "
            f"begins with as many epochs of plain training; it was {run.training.epochs}. Set 16, for example."
        )
    if not method.needs_rationales:
        return splits
    for split in ("train", "test" if run.training.selection == "paper" else "dev"):
        if all(example.rationale is None for example in splits[split]):
            raise SettingError(
                f"method '{run.training.method}' needs texts whose deciding words are known; no text of {split} in "
                f"'{dataset.name}' has a rationale. Choose data with rationales (reviews, planted, hatexplain), or "
                "name the column that holds them by --rationale."
            )
        for number, example in enumerate(splits[split], start=1):
            _check_unlisted(example, f"text {number} of {split}", run.training.method)
    return {
        split: tuple(
            replace(example, annotators=(example.rationale,) if example.rationale is not None else ())
            for example in own
        )
        for split, own in splits.items()
    }


def _check_unlisted(example: Example, place: str, method: str) -> None:
    begins = example.sentences or range(len(example.tokens))
    if len({bisect_right(begins, position) for position in example.rationale or ()}) == len(begins):
        raise SettingError(
            f"the rationale must leave a {'sentence' if example.sentences else 'word'} of each text for method "
            f"'{method}', which attends to the rest; that of {place} takes all of '{' '.join(example.tokens):.60}'. "
            "Correct the rationale or drop the text."
        )


def check_reference(run: Run, method: Method, reference: Trained | None) -> None:
    """Raise if the run needs a reference that is missing, or if the reference cuts texts differently."""
    frozen = run.network.attention == "frozen"
    if reference is None:
        if frozen or method.needs_reference or method.start != "fresh":
            what = "attention 'frozen'" if frozen else f"method '{run.training.method}'"
            raise SettingError(f"{what} needs a reference run: give `reference` the key of a finished one.")
        return
    if update_settings(reference.run.text, {"min_count": run.text.min_count}) != run.text:
        raise SettingError(
            f"the reference run must cut texts as this run does; its text settings were {reference.run.text}, "
            f"this run's are {run.text}."
        )
    if (reference.run.network.encoder == "hierarchical") != (run.network.encoder == "hierarchical"):
        raise SettingError("a run and its reference run must both attend to words or both to sentences.")
