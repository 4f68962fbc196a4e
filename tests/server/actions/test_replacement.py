"""A word replaced by a similar one."""

import pytest
import torch

from heedful.data.synonyms import Synonym, Synonyms
from heedful.server.actions import replace_word


@pytest.fixture(autouse=True)
def without_sources(monkeypatch):
    """No synonyms but those that a test gives: what is at hand differs between machines."""
    monkeypatch.setattr(replace_word, "_synonyms", lambda context, model: ({}, ""))


@pytest.fixture
def synonyms(monkeypatch):
    known = {"good": "so", "film": "bad"}
    monkeypatch.setattr(replace_word, "_synonyms", lambda context, model: (known, "a synonym"))


def test_the_text_is_read_anew_with_the_synonym_in_its_capitals(model, act, post, synonyms):
    case = model("bilstm")
    answer = act(case, "replace_word", item=4)
    assert answer["text"] == case.text.replace("good", "so") and answer["replaced"] == ["good", "so"]
    again = post("read", {**case.request, "text": answer["text"]})
    assert answer["probabilities"] == again["probabilities"] and answer["attention"] == again["attention"]
    assert answer["items"] == [4] and not answer["is_settable"]
    assert "“so” for “good”, a synonym" in answer["sentence"]
    case = model("average")
    answer = act(type(case)(case.trained, case.served, "GOOD film, Good film"), "replace_word", item=0)
    assert answer["text"] == "SO film, Good film"
    answer = act(type(case)(case.trained, case.served, "GOOD film, Good film"), "replace_word", item=3)
    assert answer["text"] == "GOOD film, So film"
    case = model("hierarchical")
    answer = act(case, "replace_word", item=3)
    assert answer["text"] == case.text.replace("good", "so", 1) and answer["items"] == [0]


def test_without_an_item_the_most_attended_synonym_is_taken(model, act, post, synonyms):
    case = model("average")
    state = post("read", case.request)
    known = [place for place, word in enumerate(state["words"]) if word["text"] in ("good", "film")]
    heaviest = max(known, key=lambda place: state["attention"][place])
    assert act(case, "replace_word")["replaced"][0] == state["words"][heaviest]["text"]


def test_a_word_without_a_synonym_gives_way_to_the_nearest_by_embedding(model, act):
    case = model("average")
    answer = act(case, "replace_word", item=4)
    words = case.trained.words.words
    matrix = case.trained.model.embedding.weight.detach()
    cosines = torch.cosine_similarity(matrix[words.index("good")][None], matrix)
    best = max((word for word in words[4:] if word != "good"), key=lambda word: cosines[words.index(word)])
    assert answer["replaced"] == ["good", best] and "embeddings" in answer["sentence"]


def test_what_has_no_similar_word_is_refused(refused, model):
    content = {**model("average").request, "text": "zebra good", "action": "replace_word"}
    refused("act", {**content, "options": {"item": 0}}, "“zebra” has none")
    refused("act", {**content, "options": {"item": 2}}, "0 to 1; it was 2")
    refused("act", {**content, "text": "zebra zebra"}, "it has none")


def test_synonyms_are_those_of_the_vocabulary(model, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(replace_word, "missing_sources", lambda kind, vectors: "")
    monkeypatch.setattr(replace_word, "usual_vectors", lambda: "")
    known = Synonyms({"good": Synonym("so", 1.0)}, "")
    monkeypatch.setattr(
        replace_word, "find_synonyms", lambda words, kind, vectors: known if kind == "wordnet" else None
    )
    context = model("average").evidence().context
    assert replace_word._synonyms(context, None) == ({"good": "so"}, "a synonym by WordNet")
