"""Whether a model has learnt its task: where it has not, there is no decision for attention to explain."""

from collections.abc import Sequence
from math import sqrt

from heedful.battery.question import Columns
from heedful.measures import mean_interval
from heedful.measures.mean_moments import t_quantile

TAIL = 0.025
"""The chance that a true value lies below the lower end of its 95 % interval."""


def is_labeled(columns: Columns) -> bool:
    """Whether all audited texts have labels."""
    return "prediction.label" in columns and bool((columns["prediction.label"] >= 0).all())


def beats_constant_prediction(columns: Columns) -> bool:
    """Whether the model surely beats a constant answer on the audited texts, in accuracy or in balanced accuracy.

    The lower end of the 95 % interval lies above the share of the most common label, or above 1/K for balanced accuracy
    with K labels. Texts are a sample and the audited models are not: a text's value is its share of correct seeds.

    >>> import torch
    >>> label = torch.tensor([[0.0, 1.0] * 20])
    >>> beats_constant_prediction({"prediction.correct": torch.ones(1, 40), "prediction.label": label})
    True
    >>> beats_constant_prediction({"prediction.correct": 1 - label, "prediction.label": label})  # always answers 0
    False
    """
    correct, label = columns["prediction.correct"].nanmean(0), columns["prediction.label"][0]
    counts = label.unique(return_counts=True)[1]
    if not len(counts):
        return False
    by_label = [correct[label == name].tolist() for name in label.unique()]
    is_accurate = mean_interval(correct).low > counts.max().item() / len(label)
    return is_accurate or _balanced_low(by_label) > 1 / len(by_label)


def _balanced_low(by_label: Sequence[Sequence[float]]) -> float:
    """The lower end of the interval of balanced accuracy, given the texts of each label.

    The variance within a label is that of a share with two correct and two wrong texts more (Agresti and Coull 1998):
    a rare label whose few texts all happen to be correct is not taken as certain.
    """
    accuracy = [sum(texts) / len(texts) for texts in by_label]
    shrunk = [(sum(texts) + 2) / (len(texts) + 4) for texts in by_label]
    variances = [share * (1 - share) / (len(texts) + 4) for share, texts in zip(shrunk, by_label, strict=True)]
    df_terms = [variance**2 / max(1, len(texts) - 1) for variance, texts in zip(variances, by_label, strict=True)]
    total = sum(variances)
    return (sum(accuracy) - t_quantile(TAIL, total**2 / sum(df_terms)) * sqrt(total)) / len(by_label)
