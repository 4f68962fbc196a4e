"""What the page shows of a text is what an audit measures of it."""

from dataclasses import replace

import pytest
import torch

from heedful.battery.evidence import RANKINGS
from heedful.measures import js_divergence, total_variation_distance
from heedful.report.explanations import explain
from heedful.schema import TextOutcome
from heedful.server.text_state import (
    can_be_judged,
    divergence,
    heat_map_of,
    is_affordable,
    outcomes_of,
    prediction_change,
    rankings_of,
    shown_outcome,
)
from heedful.settings import AuditSettings
from heedful.verdict.answer_text import BADGES, outcome_sentences

# What the sliders say is what the model says.


def weights_of(count: int) -> list[float]:
    drawn = torch.rand(count, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return (drawn / drawn.sum()).tolist()


def test_what_sliders_show_is_what_decode_gives(every, post):
    for each in every:
        evidence = each.evidence()
        weights = weights_of(int(evidence.items.sum()))
        answer = post("decode", {**each.request, "attention": weights})
        own = torch.zeros_like(evidence.attention)
        own[evidence.items] = torch.tensor(weights, dtype=own.dtype)
        logits = evidence.decode(own)
        assert answer["logits"] == pytest.approx(logits[0].tolist(), abs=1e-12)
        assert answer["predicted"] == int(logits.argmax())
        assert answer["tvd"] == pytest.approx(
            float(total_variation_distance(logits.softmax(-1), evidence.probabilities)), abs=1e-12
        )
        assert answer["jsd"] == pytest.approx(float(js_divergence(own, evidence.attention, evidence.items)), abs=1e-12)
        assert answer["item_logits"] is None
    for each in every:
        with each.served.reading(each.text, each.query) as read:
            own = prediction_change(read, read.evidence.trace.logits)
            assert own.tvd == 0 and not own.is_changed and "moves by 0.00" in own.move and "stays" in own.move
            assert divergence(read, read.evidence.attention) == pytest.approx(0, abs=1e-12)


def test_weights_of_another_text_or_of_words_that_have_none_are_refused(refused, model, post):
    for weights, said in [([0.5, 0.5], "has 2"), ([0.5] * 10, "sums to 5")]:
        refused("decode", {**model("average").request, "attention": weights}, said)
    for weights, said in [([1.0], "15 words; it has 1"), ([0.1] * 15, "sentence 1 it sums to 0.5")]:
        case = model("hierarchical")
        attention = post("read", case.request)["attention"]
        content = {**case.request, "attention": attention, "word_attention": weights}
        refused("decode", content, said)
    case = model("average")
    state = post("read", case.request)
    assert state["word_attention"] is None
    content = {**case.request, "attention": state["attention"], "word_attention": state["attention"]}
    refused("decode", content, "cannot be combined with this model")


# What the model says under other weights, in numbers and words.


def test_a_changed_decision_is_named(model):
    case = model("average")
    with case.served.reading(case.text) as read:
        other = prediction_change(read, -read.evidence.trace.logits)
    labels = case.served.info.labels
    assert other.is_changed and other.label == labels[1 - int(case.evidence().predicted[0])]
    assert f"flips to {other.label} ({max(other.probabilities):.2f})" in other.move


# The outcome of a text on the live page: in the words of every view.

SETTINGS = AuditSettings()


def test_outcomes_and_scores_of_single_words_are_those_of_the_explanation(every):
    for each in every:
        texts = (each.text, each.query) if each.query else each.text
        (made,) = explain(each.trained, texts)
        with each.served.reading(each.text, each.query) as read:
            assert outcomes_of(read, each.served.settings)["attention"] == made.outcome
            shown = shown_outcome(read, each.served.settings)
        assert shown.sentences == list(outcome_sentences(made.outcome, made.items, made.item))
        assert (shown.outcome, shown.key_words) == (made.outcome.outcome, made.outcome.key_words)
    for each in every:
        with each.served.reading(each.text, each.query) as read:
            ranked = {ranking.name: ranking.weights for ranking in rankings_of(read, SETTINGS)}
            for name in ("leave_one_out", "alone", "effect"):
                assert len(ranked[name]) == read.count and None not in ranked[name]
        with each.served.reading("good", each.query) as read:
            assert "effect" not in {ranking.name for ranking in rankings_of(read, SETTINGS)}


def test_it_is_judged_once(model, monkeypatch):
    case, calls = model("bilstm"), []
    found = TextOutcome(predicted="good", outcome="misses")
    monkeypatch.setattr(
        "heedful.server.text_state.judged_outcomes", lambda *own: calls.append(own) or [{"attention": found}]
    )
    with case.served.reading("so good so bad film") as read:
        assert outcomes_of(read, SETTINGS) == outcomes_of(read, SETTINGS) == {"attention": found}
        read.outcomes.clear()
    assert len(calls) == 1


def test_a_sentence_has_one_color(model):
    case = model("hierarchical")
    with case.served.reading(case.text) as read:
        assert heat_map_of(read, [0.5, 0.3, 0.2]).weights == [0.5] * 5 + [0.3] * 6 + [0.2] * 4


# The most that any attention can move the prediction.


def drawn_moves(case) -> torch.Tensor:
    """How far many random attentions, sharp and flat, move the prediction."""
    evidence = case.evidence()
    generator = torch.Generator().manual_seed(0)
    drawn = torch.rand(500, int(evidence.items.sum()), generator=generator, dtype=torch.float64)
    sharp = (drawn * 20 * torch.rand(500, 1, generator=generator, dtype=torch.float64)).softmax(-1)
    weights = torch.zeros(1, 500, evidence.items.shape[1], dtype=torch.float64)
    weights[0][:, evidence.items[0]] = sharp
    predictions = evidence.decode_each(weights)[0].softmax(-1)
    return total_variation_distance(predictions, evidence.probabilities.expand_as(predictions))


def test_the_widest_move_is_attained_and_says_how_sure_it_is(model, post, every):
    for name in ["average", "bilstm", "framed", "nli", "hierarchical"]:
        case = model(name)
        widest = post("read", case.request)["widest"]
        assert widest["solver"] == "exact"
        moved = drawn_moves(case).max()
        assert moved <= widest["tvd"] + 1e-12 and moved > 0.5 * widest["tvd"]
    for each in every:
        widest = post("read", each.request)["widest"]
        answer = post("decode", {**each.request, "attention": widest["attention"]})
        assert answer["tvd"] == pytest.approx(widest["tvd"], abs=1e-12)
    badges = {name: post("read", model(name).request)["widest"]["solver"] for name in ("average", "three", "tanh")}
    assert badges == {"average": "exact", "three": "bound", "tanh": "search"}


# Rankings beside attention: people's marks, and what is too costly.


def test_marks_are_a_ranking_of_words_and_of_sentences(model):
    case = model("average")
    with case.served.reading(case.text) as read:
        assert "rationale" not in {ranking.name for ranking in rankings_of(read, SETTINGS, is_quick=True)}
        marked = rankings_of(replace(read, marks=(4,)), SETTINGS, is_quick=True)[-1]
    assert marked.name == "rationale" and marked.weights == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    case = model("hierarchical")
    with case.served.reading(case.text) as read:
        marked = rankings_of(replace(read, marks=(3, 13, 12)), SETTINGS, is_quick=True)[-1]
    assert marked.weights == [0.2, 0, 0.5]


def test_long_texts_have_no_costly_rankings_and_longer_ones_no_outcome(model):
    with model("bilstm").served.reading("good film " * 50 + "so") as read:
        assert is_affordable(read) and not can_be_judged(read)
        ranked = {ranking.name: ranking.badge for ranking in rankings_of(read, SETTINGS)}
    assert "leave_one_out" in ranked and "effect" not in ranked and set(ranked.values()) == {""}
    with model("bilstm").served.reading("good film " * 50) as read:
        assert can_be_judged(read)
    case = model("bilstm")
    with case.served.reading("good film " * 100) as read:
        assert is_affordable(read)
    with case.served.reading("good film " * 100 + "so") as read:
        assert not is_affordable(read)
        assert {ranking.name for ranking in rankings_of(read, SETTINGS)} == {
            "attention",
            "weight_gradient",
            "attention_x_gradient",
        }


# Words of sentences: their weights, and what the model says under others.


def test_word_weights_are_what_the_encoder_makes_of_them(model, post):
    case = model("hierarchical")
    state = post("read", case.request)
    assert [len(item["words"]) for item in state["items"]] == [5, 6, 4]
    own = state["word_attention"]
    assert len(own) == len(state["words"])
    for item in state["items"]:
        assert sum(own[place] for place in item["words"]) == pytest.approx(1)
    answer = post("decode", {**case.request, "attention": state["attention"], "word_attention": own})
    assert answer["logits"] == pytest.approx(state["logits"], abs=1e-12)
    for row, own_row in zip(answer["item_logits"], state["item_logits"], strict=True):
        assert row == pytest.approx(own_row, abs=1e-12)
    first = [float(item["words"][0] == place) for item in state["items"] for place in item["words"]]
    answer = post("decode", {**case.request, "attention": state["attention"], "word_attention": first})
    evidence = case.evidence()
    encoder, batch, embedded = evidence.model.encoder, evidence.trace.batch, evidence.trace.embedded
    with torch.no_grad():
        vectors = []
        for sentence in range(len(state["items"])):
            own = embedded[:, batch.sentence[0] == sentence]
            hidden = encoder.words(own, torch.ones(own.shape[:2], dtype=torch.bool))
            vectors.append(hidden[0, 0])
        hidden = encoder.sentences(torch.stack(vectors)[None], evidence.items)
        logits = evidence.model.head((evidence.attention[:, None] @ hidden)[:, 0], None)
    assert answer["logits"] == pytest.approx(logits[0].tolist(), abs=1e-12)
    assert answer["tvd"] > 0


def test_state_and_rankings_are_those_of_the_audit(every, post, every_linear):
    for each in every:
        state, evidence = post("read", each.request), each.evidence()
        assert state["attention"] == each.real(evidence.attention)
        assert state["logits"] == evidence.trace.logits[0].tolist()
        assert state["probabilities"] == evidence.probabilities[0].tolist()
        assert state["predicted"] == int(evidence.predicted[0])
        assert len(state["items"]) == len(state["attention"])
    for each in every:
        evidence = each.evidence()
        ranked = {ranking["name"]: ranking for ranking in post("read", each.request)["rankings"]}
        assert set(ranked) == {*RANKINGS, "alone", "effect"}
        assert {ranking["badge"] for ranking in ranked.values()} <= {*BADGES.values()}
        with torch.no_grad():
            for name in RANKINGS:
                own = evidence.attention if name == "attention" else RANKINGS[name](evidence)
                assert ranked[name]["weights"] == pytest.approx(each.real(own), abs=1e-12), name
    for linear in every_linear:
        state = post("read", linear.request)
        mixed = torch.tensor(state["attention"], dtype=torch.float64) @ torch.tensor(
            state["item_logits"], dtype=torch.float64
        )
        assert mixed.tolist() == pytest.approx(state["logits"], abs=1e-12)
        evidence = linear.evidence()
        assert state["empty_logits"] == pytest.approx(evidence.empty_logits[0].tolist(), abs=1e-12)


def test_words_are_where_javascript_cuts_them_and_unknown_or_single_ones_said(model, post):
    case = model("average")
    text = "\N{GRINNING FACE} good — film"
    units = text.encode("utf-16-le")
    for word in post("read", {**case.request, "text": text})["words"]:
        assert units[2 * word["start"] : 2 * word["end"]].decode("utf-16-le") == word["text"]
    state = post("read", {**model("average").request, "text": "good zebra"})
    assert [word["is_known"] for word in state["words"]] == [True, False]
    assert "does not know “zebra”" in " ".join(state["notes"])
    state = post("read", {**model("average").request, "text": "good"})
    assert state["attention"] == [1.0] and state["widest"] is None
    assert state["outcome"]["sentences"] == ["The text has a single word, so there is nothing to choose from."]


def test_long_texts_are_cut_and_a_quick_reading_leaves_out_what_is_costly(model, post):
    state = post("read", {**model("average").request, "text": "good film " * 1_500})
    assert len(state["words"]) == 2_000
    notes = " ".join(state["notes"])
    assert (
        "first 2,000 of 3,000 words" in notes
        and "Leave-one-out and gradient x input are left out" in notes
        and "too long to compute its outcome" in notes
    )
    assert state["outcome"] is None
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
