"""Rankings to compare attention with: methods that the audit's settings name, and external scores."""

from collections.abc import Callable
from itertools import accumulate

from jaxtyping import Float
from torch import Tensor

from heedful.attribution.external_scores import (
    ExternalScores,
    TextWords,
    external_scores_of,
    words_of_examples,
)
from heedful.attribution.methods import ATTRIBUTIONS
from heedful.auditing.shards import shard_generator
from heedful.battery.evidence import RANKINGS
from heedful.errors import SettingError, lookup
from heedful.schema.rankings import BOUNDS, TAKEN
from heedful.settings import AuditSettings
from heedful.subjects.subject import SubjectTexts
from heedful.types import Model, Trace

OfTrace = Callable[[Model, Trace], dict[str, Float[Tensor, "batch item"]]]


def rankings_beside(subject: SubjectTexts, settings: AuditSettings, shard: int = 0) -> OfTrace:
    """From a model and what it made of a batch to the scores of its items by name, NaN in texts that have none."""
    methods = {name: lookup("ranking", name, ATTRIBUTIONS) for name in settings.rankings}
    generators = {name: shard_generator(settings.seed, f"ranking {name}", shard) for name in methods}

    def scores(model: Model, trace: Trace) -> dict[str, Float[Tensor, "batch item"]]:
        computed = {name: method(model, trace, generators[name]).cpu() for name, method in methods.items()}
        return {**computed, **subject.given.of_items(trace)}

    return scores


def match_external_scores(scores: object, subject: SubjectTexts, settings: AuditSettings) -> ExternalScores:
    """External scores, matched to the words of the subject's texts.

    Args:
        scores: as `external_scores_of` takes them; None: there are none.
    """
    if scores is None:
        return ExternalScores()
    # External scores cannot have these names: they would be mistaken for those of other rankings.
    taken = (*RANKINGS, *settings.rankings, *BOUNDS, *TAKEN)
    return external_scores_of(scores, text_words(subject), taken=taken)


def text_words(subject: SubjectTexts) -> list[TextWords]:
    """The words of the subject's texts: for a custom model, as far as they are known."""
    if subject.examples:
        return words_of_examples(subject.examples, subject.numbers)
    texts = []
    for batch in subject.batches():
        by_word = subject.item == "word"
        for row, number in enumerate(batch.index.tolist()):
            words = subject.words.get(number)
            if words is None and not by_word:
                raise SettingError(
                    "scores need the words of the texts where attention weighs several tokens together; give `words`."
                )
            count = int(batch.attendable_mask[row].sum()) if words is None else len(words)
            starts = [0, *accumulate(len(word) + 1 for word in words or ())][:-1]
            spans = tuple((start, start + len(word)) for start, word in zip(starts, words or (), strict=True))
            texts.append(TextWords(number, str(number), count, " ".join(words or ()), spans))
    return texts
