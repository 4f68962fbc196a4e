"""All heads of a transformer, measured on a sample of the audited texts: is there any that one may show?"""

import torch

from heedful.attribution.leave_one_out import leave_one_out
from heedful.formatting import format_estimate
from heedful.models.hugging_face.head_measures import (
    DESCRIPTIONS,
    DOES,
    BestHead,
    HeadMeasures,
    best_head,
    head_measures,
)
from heedful.models.trace import trace
from heedful.schema import Heads
from heedful.settings import AuditSettings
from heedful.settings.validation import update_settings
from heedful.subjects.hugging_face_subject import HuggingFaceSubject
from heedful.types import Dataset, Split
from heedful.verdict.answers import interval_of

SHOWN, CHANGED = 100, 25
"""Texts on which it is measured what each head shows, and, as this takes many forward passes, what each does."""
NEEDS = "leave_one_out_agreement"
"""The test with which heads are measured."""


def heads_of(subject: HuggingFaceSubject, dataset: Dataset, settings: AuditSettings) -> Heads:
    """What each head shows and does, and the best of them: chosen on dev texts, or else on half of the audited.

    Args:
        subject: at the last layer and in the scope of the row that the classifier reads.
    """
    split = settings.split
    does = _measured(subject, dataset, settings, split, CHANGED, what_it_does=True)
    shows = _measured(subject, dataset, settings, split, SHOWN, what_it_does=False)
    if dataset.dev and split != "dev":
        choice, test = _measured(subject, dataset, settings, "dev", SHOWN, what_it_does=False), shows
        chosen_on = "dev texts"
    else:
        half = len(shows.mean_agreement) // 2
        choice, test, chosen_on = shows.texts(slice(half)), shows.texts(slice(half, None)), "half of the texts"
    best = best_head(choice, test)
    return Heads(
        measures={
            name: tuple(map(tuple, (does if name in DOES else shows).means(name).tolist())) for name in DESCRIPTIONS
        },
        layer=best.layer,
        head=best.head,
        chosen_on=chosen_on,
        agreement=interval_of(best.agreement),
        mean_agreement=interval_of(best.mean_agreement),
        gain=interval_of(best.gain),
        sentence=_sentence(best, chosen_on),
    )


def _measured(
    subject: HuggingFaceSubject,
    dataset: Dataset,
    settings: AuditSettings,
    split: Split,
    most: int,
    *,
    what_it_does: bool,
) -> HeadMeasures:
    """The measures of at most `most` texts of a split."""
    some = update_settings(settings, {"examples": min(most, settings.examples or most), "split": split})
    model, parts = subject.view, []
    for batch in subject.texts(dataset, some).batches():
        with torch.no_grad():
            seen = trace(model, batch)
        without = leave_one_out(model, seen)
        parts.append(head_measures(model, seen, without, what_it_does=what_it_does))
    return HeadMeasures.joined(parts)


def _sentence(best: BestHead, chosen_on: str) -> str:
    """Whether the best head can be shown instead of the mean."""
    own, mean = best.agreement, best.mean_agreement
    start = (
        f"Head {best.head} of layer {best.layer} agrees best with leave-one-out on {chosen_on}; on other texts "
        f"Kendall's tau is {format_estimate(own.value, own.low, own.high)} for it and "
        f"{format_estimate(mean.value, mean.low, mean.high)} for the mean over the last layer's heads."
    )
    if best.gain.low > 0:
        return f"{start} It agrees better than the mean: audit it by --site {best.site} before you show it."
    if best.gain.high < 0:
        return f"{start} It agrees less than the mean: the choice was luck."
    return f"{start} It is not significantly better than the mean."
