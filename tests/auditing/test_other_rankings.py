"""Rankings beside attention: scores from outside through Python and files, and methods by name."""

from dataclasses import replace

import polars as pl
import pytest
import torch

import heedful
from heedful.auditing.other_rankings import text_words
from heedful.errors import DataError, SettingError
from heedful.report.loading import audit
from heedful.settings import AuditSettings
from heedful.subjects.custom_model import CustomModel, CustomSubject
from heedful.subjects.finished_run import FinishedRun
from support.models import make, make_batch
from support.runs import toy

TESTS = ("erase_until_flip", "comprehensiveness_sufficiency", "ranking_agreement", "plausibility")
ASKED = AuditSettings(tests=TESTS, options={"erase_until_flip": {"rankings": 3}}, shown=3)


def marked():
    """The toy texts, in each of which somebody marked the word that decides."""
    examples = toy()
    places = {
        example: (next(n for n, word in enumerate(example.tokens) if word in ("bad", "good")),)
        for example in examples.test
    }
    return replace(
        examples, test=tuple(replace(e, rationale=places[e], annotators=(places[e],)) for e in examples.test)
    )


def perfect(dataset):
    """1 for the word that decides, 0 for others, by the number of the text."""
    return {
        str(number): [float(word in ("bad", "good")) for word in example.tokens]
        for number, example in enumerate(dataset.test)
    }


def measured(finished, name):
    rows = finished.rows.filter(pl.col("item").is_null() & pl.col("measure").str.ends_with(f"_{name}"))
    return {f"{test}.{measure}" for test, measure in rows.select("test", "measure").unique().rows()}


@pytest.fixture(scope="module")
def given(trained):
    return audit(trained, marked(), ASKED, scores={"oracle": perfect(toy())})


def test_scores_become_a_ranking_in_every_test_that_ranks(given):
    assert measured(given, "oracle") >= {
        "erase_until_flip.fraction_oracle",
        "comprehensiveness_sufficiency.comprehensiveness_oracle",
        "comprehensiveness_sufficiency.sufficiency_oracle",
        "ranking_agreement.tau_attention_oracle",
        "plausibility.average_precision_oracle",
    }
    own = {ranking.name: ranking for ranking in given.verdict.rankings}["oracle"]
    assert own.average_precision == 1.0 and own.plausible == 1.0 and own.texts == 12
    assert set(own.agreement) == {
        "attention",
        "gradient_x_input",
        "attention_x_gradient",
        "leave_one_out",
        "weight_gradient",
    }
    assert "'oracle' has scores for 12 of 12 texts" in given.verdict.notes


def test_they_are_shown_word_by_word(given):
    items = given.rows.filter(pl.col("item").is_not_null() & (pl.col("measure") == "oracle"))
    assert items["example"].n_unique() == 3 and set(items["value"]) == {0.0, 1.0}


def test_plausibility_has_lines_of_its_own_group(given):
    lines = {line.name: line for line in given.lines if line.group == "plausibility"}
    assert set(lines) == {"plausibility", "plausible_top_words"}
    assert all("no evidence of how the model decides" in line.sentence for line in lines.values())
    assert lines["plausibility"].details["oracle"] == 1.0


def test_a_file_gives_what_python_gives(trained, given, tmp_path):
    frame = pl.DataFrame(
        [(text, word, score) for text, own in perfect(toy()).items() for word, score in enumerate(own)],
        schema=["id", "word", "score"],
        orient="row",
    )
    frame.write_ndjson(tmp_path / "oracle.jsonl")
    assert audit(trained, marked(), ASKED, scores=tmp_path / "oracle.jsonl").rows.equals(given.rows)
    named = frame.with_columns(name=pl.lit("oracle"))
    assert audit(trained, marked(), ASKED, scores=named).rows.equals(given.rows)


def test_texts_without_scores_are_counted_and_undefined_for_them_alone(trained):
    half = {text: own for text, own in perfect(toy()).items() if int(text) < 6}
    finished = audit(trained, marked(), ASKED, scores={"half": half})
    assert any("'half' has scores for 6 of 12 texts and none for 6" in note for note in finished.verdict.notes)
    values = finished.rows.filter(measure="average_precision_half").sort("example")["value"]
    assert values.is_nan().to_list() == [False] * 6 + [True] * 6
    others = finished.rows.filter(measure="average_precision_attention")["value"]
    assert not others.is_nan().any()


def test_scores_that_cannot_be_used_are_refused(trained):
    for scores, error, message in [
        ({"mine": {"99": [1.0, 2.0]}}, DataError, "must name the audited texts by their ids; none does.*'99'"),
        ({"mine": {"0": [float("nan")]}}, DataError, "must be a finite number; it is nan"),
        ({"attention": {"0": [1.0]}}, SettingError, "cannot be called 'attention': Heedful has a ranking of that name"),
        ({"attention_3": {"0": [1.0]}}, SettingError, "cannot be called 'attention_3'"),
        ({"minimal": {"0": [1.0]}}, SettingError, "cannot be called 'minimal'"),
        ({"a b": {"0": [1.0]}}, SettingError, "must begin with a letter"),
        ({"mine": [[1.0]]}, SettingError, "or a dict from a name to a dict from the id of a text to its scores"),
        ("nowhere.csv", DataError, "nowhere.csv"),
    ]:
        with pytest.raises(error, match=message):
            audit(trained, toy(), ASKED, scores=scores)


def test_methods_by_name_are_judged_on_dev_as_well(trained):
    settings = AuditSettings(tests=("outcome", "erase_until_flip"), rankings=("smoothgrad",), shown=0)
    finished = audit(trained, toy(), settings)
    assert "fraction_smoothgrad" in set(finished.rows["measure"])
    judged = finished.outcomes.filter(pl.col("ranking") == "smoothgrad")
    assert set(judged["split"]) == {"dev", "test"} and set(judged["removal"]) == {"delete", "replace"}
    assert "SmoothGrad" in [ranking.title for ranking in finished.answer.rankings]


def test_a_ranking_must_be_known_and_named_once(trained):
    for rankings, message in [
        (("smothgrad",), "unknown ranking 'smothgrad'. Did you mean 'smoothgrad'"),
        (("lime", "lime"), "once each"),
    ]:
        with pytest.raises(SettingError, match=message):
            audit(trained, toy(), AuditSettings(tests=("erase_until_flip",), rankings=rankings))


def test_texts_are_called_by_id_or_row_or_number(trained):
    with_ids = replace(toy(), test=tuple(replace(e, id=f"t{n}", row=n + 5) for n, e in enumerate(toy().test)))
    with_rows = replace(toy(), test=tuple(replace(e, row=n + 5) for n, e in enumerate(toy().test)))
    names = [
        [t.id for t in text_words(FinishedRun(trained).texts(data, ASKED))] for data in (with_ids, with_rows, toy())
    ]
    assert [own[:2] for own in names] == [["t0", "t1"], ["5", "6"], ["0", "1"]]


def test_a_model_of_the_user_s_own_takes_scores_of_its_words():
    batch = replace(make_batch(), marks=None)
    scores = torch.rand(3, 7, generator=torch.Generator().manual_seed(0)) * batch.mask
    given = {str(row): own[: int(own.count_nonzero())] for row, own in enumerate(scores)}
    finished = heedful.audit(make("average"), [batch], ASKED, scores={"mine": given})
    assert "erase_until_flip.fraction_mine" in measured(finished, "mine")
    assert not any(line.group == "plausibility" for line in finished.lines)
    known = CustomSubject(make("average"), CustomModel({n: f"w{n}" for n in range(11)})).texts([batch], AuditSettings())
    first = text_words(known)[0]
    assert first.count == 7 and first.text[first.spans[2][0] : first.spans[2][1]] == known.words[0][2]


def test_marks_of_a_batch_are_asked_about():
    finished = heedful.audit(make("average"), [make_batch()], AuditSettings(tests=("plausibility",)))
    assert {line.name for line in finished.lines} == {"plausibility", "plausible_top_words"}


def test_without_marks_nothing_is_said_unless_it_was_asked_for(trained):
    named = audit(trained, toy(), AuditSettings(tests=("plausibility",), shown=0))
    assert set(named.verdict.skipped) == {"plausibility", "plausible_top_words"}
    whole = audit(trained, toy(), AuditSettings(options=ASKED.options, shown=0, examples=2))
    assert "plausibility" not in whole.verdict.skipped
