"""What the page shows of a text is what an audit measures of it."""

import pytest
import torch

from heedful.battery.evidence import RANKINGS
from heedful.report.explanation import explain
from heedful.verdict.outcome_text import BADGES


def test_the_state_is_that_of_the_audit(each, post):
    state, evidence = post("read", each.request), each.evidence()
    assert state["attention"] == each.real(evidence.attention)
    assert state["logits"] == evidence.trace.logits[0].tolist()
    assert state["probabilities"] == evidence.probabilities[0].tolist()
    assert state["predicted"] == int(evidence.predicted[0])
    assert len(state["items"]) == len(state["attention"])


def test_the_state_is_that_of_the_explanation(model, post):
    case = model("bilstm")
    explanation, state = explain(case.trained, case.text)[0], post("read", case.request)
    labels = case.served.info.labels
    assert tuple(item["label"] for item in state["items"]) == explanation.items
    assert labels[state["predicted"]] == explanation.predicted
    assert state["probabilities"] == pytest.approx([explanation.probabilities[label] for label in labels], abs=1e-12)


def test_rankings_are_those_of_the_audit(each, post):
    evidence = each.evidence()
    ranked = {ranking["name"]: ranking for ranking in post("read", each.request)["rankings"]}
    assert set(ranked) == {*RANKINGS, "alone", "effect"}
    assert {ranking["badge"] for ranking in ranked.values()} <= {*BADGES.values()}
    with torch.no_grad():
        for name in RANKINGS:
            own = evidence.attention if name == "attention" else RANKINGS[name](evidence)
            assert ranked[name]["weights"] == pytest.approx(each.real(own), abs=1e-12), name


def test_a_linear_model_is_its_item_logits(linear, post):
    state = post("read", linear.request)
    mixed = torch.tensor(state["attention"], dtype=torch.float64) @ torch.tensor(
        state["item_logits"], dtype=torch.float64
    )
    assert mixed.tolist() == pytest.approx(state["logits"], abs=1e-12)
    evidence = linear.evidence()
    assert state["empty_logits"] == pytest.approx(evidence.empty_logits[0].tolist(), abs=1e-12)


def test_a_model_that_is_not_linear_has_no_item_logits(model, post):
    state = post("read", model("tanh").request)
    assert state["item_logits"] is None and state["empty_logits"] is None


def test_words_are_where_javascript_would_cut_them(model, post):
    case = model("average")
    text = "\N{GRINNING FACE} good — film"
    units = text.encode("utf-16-le")
    for word in post("read", {**case.request, "text": text})["words"]:
        assert units[2 * word["start"] : 2 * word["end"]].decode("utf-16-le") == word["text"]


def test_unknown_words_are_named(model, post):
    state = post("read", {**model("average").request, "text": "good zebra"})
    assert [word["is_known"] for word in state["words"]] == [True, False]
    assert "does not know “zebra”" in " ".join(state["notes"])


def test_a_quick_reading_leaves_out_what_is_costly(model, post):
    quick = post("read", {**model("bilstm").request, "is_quick": True})
    whole = post("read", model("bilstm").request)
    assert [ranking["name"] for ranking in quick["rankings"]] == [
        "attention",
        "weight_gradient",
        "attention_x_gradient",
    ]
    assert quick["outcome"] is None and whole["outcome"]["sentences"]
    assert {name: quick[name] for name in ("attention", "logits", "item_logits", "widest")} == {
        name: whole[name] for name in ("attention", "logits", "item_logits", "widest")
    }


def test_long_texts_are_cut_and_say_so(model, post):
    state = post("read", {**model("average").request, "text": "good film " * 1_500})
    assert len(state["words"]) == 2_000
    notes = " ".join(state["notes"])
    assert (
        "first 2,000 of 3,000 words" in notes
        and "Leave-one-out and gradient x input are left out" in notes
        and "too long to judge" in notes
    )
    assert state["outcome"] is None


def test_a_single_word_has_no_outcome(model, post):
    state = post("read", {**model("average").request, "text": "good"})
    assert state["attention"] == [1.0] and state["widest"] is None
    assert state["outcome"]["sentences"] == ["The text has a single word, so there is nothing to choose from."]
