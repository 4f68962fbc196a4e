"""A model's classes and the labels of the data, matched by name."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heedful.errors import DataError, SettingError


@dataclass(frozen=True)
class MatchedLabels:
    """Which class each label of the data is.

    Args:
        classes: of each label, in the data's order.
        names: of each class, in the order of the logits: as the data writes it, where it has the class.
        note: what the user should know of the match; empty where the names are the same.
    """

    classes: tuple[int, ...]
    names: tuple[str, ...]
    note: str = ""


def match_labels(
    model_labels: Sequence[str], data_labels: Sequence[str], renamed: Mapping[str, str] | None = None
) -> MatchedLabels:
    """The class of each label: of the same name, but for case, spaces, hyphens and underscores.

    A label that is a number, where all are, is the class of that number. The data may lack some classes, not have more.

    Args:
        renamed: what the data calls a class, by what the model calls it: {"LABEL_0": "negative"}.

    >>> match_labels(["NEGATIVE", "POSITIVE"], ["positive", "negative"])
    MatchedLabels(classes=(1, 0), names=('negative', 'positive'), note='')
    >>> match_labels(["LABEL_0", "LABEL_1"], ["negative", "positive"])
    Traceback (most recent call last):
    heedful.errors.DataError: the labels of the data must be classes of the model. The data has 'negative', 'positive';
    the model has 'LABEL_0', 'LABEL_1'. Not among them: 'negative', 'positive'. Rename ...
    """
    own = _renamed(model_labels, renamed or {})
    known: dict[str, list[int]] = {}
    for number, name in enumerate(own):
        known.setdefault(_plain(name), []).append(number)
    by_name = [known.get(_plain(label), []) for label in data_labels]
    if all(len(classes) == 1 for classes in by_name):
        return _named(own, data_labels, [classes[0] for classes in by_name])
    numbers = [int(label) for label in data_labels if re.fullmatch(r"[0-9]{1,6}", label)]
    if len(numbers) == len(data_labels) == len(set(numbers)) and max(numbers) < len(own):
        pairs = ", ".join(f"{label} as {own[number]}" for label, number in zip(data_labels, numbers, strict=True))
        note = f"labels of the data are read as numbers of the model's classes: {pairs}"
        return MatchedLabels(tuple(numbers), tuple(own), note)
    unknown = [label for label, classes in zip(data_labels, by_name, strict=True) if len(classes) != 1]
    raise DataError(
        f"the labels of the data must be classes of the model. The data has {_listed(data_labels)}; the model has "
        f"{_listed(own)}. Not among them: {_listed(unknown)}. Rename the labels of the data, or say what it calls each "
        f"class, as in {{'{own[0]}': '{unknown[0]}'}}, or correct `id2label` in the model's config.json."
    )


def _renamed(labels: Sequence[str], renamed: Mapping[str, str]) -> list[str]:
    if unknown := [label for label in renamed if label not in labels]:
        raise SettingError(f"renamed must name classes of the model, {_listed(labels)}; it names {_listed(unknown)}.")
    return [renamed.get(label, label) for label in labels]


def _named(own: Sequence[str], labels: Sequence[str], classes: Sequence[int]) -> MatchedLabels:
    written = {number: label for label, number in zip(labels, classes, strict=True)}
    if len(written) < len(labels):
        raise DataError(
            f"the labels of the data must be different classes of the model; {_listed(labels)} are not, since case, "
            "spaces, hyphens and underscores do not count. Rename them."
        )
    return MatchedLabels(tuple(classes), tuple(written.get(number, name) for number, name in enumerate(own)))


def _plain(label: str) -> str:
    """The label without what may differ.

    >>> _plain("Not_Entailment "), _plain("LABEL_1")
    ('not entailment', '1')
    """
    plain = re.sub(r"[\s_-]+", " ", label.casefold()).strip()
    return plain.removeprefix("label ") if re.fullmatch(r"label \d+", plain) else plain


def _listed(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - 20} more" if len(labels) > 20 else ""
    return ", ".join(f"'{label}'" for label in labels[:20]) + more
