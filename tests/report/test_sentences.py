"""What report and notebook say about texts is what their outcomes say, for texts of every outcome."""

import html
import json
import re
from dataclasses import replace
from itertools import chain

import polars as pl
import pytest

from heedful.auditing.audit import Audit
from heedful.report import read_audit
from heedful.report.example_texts import chosen_texts, example_data
from heedful.report.page import render_page
from heedful.schema import TextOutcome
from heedful.verdict.answer_text import BADGES, answer_badge, example_lines, outcome_sentences
from support.synthetic_audit import make_audit


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    """An audit that shows texts of every outcome and reason; half of the misses have moved information."""
    audit = read_audit(make_audit(tmp_path_factory.mktemp("every"), encoder="bilstm", texts=60, shown=60))
    return replace(audit, rows=audit.rows.filter(pl.col("test").is_in(["prediction", "items"])))


@pytest.fixture(scope="module")
def texts(audit):
    """By number, the outcome of attention if words are deleted, and the words."""
    outcomes = audit.outcomes.filter(ranking="attention", removal="delete").iter_rows(named=True)
    items = dict(audit.examples.select("example", "items").iter_rows())
    return {row["example"]: (TextOutcome.model_validate(row), items[row["example"]]) for row in outcomes}


@pytest.fixture(scope="module")
def page(audit):
    return render_page([audit])


@pytest.fixture(scope="module")
def notebook(audit):
    return Audit(audit.rows, audit.examples, audit.verdict, audit.outcomes)._repr_html_()


def test_texts_are_of_every_outcome_and_reason(texts):
    outcomes = [outcome for outcome, _ in texts.values()]
    assert {outcome.outcome for outcome in outcomes} == set(BADGES)
    reasons = {"many words", "default", "any words", "default or any words", "one word", "undefined", None}
    assert {outcome.reason for outcome in outcomes} == reasons
    assert {outcome.is_moved for outcome in outcomes if outcome.outcome == "misses"} == {True, False}


def test_the_page_says_of_each_text_what_its_outcome_says(page, texts):
    (carried,) = re.findall(r'<script type="application/json" id="examples">(.*?)</script>', page)
    examples = json.loads(carried)["examples"]
    assert [example["index"] for example in examples] == sorted(texts)
    for example in examples:
        outcome, items = texts[example["index"]]
        (run,) = example["runs"]
        assert run["outcome"] == {
            "name": outcome.outcome or "",
            "badge": BADGES[outcome.outcome],
            "key": list(outcome.key_words),
            "top": list(outcome.top_words),
            "sentences": list(outcome_sentences(outcome, items)),
        }


def test_page_and_notebook_show_examples_with_these_sentences_alone(audit, page, notebook, texts):
    chosen = chosen_texts([audit], example_data([audit], ["bilstm"]))
    assert len(chosen) == 4
    own = page.partition('id="rankings"')[0].partition('id="chosen"')[2]
    said = [html.unescape(sentence) for sentence in re.findall(r'<p class="says">(.*?)</p>', own)]
    numbers = [int(number) for number in re.findall(r">Text (\d+)", own)]
    lines = [example_lines(*texts[number]) for number in numbers]
    assert said == list(chain(*lines)) and len(numbers) == sum(map(len, chosen.values()))
    assert [int(number) for number in re.findall(r">Text (\d+)", notebook)] == numbers
    for number in numbers:
        assert "<br>".join(outcome_sentences(*texts[number])) in html.unescape(notebook)


def test_a_line_has_the_key_words_and_the_numbers_of_the_outcome_and_misses_have_another(texts):
    for outcome, items in texts.values():
        lines, sentences = example_lines(outcome, items), outcome_sentences(outcome, items)
        assert len(lines) == 1 + (outcome.outcome == "misses")
        assert all(sentence in lines[0] for sentence in sentences[1:3])
        assert (sentences[0] in lines[0]) == (outcome.outcome in ("no_small_set", None))
        assert ("carry information" in lines[-1]) == bool(outcome.is_moved)


def test_page_and_notebook_say_the_answer_in_its_own_sentences(audit, page, notebook):
    answer = audit.verdict.answer
    for own in (answer.overall, *answer.classes):
        for view in (page, notebook):
            assert own.sentence in html.unescape(view)
    kind, word = answer_badge(answer.headline)
    assert f'<p class="lead"><strong class="outcome {kind}">{word}</strong></p>' in page.replace(" long", "")
    shown = html.unescape(re.sub("</?code>", "`", page))
    for sentence in (answer.headline.removeprefix(f"{word}: "), answer.recommendation.sentence):
        assert sentence in shown and sentence in html.unescape(notebook)
