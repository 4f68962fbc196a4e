"""Outcomes of the texts of a made-up audit, of every kind, and the answer that they give."""

import polars as pl

from heedful.schema.table_columns import OUTCOMES
from heedful.settings import AuditSettings
from heedful.verdict.audit_answer import answer_audit
from heedful.verdict.scoring import columns_of

REASONS = ("many words", "default", "any words", "default or any words")
RANKINGS = ("attention", "gradient_x_input", "leave_one_out", "weight_gradient")


def text_rows(key, scores, predicted, labels, correct, probability):
    """Rows of one text: its number decides whether a small set decides; the key words are those of leave-one-out."""
    number, size = key["example"], len(scores["attention"])
    count = min(size - 1, max(min(2, size // 2), min(5, -(-size // 10))))
    common = {**key, "predicted": labels[predicted], "is_correct": correct, "words": size}
    common |= {"probability": probability, "is_exact": False}
    if number % 20 == 18:
        reason = ("one word", "undefined")[number // 20 % 2]
        return [{**common, "removal": "delete", "ranking": "attention", "reason": reason}]
    order = {
        name: sorted(range(size), key=lambda i: -values[i])[:count]
        for name, values in scores.items()
        if name in RANKINGS
    }
    key_words, rows = sorted(order["leave_one_out"]), []
    reason = REASONS[number // 5 % 4] if number % 5 == 4 else None
    other = labels[1 - predicted]
    for removal in ("delete", "replace"):
        for name in RANKINGS:
            share = len({*order[name]} & {*key_words}) / count
            points = "points" if share >= 0.5 else "misses"
            rows.append(
                {
                    **common,
                    "removal": removal,
                    "ranking": name,
                    "outcome": "no_small_set" if reason else points,
                    "reason": reason,
                    "effect": 0.3 + 0.6 * share,
                    "chance": 0.3,
                    "best": 0.9,
                    "luck": 0.2,
                    "top_words": order[name],
                    "top_alone": 0.5 + 0.4 * share,
                    "top_without": 0.9 - 0.4 * share,
                    "is_moved": number % 3 == 0 if name == "attention" and points == "misses" and not reason else None,
                    "key_words": key_words,
                    "key_alone": 0.9,
                    "key_without": 0.3,
                    "alone_predicted": labels[predicted],
                    "alone_probability": 0.9,
                    "without_predicted": other,
                    "without_probability": 0.7,
                }
            )
    return rows


def outcomes_table(rows):
    return pl.DataFrame(rows, schema=OUTCOMES)


def answer_of(table, outcomes, labels):
    """The answer of these outcomes, as verdict.json has it."""
    measured = columns_of([table])
    times = {"leave_one_out": 12.5}
    answer = answer_audit(measured, [outcomes], "test", labels, AuditSettings(), milliseconds=times)
    return answer.model_dump(mode="json")
