"""Outcomes of a subject's texts: which words decide each prediction, and which rankings point to them.

`measures.outcome` defines an outcome by the sets of words that it reads. Here a model reads them, with the other words
deleted (`attribution.subset_reader`) or replaced (`auditing.replacing`).
"""

import hashlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any

import numpy as np
import polars as pl
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from heedful.auditing.replacing import draw_replacements
from heedful.battery.evidence import Evidence
from heedful.data.sampling import random_order
from heedful.measures.outcome import JudgedText, TextToJudge, effect_of, is_moved, judge_texts
from heedful.models.abilities import linear, own_parts, several_heads
from heedful.schema import Removal, TextOutcome, updated
from heedful.schema.table_columns import OUTCOMES
from heedful.settings import AuditSettings, OutcomeSettings
from heedful.settings.validation import update_settings
from heedful.subjects.subject import SubjectTexts

BY_WORD = ("leave_one_out", "alone", "effect")
"""Rankings whose scores come from removing single words."""
Judged = Mapping[int, JudgedText]
"""By the row of a batch."""


@dataclass
class Costs:
    """What outcomes cost.

    Args:
        seconds: seconds that each ranking's scores took, by its name.
        passes: texts and parts of texts that were read, by purpose.
    """

    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    passes: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def timed(self, *rankings: str):
        """Count the time of what happens inside."""
        began = time.perf_counter()
        yield
        for name in rankings:
            self.seconds[name] += time.perf_counter() - began


class Judge:
    """Judges texts of a subject, batch by batch.

    Args:
        replaced: texts whose words are also replaced; None: those that the settings choose.
    """

    def __init__(self, subject: SubjectTexts, settings: AuditSettings, *, replaced: Collection[int] | None = None):
        self.subject, self.settings, self.costs = subject, settings, Costs()
        if replaced is None:
            drawn = random_order(len(subject.numbers), settings.seed, settings.outcome.replaced_texts)
            replaced = {subject.numbers[place] for place in drawn}
        self.replaced = replaced

    def rows(self, evidence: Evidence) -> pl.DataFrame:
        """Rows of outcomes.parquet for the texts of a batch."""
        deleted, scores = self.judge(evidence)
        moved = moved_information(evidence, deleted, self.settings.outcome)
        rows = self._rows_of(evidence, "delete", deleted, moved)
        for name, judged in self._variants(evidence, deleted, scores).items():
            rows += self._rows_of(evidence, "delete", judged, {}, [*judged], variant=name)
        index = evidence.trace.batch.index.tolist()
        if chosen := [row for row in deleted if index[row] in self.replaced]:
            replaced = self._replaced(evidence, {row: deleted[row] for row in chosen}, scores)
            rows += self._rows_of(evidence, "replace", replaced, {}, chosen)
        return pl.DataFrame(rows, schema=OUTCOMES, orient="row")

    def judge(self, evidence: Evidence) -> tuple[dict[int, JudgedText], list[dict[str, Float[ndarray, " item"]]]]:
        """Outcomes of the texts of a batch with words deleted, by row; and the scores that were given for each."""
        settings = self.settings.outcome
        scores = self._scores(evidence)
        with self.costs.timed("leave_one_out", "effect"):
            reader = evidence.subsets
        texts, same = self._texts(evidence, scores), {}
        if not evidence.given:  # scores of texts with the same words may differ
            first: dict[Sequence[int], int] = {}
            same = {row: first.setdefault(text.seed, row) for row, text in texts.items()}
        chosen = {row: text for row, text in texts.items() if same.get(row, row) == row}
        judged = judge_texts(chosen, self._timed_reading(reader.probabilities), settings)
        self._count(judged)
        judgments = {row: judged.get(same.get(row, row)) for row in texts}
        return {row: own for row, own in judgments.items() if own is not None}, scores

    def _texts(
        self, evidence: Evidence, scores: Sequence[Mapping[str, Float[ndarray, " item"]]]
    ) -> dict[int, TextToJudge]:
        """The texts of a batch that can be judged, by row."""
        logits = evidence.deletion_logits
        seeds, empty = _seeds(evidence, self.settings.seed), empty_probabilities(evidence)
        whole, counts = evidence.probabilities.double().numpy(), evidence.items.sum(1).tolist()
        texts = {}
        for row, count in enumerate(counts):
            if count < 2 or np.isnan(whole[row]).any():
                continue
            own = evidence.items[row]
            without = logits[row][own].double().softmax(-1).numpy()
            texts[row] = TextToJudge(
                whole=whole[row],
                scores=scores[row],
                seed=seeds[row],
                empty=float(empty[row, whole[row].argmax()]),
                without=without,
            )
        return texts

    def _variants(
        self, evidence: Evidence, deleted: Judged, scores: Sequence[Mapping[str, Float[ndarray, " item"]]]
    ) -> dict[str, dict[int, JudgedText]]:
        """Outcomes by other definitions, by the name in VARIANTS; empty unless the settings ask for details.

        Another weight takes the sets that were read before; another k searches again.
        """
        if not self.settings.details:
            return {}
        settings, texts = self.settings.outcome, self._texts(evidence, scores)
        rescored = {row: replace(texts[row], extra=own.evaluated) for row, own in deleted.items()}
        halved = update_settings(settings, {"alone_weight": 0.5, "swaps": 0.0})
        searched, read = {row: texts[row] for row in deleted}, evidence.subsets.probabilities
        return {
            "attention:alone_weight=0.5": judge_texts(rescored, read, halved),
            "attention:k-1": judge_texts(searched, read, settings, more=-1),
            "attention:k+1": judge_texts(searched, read, settings, more=1),
        }

    def _timed_reading(self, read: Callable[..., Any]) -> Callable[..., Any]:
        """The reader; the first call, which reads single words, is timed."""
        calls: list[int] = []

        def reading(requests: Any) -> Any:
            calls.append(1)
            if len(calls) > 1:
                return read(requests)
            with self.costs.timed("alone", "effect"):
                return read(requests)

        return reading

    def _count(self, judged: Judged, prefix: str = "") -> None:
        for own in judged.values():
            self.costs.passes.update({f"{prefix}{purpose}": count for purpose, count in own.sets.items()})
            self.costs.passes[f"{prefix}texts"] += 1

    def _scores(self, evidence: Evidence) -> list[dict[str, Float[ndarray, " item"]]]:
        """Scores of each text's items, by ranking: those that need no removal."""
        with self.costs.timed("weight_gradient", "attention_x_gradient"):
            weight = evidence.weight_gradient
        with self.costs.timed("gradient_x_input"):
            by_input = evidence.gradient_x_input
        scores = {
            "attention": evidence.attention_ranks,
            "gradient_x_input": by_input,
            "attention_x_gradient": evidence.attention * weight,
            "weight_gradient": weight,
            **evidence.given,
        }
        return [
            {name: values[row][own].double().numpy() for name, values in scores.items()}
            for row, own in enumerate(evidence.items)
        ]

    def _replaced(
        self, evidence: Evidence, deleted: Judged, scores: Sequence[Mapping[str, Float[ndarray, " item"]]]
    ) -> dict[int, JudgedText]:
        """Outcomes if words are replaced: of rankings as they are by deletion, and without swaps."""
        settings = update_settings(self.settings.outcome, {"swaps": 0.0, "all_sets": 0})
        seeds = _seeds(evidence, self.settings.seed)
        generators = {row: np.random.default_rng([*seeds[row], 1]) for row in deleted}
        drawn = draw_replacements(evidence, generators, self.subject.sentences, settings.replace_with)
        if not drawn.segments:
            return {}
        nothing = {row: np.zeros((1, int(evidence.items[row].sum())), dtype=bool) for row in drawn.segments}
        empty = drawn.probabilities(nothing)
        whole = evidence.probabilities.double().numpy()
        texts = {
            row: TextToJudge(
                whole=whole[row],
                scores={**scores[row], **scores_by_word(evidence, row, settings.alone_weight)},
                seed=(*seeds[row], 2),
                empty=float(empty[row][0, deleted[row].predicted]),
                extra=[deleted[row].key.words],
            )
            for row in drawn.segments
        }
        judged = judge_texts(texts, drawn.probabilities, settings)
        self._count(judged, "replaced: ")
        return judged

    def _rows_of(
        self,
        evidence: Evidence,
        removal: Removal,
        judged: Judged,
        moved: Mapping[int, bool],
        chosen: Sequence[int] | None = None,
        variant: str = "",
    ) -> list[tuple[Any, ...]]:
        """Rows of all texts, or of the chosen ones; a text without an outcome has one that says why.

        Args:
            variant: name of another definition, of which attention alone has rows.
        """
        subject, batch = self.subject, evidence.trace.batch
        rows = []
        for row in range(len(batch.labels)) if chosen is None else chosen:
            label, predicted = int(batch.labels[row]), int(evidence.predicted[row])
            own = judged.get(row)
            by_ranking = text_outcomes(own, evidence, row, removal, moved.get(row))
            if variant:
                by_ranking = [updated(each, ranking=variant) for each in by_ranking if each.ranking == "attention"]
            start = {
                "run": subject.name,
                "split": subject.split,
                "example": int(batch.index[row]),
                "is_correct": label == predicted if label >= 0 else None,
                "is_exact": own.is_exact if own else None,
            }
            for outcome in by_ranking:
                values = {**start, **dict(outcome)}
                rows.append(tuple(list(v) if isinstance(v := values[name], tuple) else v for name in OUTCOMES))
        return rows


def text_outcomes(
    judged: JudgedText | None, evidence: Evidence, row: int, removal: Removal, is_moved: bool | None
) -> list[TextOutcome]:
    """The outcome of a text for each ranking; of a text that was not judged one of attention, which says why."""
    labels, words = evidence.context.labels, int(evidence.items[row].sum())
    if judged is None:
        reason = "one word" if words < 2 else "undefined"
        predicted = labels[int(evidence.predicted[row])]
        return [TextOutcome(removal=removal, predicted=predicted, words=words, reason=reason)]
    key, y = judged.key, judged.predicted
    alone, without = np.array(key.alone), np.array(key.without)
    return [
        TextOutcome(
            ranking=name,
            removal=removal,
            predicted=labels[y],
            probability=judged.whole,
            words=words,
            outcome=judged.outcomes[name],
            reason=judged.reason,
            effect=top.effect,
            chance=judged.chance,
            best=judged.best,
            luck=judged.luck,
            top_words=top.words,
            top_alone=top.alone[y],
            top_without=top.without[y],
            is_moved=is_moved if name == "attention" else None,
            key_words=key.words,
            key_alone=key.alone[y],
            key_without=key.without[y],
            alone_predicted=labels[int(alone.argmax())],
            alone_probability=float(alone.max()),
            without_predicted=labels[int(without.argmax())],
            without_probability=float(without.max()),
        )
        for name, top in judged.tops.items()
    ]


def can_impose(model: object) -> bool:
    """Whether other attention can be imposed on just what the classifier reads."""
    heads = several_heads(model)
    return heads is None or heads.is_cheap


@torch.no_grad()
def moved_information(evidence: Evidence, judged: Judged, settings: OutcomeSettings) -> dict[int, bool]:
    """Whether attention's top words carry other words' information, in texts in which a small set decides.

    The states of the top words alone (their weights, renormalized) give the prediction, and these words alone do not.
    """
    if not can_impose(evidence.model):
        return {}
    decided = {row: own for row, own in judged.items() if own.reason is None}
    keep = torch.zeros_like(evidence.items)
    for row, own in decided.items():
        keep[row, evidence.items[row].nonzero()[:, 0][list(own.tops["attention"].words)]] = True
    by_states = evidence.decode_kept(keep).double().softmax(-1)
    return {
        row: is_moved(own, "attention", by_states[row, own.predicted].item(), settings) for row, own in decided.items()
    }


@torch.no_grad()
def empty_probabilities(evidence: Evidence) -> Float[ndarray, "batch classes"]:
    """What the model predicts with no words left; NaN if it has no such prediction."""
    model, trace = evidence.model, evidence.trace
    if (heads := several_heads(model)) is not None:
        logits = heads.wordless_logits(trace.batch)
    elif (exact := linear(model)) is not None:
        logits = exact.empty_logits(trace.encoded)
    elif own_parts(model) is not None:
        logits = evidence.empty_logits
    else:
        return np.full(tuple(trace.logits.shape), nan)
    return logits.double().softmax(-1).cpu().numpy()


def scores_by_word(evidence: Evidence, row: int, alone_weight: float) -> dict[str, Float[ndarray, " item"]]:
    """The rankings that deleting single words gives, read before."""
    count, y = int(evidence.items[row].sum()), int(evidence.predicted[row])
    single = np.eye(count, dtype=bool)
    read = evidence.subsets.probabilities({row: np.concatenate([single, ~single])})[row][:, y]
    alone, without = read[:count], read[count:]
    whole = evidence.probabilities[row, y].item()
    return dict(zip(BY_WORD, (whole - without, alone, effect_of(alone, without, alone_weight)), strict=True))


def _seeds(evidence: Evidence, seed: int) -> list[tuple[int, ...]]:
    """The audit's seed and a hash of each text's content: what decides every draw."""
    batch = evidence.trace.batch
    parts: list[tuple[Tensor, Tensor]] = [(batch.tokens, batch.mask)]
    if batch.sentence is not None:
        parts.append((batch.sentence, batch.mask))
    if batch.query_tokens is not None and batch.query_mask is not None:
        parts.append((batch.query_tokens, batch.query_mask))
    hashes = []
    for row in range(len(batch.labels)):
        digest = hashlib.sha256(b"/".join(values[row][mask[row]].cpu().numpy().tobytes() for values, mask in parts))
        hashes.append((abs(seed), *np.frombuffer(digest.digest()[:16], dtype=np.uint32).tolist()))
    return hashes
