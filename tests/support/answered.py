"""Verdicts whose answer follows from made-up outcomes of texts, by the functions that make the real ones."""

import torch

from heedful.schema import AuditAnswer, Recommendation, ShownText, TextOutcome, Training, Verdict
from heedful.settings import AnswerSettings
from heedful.verdict.answers import REASONS, Outcomes, answer_all, headline_of


def make_outcomes(shares, seeds=1, luck=0.1, reason="many words", gap=0.0):
    """Outcomes of a class after another.

    Args:
        shares: of each class: number of texts, share in which a small set decides, share of those that point.
        gap: by how much the share of the first seed is above, and that of the last one below.
    """
    rows = []
    for seed in range(seeds):
        predicted, points, decided = [], [], []
        for number, (texts, with_set, pointing) in enumerate(shares):
            has_set = round(with_set * texts)
            shifted = min(1.0, max(0.0, pointing + gap * (1 - 2 * seed / max(1, seeds - 1))))
            hits = round(shifted * has_set)
            predicted += [number] * texts
            points += [1.0] * hits + [0.0] * (has_set - hits) + [torch.nan] * (texts - has_set)
            decided += [1.0] * has_set + [0.0] * (texts - has_set)
        rows.append((predicted, points, decided))
    predicted, points, decided = (torch.tensor(values) for values in zip(*rows, strict=True))
    points, decided = points.double(), decided.double()
    return Outcomes(
        predicted=predicted,
        points=points,
        decided=decided,
        luck=torch.full_like(points, luck),
        reason=torch.full_like(predicted, REASONS.index(reason)).where(decided == 0, -1),
        runs=tuple(f"run{seed}" for seed in range(seeds)),
    )


def make_example(words=20, key=(3, 7), top=(3, 12), outcome="points", reason=None, word="word", **changes):
    """An example whose words are numbered."""
    made = TextOutcome(
        predicted="positive",
        probability=0.98,
        outcome=outcome,
        reason=reason,
        key_words=key,
        top_words=top,
        alone_predicted="positive",
        alone_probability=0.97,
        without_predicted="negative",
        without_probability=0.61,
        words=words,
        **changes,
    )
    return ShownText(example=0, items=tuple(f"{word}{place}" for place in range(words)), outcome=made)


def make_answered(shares, labels=None, *, replaced=None, is_learned=True, example=None, seeds=1, more=None, **outcomes):
    """A verdict with the answer that follows from the shares of each class (see `make_outcomes`).

    Args:
        replaced: the same shares where words are replaced.
        more: further fields of the answer.
    """
    labels = labels or tuple(f"class {number}" for number in range(len(shares)))
    settings = AnswerSettings()
    overall, classes = answer_all(
        make_outcomes(shares, seeds, **outcomes),
        labels,
        settings,
        is_learned=is_learned,
        replaced=None if replaced is None else make_outcomes(replaced, seeds, **outcomes),
    )
    headline = headline_of(overall, classes)
    answer = AuditAnswer(
        headline=headline,
        sentence=overall.sentence if ":" not in headline else "",
        overall=overall,
        classes=classes,
        recommendation=Recommendation(show="attention", ranking="attention", sentence="Show attention."),
        most_common=0.52,
        example=example or make_example(),
        **(more or {}),
    )
    return Verdict(
        run="run0",
        model="bilstm, additive attention",
        data="reviews",
        texts=sum(texts for texts, _, _ in shares),
        labels=labels,
        scores={"accuracy": 0.97},
        lines=(),
        trainings=tuple(Training(run=f"run{seed}", seed=seed) for seed in range(seeds)),
        answer=answer,
    )
