"""Other models beside the audited one, and what they add to its verdict."""

import polars as pl
import pytest
import torch

from heedful.battery.adversarial_models import family
from heedful.jobs.planning import adversary_of
from heedful.report.loading import audit
from heedful.settings import AuditSettings, ComparisonModels
from heedful.settings.validation import update_settings
from heedful.training.loop import train
from heedful.verdict.scoring import columns_of
from support.audits import line_of
from support.runs import changed, toy

ONLY = AuditSettings(tests=("prediction",), shown=0)
SHORT = {"epochs": 4, "min_epochs": 1, "patience": 3}


@pytest.fixture(scope="module")
def base():
    return train(changed(training__epochs=6), toy())


@pytest.fixture(scope="module")
def adversaries(base):
    return tuple(train(adversary_of(base.run, seed, SHORT), toy(), reference=base) for seed in (1, 2))


@pytest.fixture(scope="module")
def finished(base, adversaries):
    """An audit beside its adversaries."""
    return audit(base, toy(), ONLY, ComparisonModels(adversaries=adversaries))


def made_again(finished):
    columns = {name: values[0] for name, values in columns_of([finished.rows]).items()}
    rows = {name.removeprefix("attefa."): values for name, values in columns.items() if name.startswith("attefa.")}
    seeds = [{part: columns[f"adversarial_models.{part}_{n}"] for part in ("tvd", "js", "apart")} for n in (1, 2)]
    return family(rows, seeds)


def test_a_text_has_a_row_for_each_adversary_and_measure(finished):
    rows = finished.rows.filter(pl.col("test") == "adversarial_models")
    assert set(rows["measure"]) == {f"{part}_{n}" for part in ("tvd", "js", "loss", "apart") for n in (1, 2)}
    assert set(rows["solver"]) == {"search"}
    assert rows.group_by("example").len()["len"].unique().to_list() == [8]


def test_the_value_is_attefa_of_the_best_adversary_by_loss(finished):
    best = made_again(finished).seeds[made_again(finished).best]
    assert line_of(finished, "attefa").value == pytest.approx(best.attefa)
    assert line_of(finished, "attefa").best == pytest.approx(made_again(finished).constant.attefa)


def test_the_frozen_optimum_stands_beside_it(finished):
    frozen = made_again(finished).frozen
    assert frozen is not None
    assert line_of(finished, "attefa_frozen").value == pytest.approx(frozen.attefa)


def test_every_adversary_s_score_is_detailed_with_whether_it_gave_up(finished):
    details, members = line_of(finished, "attefa").details, made_again(finished).seeds
    scores = {name: value for name, value in details.items() if name.startswith("adversary ")}
    assert list(scores.values()) == pytest.approx([member.attefa for member in members])
    assert ["gave up" in name for name in scores] == [bool(member.gave_up) for member in members]


def test_the_constant_answer_is_one_for_all_texts_whatever_the_batches(finished):
    columns = columns_of([finished.rows])
    moved = columns["attefa.constant_tvd"][0]
    chance = columns["prediction.probability"][0].where(columns["prediction.predicted"][0] == 1, torch.nan)
    positive = chance.where(~chance.isnan(), 1 - columns["prediction.probability"][0])
    assert moved.mean().item() == pytest.approx((positive - positive.median()).abs().mean().item(), abs=1e-6)


def test_only_a_token_wise_model_has_a_cap_by_type(finished):
    recurrent = train(changed(training__epochs=1, network__encoder="bilstm"), toy())
    beside = audit(recurrent, toy(), ONLY, ComparisonModels(adversaries=(recurrent,)))
    for own, has_cap in ((finished, True), (beside, False)):
        assert ("type_cap" in set(own.rows.filter(pl.col("test") == "attefa")["measure"])) == has_cap


def test_an_adversary_that_is_the_model_itself_has_no_score(base):
    same = audit(base, toy(), ONLY, ComparisonModels(adversaries=(base,)))
    assert line_of(same, "attefa").score is None


def test_three_classes_have_no_frozen_optimum_and_the_question_is_not_asked():
    three = toy(labels=("bad", "good", "odd"))
    base = train(changed(training__epochs=2), three)
    adversary = train(adversary_of(base.run, 1, SHORT), three, reference=base)
    finished = audit(base, three, ONLY, ComparisonModels(adversaries=(adversary,)))
    names = {line.name for line in finished.lines}
    assert "attefa" in names and "attefa_frozen" not in names
    assert line_of(finished, "attefa").value is not None
    assert not any("frozen" in measure for measure in finished.rows.filter(test="attefa")["measure"])


def test_the_same_model_from_other_seeds_adds_its_rows(base):
    other = train(changed(training__epochs=6, seed=5), toy())
    rows = audit(base, toy(), ONLY, ComparisonModels(seeds=(other,))).rows
    largest = rows.filter((pl.col("test") == "seeds") & (pl.col("measure") == "max_js"))["value"]
    assert (largest > 0).all()


def test_shown_texts_have_the_attention_of_another_seed(base):
    other = train(update_settings(base.run, {"seed": 5}), toy())
    beside = audit(base, toy(), AuditSettings(tests=("prediction",), shown=3), ComparisonModels(seeds=(other,)))
    alone = audit(other, toy(), AuditSettings(tests=("prediction",), shown=3))
    mine = beside.rows.filter(measure="seed_attention").sort("example", "item")
    theirs = alone.rows.filter(measure="attention").sort("example", "item")
    assert mine["example"].n_unique() == 3
    assert mine["value"].to_list() == pytest.approx(theirs["value"].to_list())


def test_the_same_model_from_other_seeds_is_asked_about_stability(base):
    same = audit(base, toy(), ONLY, ComparisonModels(seeds=(base, base)))
    line = line_of(same, "seeds")
    assert line.group == "stability"
    assert line.value == pytest.approx(line.best) and line.floor == 0  # attention has not moved at all


def test_a_retrained_model_adds_its_line(base):
    other = train(update_settings(base.run, {"network.attention": "uniform"}), toy())
    beside = audit(base, toy(), ONLY, ComparisonModels(retrained=other))
    lost = base.scores["test"]["accuracy"] - other.scores["test"]["accuracy"]
    assert line_of(beside, "uniform_retrained").value == pytest.approx(lost)


COMPANIONS = ComparisonModels(retrained=1, seeds=(2, 3), adversaries=(4,), reference=5)


def test_companions_are_listed_by_role_and_the_reference_last():
    assert COMPANIONS.by_role() == {"retrained": (1,), "seed": (2, 3), "adversary": (4,)}
    assert list(COMPANIONS) == [1, 2, 3, 4, 5]
    assert list(ComparisonModels()) == [] and ComparisonModels().by_role() == {
        "retrained": (),
        "seed": (),
        "adversary": (),
    }


def test_companions_can_be_made_into_something_else():
    assert COMPANIONS.map(str) == ComparisonModels("1", ("2", "3"), ("4",), "5")
    assert ComparisonModels().map(str) == ComparisonModels()
