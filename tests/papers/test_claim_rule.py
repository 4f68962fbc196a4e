"""The rule by which claims are judged, on numbers made by hand; and numbers of tables."""

from dataclasses import replace
from datetime import date
from math import isnan
from pathlib import Path
from runpy import run_path

import pytest
import torch
from scipy import stats

from heedful.measures import Estimate
from heedful.papers import claim_rule
from heedful.papers.claim_rule import (
    claim_word,
    effect_text,
    judge_claim,
    margins_hash,
    sets_text,
    summary_sentence,
)
from heedful.papers.reproduction import Cell, Claim, Study
from support.runs import RUN
from support.synthetic_results import described, known, made_cell, made_results, share

NAMES = ("a", "b", "c", "d")
CLAIM = Claim("so", "quote", "section 1", "It is so.", "more", "x.y", "nats", 0.05, "a reason", date.min, NAMES)
TEXTS = 200


def near(mean, *, seeds=3, spread=0.01, seed_spread=0.0, number=0):
    """[seed text]: values around the mean."""
    generator = torch.Generator().manual_seed(number)
    noise = torch.randn(seeds, TEXTS, generator=generator, dtype=torch.float64)
    shift = torch.randn(seeds, 1, generator=generator, dtype=torch.float64)
    return mean + spread * (noise - noise.mean()) + seed_spread * (shift - shift.mean())


def judged(*means, claim=CLAIM, printed=None, failed=(), **values):
    """The claim, judged on datasets with these effects."""
    sets = {
        name: near(mean, number=place, **values) for place, (name, mean) in enumerate(zip(NAMES, means, strict=False))
    }
    return judge_claim(claim, sets, printed or {}, failed)


def outcome(mean, claim=CLAIM, **values):
    return judged(mean, claim=claim, **values).sets[0].outcome


def test_an_effect_holds_on_a_set_if_its_direction_is_certain_and_its_size_is_not_negligible():
    assert [outcome(mean) for mean in (0.2, 0.0, -0.2)] == ["holds", "no relevant effect", "opposite"]
    assert outcome(0.2, spread=4.0) == "open"  # the direction is not certain
    assert outcome(0.045, seed_spread=0.01) == "open"  # certain, and below the margin, but perhaps not surely
    baseline = replace(CLAIM, kind="share", baseline=0.5, margin=0.1)
    values = {"a": share(0.8, 3), "b": share(0.5, 3), "c": share(0.2, 3), "d": share(0.58, 3)}
    outcomes = [each.outcome for each in judge_claim(baseline, values).sets]
    assert outcomes == ["holds", "no relevant effect", "opposite", "open"]


def test_no_loss_and_the_same_are_judged_against_the_margin():
    no_loss, same = (replace(CLAIM, kind=kind) for kind in ("no_loss", "same"))
    assert [outcome(mean, no_loss) for mean in (0.2, 0.0, -0.04, -0.05, -0.2)] == [
        *("holds", "holds", "holds", "open", "opposite")
    ]
    assert [outcome(mean, same) for mean in (0.2, 0.04, 0.0, 0.05, -0.2)] == [
        *("opposite", "holds", "holds", "open", "opposite")
    ]


def test_the_word_follows_from_the_outcomes_on_the_sets_that_count():
    for outcomes, word in {
        "hhh": "replicated",
        "hho": "replicated",
        "hhn": "replicated",
        "hhx": "mixed",
        "hoo": "open",
        "ho": "open",
        "hn": "mixed",
        "h": "open",
        "nno": "not replicated",
        "nx": "not replicated",
        "no": "open",
        "o": "open",
        "": "not tested",
    }.items():
        named = {"h": "holds", "x": "opposite", "n": "no relevant effect", "o": "open"}
        assert claim_word([named[letter] for letter in outcomes]) == word, outcomes
    assert claim_word(["holds"], single=True) == "replicated"
    assert judged(0.2, claim=replace(CLAIM, sets=("a",))).word == "replicated"
    assert judged(0.2).word == "open"


def test_sets_that_the_paper_excepts_or_does_not_show_or_that_were_not_learned_are_shown_and_do_not_count():
    claim = replace(CLAIM, excepts={"c": "its exception"}, stand_ins={"b": "for B"})
    result = judged(0.2, 0.2, -0.2, -0.2, claim=claim, printed={"a": 0.3, "d": 0.01})
    assert [each.counts for each in result.sets] == [True, True, False, False]
    assert [each.why for each in result.sets][1:3] == ["stands in: for B", "its exception"]
    assert "own effect" in result.sets[3].why
    assert (result.word, sets_text(result)) == ("replicated", "on 2 of 2 datasets")
    result = judged(0.2, 0.2, -0.2, failed=["c"])
    assert (result.word, result.sets[2].counts) == ("replicated", False)
    empty = judge_claim(CLAIM, {"a": torch.full((2, 3), torch.nan)})
    assert (empty.word, empty.sets, isnan(empty.p), sets_text(empty)) == ("not tested", (), True, "no dataset")


def test_effects_that_vary_in_size_are_replicated_and_the_mean_only_describes_them():
    result = judged(0.1, 0.3, 0.5, 2.0)
    assert result.word == "replicated"
    assert result.mean is not None and result.new_set is not None
    assert result.mean.value == pytest.approx(0.725, abs=0.01) and result.mean.low < 0.05
    assert result.new_set[0] < result.mean.low
    means = [0.1, 0.3, 0.5, 2.0]
    low, high = stats.t.interval(0.95, 3, loc=sum(means) / 4, scale=stats.sem(means))
    assert (result.mean.low, result.mean.high) == (pytest.approx(low, abs=0.02), pytest.approx(high, abs=0.02))
    assert judged(0.2).mean is None and judged(0.2, 0.3).new_set is None


def test_the_partial_conjunction_p_value_by_hand():
    """Of four sets three must show the effect: (4 - 3 + 1) times the third smallest p value."""
    result = judged(0.2, 0.2, 0.2, 0.0)
    assert result.p == pytest.approx(0.0, abs=1e-6)
    result = judged(0.2, 0.2, 0.0, 0.0)
    assert result.p == pytest.approx(1.0, abs=0.1)  # two p values of one half
    assert judged(0.0, 0.0, claim=replace(CLAIM, kind="no_loss")).p < 1e-6


def test_the_paper_s_number_is_compared_with_one_further_run():
    values = {"a": near(0.3, seed_spread=0.1, seeds=5)}
    inside, outside = (judge_claim(CLAIM, values, {"a": number}).sets[0] for number in (0.45, 1.5))
    assert (inside.predicted, outside.predicted) == (True, False)
    assert judge_claim(CLAIM, values).sets[0].predicted is None


def test_an_open_claim_says_what_would_decide_it():
    result = judged(0.1, 0.1, 0.1, seed_spread=0.1, spread=0.001)
    assert result.word == "open"
    assert "a: " in result.decides and "seeds (now 3)" in result.decides
    assert judged(0.2, seeds=1).decides == "a: a second seed"
    assert judged(0.2).decides == "another dataset"
    assert judged(0.2, 0.2).decides == ""
    close = judged(-0.05, -0.05, claim=replace(CLAIM, kind="no_loss"), spread=1.0)
    assert (close.word, close.decides.count("too close to the margin")) == ("open", 2)


def test_margins_have_a_hash_that_changes_with_them_and_not_with_words():
    assert judged(0.2).margins == margins_hash(CLAIM) == margins_hash(replace(CLAIM, statement="Else."))
    for change in ({"margin": 0.04}, {"baseline": 0.1}, {"sets": ("a",)}, {"excepts": {"a": "so"}}, {"kind": "same"}):
        assert margins_hash(replace(CLAIM, **change)) != margins_hash(CLAIM)


def study(**parts):
    nothing = {"runs": lambda scale: [], "tables": lambda results: [], "figures": lambda results: []}
    return Study("tiny", "attefa", "Tiny", "Nobody", {"small": ""}, **{**nothing, **parts})


def judged_on(claim, *cells, **parts):
    return claim_rule._judged_on(claim, study(**parts), made_results(*cells))


def test_models_of_a_set_are_averaged_and_each_is_paired_with_its_partner():
    cells = [
        made_cell("a", encoder, method, columns={"x.y": value, "x.z": 0.1})
        for (encoder, method), value in {
            ("rnn", "new"): 0.8,
            ("cnn", "new"): 0.4,
            ("rnn", "old"): 0.2,
            ("cnn", "old"): 0.3,
            ("gru", "new"): 9.0,
        }.items()
    ]
    claim = replace(CLAIM, of={"encoder": "rnn or cnn", "method": "new"}, minus={"method": "old"})
    assert judged_on(claim, *cells).sets[0].effect.value == pytest.approx((0.6 + 0.1) / 2, abs=1e-3)
    claim = replace(CLAIM, of={"encoder": "rnn", "method": "new"}, minus={"measure": "x.z"})
    assert judged_on(claim, *cells).sets[0].effect.value == pytest.approx(0.7, abs=1e-3)
    named = replace(CLAIM, measure="doubled", of={"encoder": "rnn", "method": "new"})
    doubled = {"doubled": lambda cell: 2 * cell.columns["x.y"]}
    assert judged_on(named, *cells, columns=doubled).sets[0].effect.value == pytest.approx(1.6, abs=1e-3)
    missing = {"doubled": lambda cell: 2 * cell.columns["not.measured"]}
    assert judged_on(named, *cells, columns=missing).word == "not tested"
    of_results = {"doubled": lambda results, data: near(0.5)}
    assert judged_on(named, *cells, measures=of_results).sets[0].effect.value == pytest.approx(0.5)


def test_only_the_side_that_must_have_learned_its_task_is_asked():
    constant = {"prediction.label": share(0.5), "prediction.correct": share(0.5), "x.y": 0.9}
    cells = [made_cell("a", "rnn", "bad", columns=constant), made_cell("a", "rnn", "good", columns={"x.y": 0.1})]
    claim = replace(CLAIM, of={"method": "bad"}, minus={"method": "good"})
    assert not claim_rule.cell_has_learnt(cells[0]) and claim_rule.cell_has_learnt(cells[1])
    for side, counts in {"": True, "minus": True, "of": False, "both": False}.items():
        assert judged_on(replace(claim, learnt=side), *cells).sets[0].counts == counts


def test_claims_in_words():
    first, second = judged(0.2, 0.2), judged(0.0, 0.0, 0.0)
    own = replace(first, claim=replace(CLAIM, origin="own"))
    assert summary_sentence([first, first, second, own]) == "2 of 3 quoted claims replicated; 1 not replicated."
    assert summary_sentence([first]) == "1 of 1 quoted claims replicated." and summary_sentence([own])[:2] == "No"
    assert sets_text(judged(0.2, -0.2, 0.0)) == "on 1 of 3 datasets (1 opposite, 1 no relevant effect)"
    number = Estimate(0.1234, 0.1, 0.15, 100)
    assert effect_text(CLAIM, number) == "0.123 (0.100 to 0.150)" and effect_text(CLAIM, None) == "–"
    assert effect_text(replace(CLAIM, unit="accuracy"), number) == "12.3 (10.0 to 15.0)"
    assert effect_text(replace(CLAIM, unit="share of texts"), 0.5) == "50.0%"


# The rule in simulated worlds: a quick version of benchmarks/claims.py.


def test_a_claim_is_hardly_ever_replicated_by_chance_and_mostly_if_it_is_true():
    words = run_path(str(Path(__file__).parents[2] / "benchmarks" / "claims.py"))["words"]
    assert words(0.0, 0.0, 3, 3, 200)["replicated"] == 0
    assert words(3.0, 1.0, 3, 3, 60)["replicated"] >= 57
    assert words(0.0, 0.0, 4, 5, 60)["not replicated"] >= 40  # absence needs seeds: .80 with five


# Numbers of tables.


def scored(*accuracies, columns=None):
    """A cell with a run of each accuracy."""
    runs = (described(RUN).model_copy(update={"scores": {"test": {"accuracy": each}}}) for each in accuracies)
    return Cell("sst2", "bilstm", "bilstm", "", tuple(runs), columns or {})


def test_scores_are_averaged_over_seeds_or_those_of_the_audited_texts():
    score = known(claim_rule.score_estimate(scored(0.80, 0.81, 0.82), "accuracy"))
    low, high = stats.t.interval(0.95, df=2, loc=0.81, scale=stats.sem([0.80, 0.81, 0.82]))
    assert (score.value, score.low, score.high) == pytest.approx((0.81, low, high))
    assert score.n == 3
    assert claim_rule.score_estimate(scored(0.8), "no_such_score") is None
    single = known(claim_rule.score_estimate(scored(0.8), "accuracy"))
    assert single.value == 0.8 and isnan(single.low) and isnan(single.high)
    assert known(claim_rule.score_estimate(scored(0.9, 1.0), "accuracy")).high == 1.0
    assert known(claim_rule.score_estimate(scored(0.0, 0.1), "accuracy")).low == 0.0
    audited = scored(0.80, 0.81, columns={"prediction.correct": share(0.9)})
    assert known(claim_rule.score_estimate(audited, "accuracy")) == claim_rule.estimate(share(0.9))


def test_differences_are_no_shares_and_values_elsewhere_are_left_out():
    difference = claim_rule.paired(near(0.5, seeds=3, spread=0), near(0.2, seeds=2, spread=0))
    assert difference.shape == (2, TEXTS)
    assert difference.mean() == pytest.approx(0.3)
    values = claim_rule.only_where(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[True, False, True]]))
    estimate = claim_rule.estimate(values)
    assert (estimate.n, estimate.value) == (2, 2.0)
    empty = claim_rule.entry(None, 0.3)
    assert (empty.ours, empty.paper) == (None, 0.3)
    alike = torch.zeros(3, 100, dtype=torch.float64)
    assert known(claim_rule.entry(alike).ours).low == 0
    equal = known(claim_rule.entry(alike, is_difference=True).ours)
    assert equal.low == pytest.approx(-equal.high) and equal.high > 0.01
    same = judge_claim(replace(CLAIM, kind="no_loss"), {"a": alike}).sets[0].effect
    assert same.low == pytest.approx(-same.high) and same.high > 0.01
