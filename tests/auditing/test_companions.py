"""Other models beside the audited one."""

import math

import polars as pl
import pytest
import torch

from heedful.auditing.audit import audit
from heedful.auditing.companions import Company
from heedful.battery.attefa_family import family
from heedful.battery.questions import QUESTIONS
from heedful.runs.grid import ADVERSARY_SEEDS, adversary_of
from heedful.settings import AuditSettings, key_of
from heedful.training.loop import train
from heedful.verdict.scoring import columns_of
from support.runs import changed, toy

ONLY = AuditSettings(tests=("prediction",), shown=0)


@pytest.fixture(scope="module", params=["average", "bilstm"])
def base(request):
    return train(changed(training__epochs=6, network__encoder=request.param), toy())


@pytest.fixture(scope="module")
def adversaries(base):
    settings = {"epochs": 4, "min_epochs": 1, "patience": 3}
    return tuple(train(adversary_of(base.run, seed, settings), toy(), reference=base) for seed in (1, 2))


@pytest.fixture(scope="module")
def found(base, adversaries):
    return audit(base, toy(), ONLY, Company(adversaries=adversaries))


def line(found, name):
    return next(one for one in found.lines if one.name == name)


def made_again(found):
    columns = {name: values[0] for name, values in columns_of([found.rows]).items()}
    rows = {name.removeprefix("attefa."): values for name, values in columns.items() if name.startswith("attefa.")}
    seeds = [{part: columns[f"adversaries.{part}_{n}"] for part in ("tvd", "js", "apart")} for n in (1, 2)]
    return family(rows, seeds)


def test_a_text_has_a_row_for_each_adversary_and_measure(found):
    rows = found.rows.filter(pl.col("test") == "adversaries")
    assert set(rows["measure"]) == {f"{part}_{n}" for part in ("tvd", "js", "loss", "apart") for n in (1, 2)}
    assert set(rows["solver"]) == {"search"}
    assert rows.group_by("example").len()["len"].unique().to_list() == [8]


def test_the_value_is_attefa_of_the_best_adversary_by_loss(found):
    best = made_again(found).seeds[made_again(found).best]
    assert line(found, "attefa").value.value == pytest.approx(best.attefa)
    assert line(found, "attefa").best == pytest.approx(made_again(found).constant.attefa)


def test_the_frozen_optimum_stands_beside_it(found):
    frozen = made_again(found).frozen
    assert frozen is not None
    assert line(found, "attefa_frozen").value.value == pytest.approx(frozen.attefa)


def test_every_adversary_s_score_is_told_with_whether_it_gave_up(found):
    beside, members = line(found, "attefa").beside, made_again(found).seeds
    told = {name: value for name, value in beside.items() if name.startswith("adversary ")}
    assert list(told.values()) == pytest.approx([one.attefa for one in members])
    assert ["gave up" in name for name in told] == [bool(one.gave_up) for one in members]


def test_the_constant_answer_is_one_for_all_texts_whatever_the_batches(found):
    columns = columns_of([found.rows])
    moved = columns["attefa.constant_tvd"][0]
    chance = columns["prediction.probability"][0].where(columns["prediction.predicted"][0] == 1, torch.nan)
    positive = chance.where(~chance.isnan(), 1 - columns["prediction.probability"][0])
    assert moved.mean().item() == pytest.approx((positive - positive.median()).abs().mean().item(), abs=1e-6)


def test_only_a_token_wise_model_has_a_cap_by_type(base, found):
    measures = set(found.rows.filter(pl.col("test") == "attefa")["measure"])
    assert ("type_cap" in measures) == (base.run.network.encoder == "average")


def test_an_adversary_that_is_the_model_itself_has_no_score(base):
    same = audit(base, toy(), ONLY, Company(adversaries=(base,)))
    assert math.isnan(line(same, "attefa").score.value)


def test_three_classes_have_no_frozen_optimum_and_the_question_is_not_asked():
    needs = next(question.needs for question in QUESTIONS if question.name == "attefa_frozen")
    assert "attefa.frozen_tvd" in needs


def test_an_adversary_refers_to_its_base_and_keeps_its_network(base):
    run = adversary_of(base.run, ADVERSARY_SEEDS[0])
    assert run.reference == key_of(base.run)
    assert run.network == base.run.network
    assert (run.training.method, run.training.loss_sum, run.training.class_weights) == ("adversary", "mean", False)
    assert run.seed == 10


def test_the_same_model_from_other_seeds_adds_its_rows(base):
    other = train(changed(training__epochs=6, network__encoder=base.run.network.encoder, seed=5), toy())
    rows = audit(base, toy(), ONLY, Company(seeds=(other,))).rows
    largest = rows.filter((pl.col("test") == "seeds") & (pl.col("measure") == "max_js"))["value"]
    assert (largest > 0).all()


def test_shown_texts_have_the_attention_of_another_seed(base):
    other = train(base.run.model_copy(update={"seed": 5}), toy())
    found = audit(base, toy(), AuditSettings(tests=("prediction",), shown=3), Company(seeds=(other,)))
    alone = audit(other, toy(), AuditSettings(tests=("prediction",), shown=3))
    mine = found.rows.filter(measure="seed_attention").sort("example", "item")
    theirs = alone.rows.filter(measure="attention").sort("example", "item")
    assert mine["example"].n_unique() == 3
    assert mine["value"].to_list() == pytest.approx(theirs["value"].to_list())
