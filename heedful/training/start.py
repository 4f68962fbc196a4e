"""What training starts from: a tokenizer, a model before its first step, and what a reference run says."""

from collections.abc import Sequence

import torch

from heedful.data.batching import encode_split
from heedful.data.tokenizer import WordTokenizer, learn_vocabulary
from heedful.data.word_vectors import embedding_matrix, load_vectors
from heedful.errors import SettingError
from heedful.models.attention_model import AttentionModel, build_model
from heedful.settings import Run
from heedful.training.methods import Method
from heedful.training.metrics import Outputs, outputs
from heedful.training.trained import Trained, network_of
from heedful.types import Dataset


def start(
    run: Run, dataset: Dataset, method: Method, reference: Trained | None, generator: torch.Generator
) -> tuple[WordTokenizer, AttentionModel, float | None]:
    """Tokenizer, model before the first step, and the coverage of its pretrained vectors."""
    classes, has_query = len(dataset.labels), dataset.task != "classification"
    if method.start == "reference" and reference is not None:
        model = build_model(network_of(reference), reference.words.size, classes, has_query=has_query)
        model.load_state_dict(reference.model.state_dict())
        return reference.words, model, reference.coverage
    words = learn_vocabulary(WordTokenizer.from_settings(run.text), dataset.train, run.text.min_count)
    network = run.network
    if network.vectors is None:
        return words, build_model(network, words.size, classes, has_query=has_query), None
    vectors = load_vectors(network.vectors, only=set(words.words))
    matrix, coverage = embedding_matrix(
        words.words, vectors, missing=network.missing, unit=network.unit_vectors, generator=generator
    )
    network = network.model_copy(update={"embed_size": matrix.shape[1]})
    model = build_model(network, words.size, classes, has_query=has_query)
    model.embedding.weight.data.copy_(matrix)
    return words, model, coverage


def said(base: Trained | None, dataset: Dataset, splits: Sequence[str], device: torch.device) -> dict[str, Outputs]:
    """What the reference run says of every text: computed once, not every epoch."""
    if base is None:
        return {}
    return {name: outputs(base.model.to(device), encode_split(getattr(dataset, name), base.words)) for name in splits}


def check_reference(run: Run, method: Method, reference: Trained | None) -> None:
    """Refuse a run whose method or attention needs a reference that is missing, or that reads texts otherwise."""
    frozen = run.network.attention == "frozen"
    if reference is None:
        if frozen or method.needs_reference or method.start == "reference":
            what = "attention 'frozen'" if frozen else f"method '{run.training.method}'"
            raise SettingError(f"{what} needs a reference run: give `reference` the key of a finished one.")
        return
    if reference.run.text.model_copy(update={"min_count": run.text.min_count}) != run.text:
        raise SettingError(
            f"the reference run must cut texts as this run does; its text settings were {reference.run.text}, "
            f"this run's are {run.text}."
        )
    if (reference.run.network.encoder == "hierarchical") != (run.network.encoder == "hierarchical"):
        raise SettingError("a reference run and its follower must both attend to words or both to sentences.")
