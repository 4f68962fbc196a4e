"""Erasures: the top item, down a ranking, and the smallest set."""

import pytest
import torch

from heedful.exact import first_flip, minimal_flip_set, prefix_logits, single_erasure_logits
from heedful.report.explanations import explain


def in_order(evidence):
    return torch.arange(evidence.items.shape[1])[None]


def test_erasures_are_those_of_the_exact_form(every_linear, act):
    for linear in every_linear:
        evidence, answer = linear.evidence(), act(linear, "remove_top")
        top = int(evidence.ranked("attention", in_order(evidence))[0, 0])
        logits = single_erasure_logits(evidence.log_attention, evidence.item_logits)[0, top]
        assert answer["logits"] == pytest.approx(logits.tolist(), abs=1e-12)
        assert answer["attention"][answer["items"][0]] == 0 and sum(answer["attention"]) == pytest.approx(1)
        assert answer["solver"] == "exact"
    for linear in every_linear:
        evidence = linear.evidence()
        for ranking in ("attention", "weight_gradient", "attention_x_gradient", "gradient_x_input", "leave_one_out"):
            answer = act(linear, "erase_ranking", ranking=ranking)
            order = evidence.ranked(ranking, in_order(evidence))
            logits = prefix_logits(evidence.log_attention, evidence.item_logits, order)[0]
            assert len(answer["steps"]) == int(evidence.items.sum()) - 1
            for step, row in zip(answer["steps"], logits, strict=False):
                assert step["probabilities"] == pytest.approx(row.softmax(-1).tolist(), abs=1e-12)
                assert step["predicted"] == int(row.argmax())
            flip = float(first_flip(evidence.log_attention, evidence.item_logits, order, evidence.items).count[0])
            assert answer["flips_at"] == (None if flip != flip else int(flip))


def test_prefixes_of_a_head_that_is_not_linear_are_decoded(model, act):
    case = model("tanh")
    evidence, answer = case.evidence(), act(case, "erase_ranking")
    keep = evidence.items
    for place, step in zip(evidence.ranked("attention", in_order(evidence))[0], answer["steps"], strict=False):
        keep = keep.scatter(1, place[None, None], False)
        expected = evidence.decode_kept(keep).softmax(-1)[0].tolist()
        assert step["probabilities"] == pytest.approx(expected, abs=1e-12)
    changed = [step["predicted"] != int(evidence.predicted[0]) for step in answer["steps"]]
    assert answer["flips_at"] == (changed.index(True) + 1 if any(changed) else None)


def test_the_sliders_can_be_set_to_what_is_left(every, act, post):
    for each in every:
        for action in ("remove_top", "erase_ranking", "smallest_set"):
            answer = act(each, action)
            decoded = post("decode", {**each.request, "attention": answer["attention"]})
            assert answer["is_settable"]
            assert decoded["probabilities"] == pytest.approx(answer["probabilities"], abs=1e-9), action


def test_the_smallest_set_is_that_of_the_exact_form_and_the_explanation(every_linear, act, every, model):
    for linear in every_linear:
        evidence, answer = linear.evidence(), act(linear, "smallest_set")
        smallest = minimal_flip_set(evidence.log_attention, evidence.item_logits, evidence.items)
        size = float(smallest.size[0])
        assert len(answer["items"]) == (0 if size != size else int(size))
        assert answer["items"] == smallest.erased[0, evidence.items[0]].nonzero()[:, 0].tolist()
        assert answer["is_changed"] == bool(answer["items"])
        assert ("No smaller set" in answer["sentence"]) == bool(answer["items"])
    for each in every:
        explained = explain(each.trained, (each.text, each.query) if each.query else each.text)[0].smallest_set
        answer = act(each, "smallest_set")
        assert tuple(answer["items"]) == (() if explained is None else explained.positions)
        if explained is not None:
            assert each.served.info.labels[answer["predicted"]] == explained.becomes
            assert max(answer["probabilities"]) == pytest.approx(explained.probability, abs=1e-12)
    case = model("average")
    answer = act(type(case)(case.trained, case.served, "good good good"), "smallest_set")
    assert answer["items"] == [] and not answer["is_changed"]
    assert answer["sentence"].startswith("No set of items flips the prediction")


def test_costly_rankings_of_long_texts_and_single_items_are_refused(refused, model):
    content = {**model("bilstm").request, "text": "good film " * 200, "action": "erase_ranking"}
    refused("act", {**content, "options": {"ranking": "leave_one_out"}}, "options.ranking")
    for action in ["remove_top", "erase_ranking", "smallest_set", "other_attention", "shuffle"]:
        refused("act", {**model("average").request, "text": "good", "action": action}, "two items")
