"""Words of sentences: their weights, and what the model says under others."""

import pytest
import torch


def test_the_own_word_weights_change_nothing(model, post):
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


def test_other_word_weights_are_what_the_encoder_makes_of_them(model, post):
    case = model("hierarchical")
    state = post("read", case.request)
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


@pytest.mark.parametrize("weights, said", [([1.0], "15 words; it has 1"), ([0.1] * 15, "sentence 1 it sums to 0.5")])
def test_weights_that_are_none_are_refused(client, model, post, weights, said):
    case = model("hierarchical")
    attention = post("read", case.request)["attention"]
    content = {**case.request, "attention": attention, "word_attention": weights}
    response = client.post("/api/decode", json=content)
    assert response.status_code == 400 and said in response.json()["error"]


def test_flat_models_have_no_word_weights_of_their_own(client, model, post):
    case = model("average")
    state = post("read", case.request)
    assert state["word_attention"] is None
    content = {**case.request, "attention": state["attention"], "word_attention": state["attention"]}
    response = client.post("/api/decode", json=content)
    assert response.status_code == 400 and "must be left out" in response.json()["error"]
