"""A word replaced by a synonym, or not at all."""

import pytest

from heedful.data.synonyms import Synonym, Synonyms
from heedful.server.actions import replace_word


@pytest.fixture(autouse=True)
def without_sources(monkeypatch):
    """x."""
    monkeypatch.setattr(replace_word, "_synonyms", lambda context, model: ({}, replace_word.NOT_INSTALLED))


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


def test_a_word_without_a_synonym_is_not_replaced(refused, model, synonyms):
    content = {**model("average").request, "text": "was good", "action": "replace_word"}
    refused("act", {**content, "options": {"item": 0}}, "“was” has no synonym")
    refused("act", {**content, "options": {"item": 2}}, "0 to 1; it was 2")
    refused("act", {**content, "text": "was was"}, "it has none")


def test_without_wordnet_the_button_says_what_is_missing(refused, model):
    content = {**model("average").request, "text": "so good", "action": "replace_word"}
    refused("act", content, "WordNet's synonyms are not installed. Put the file synonyms/")
    refused("act", {**content, "options": {"item": 1}}, "HEEDFUL_DATA")


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
    monkeypatch.setattr(replace_word, "missing_sources", lambda kind, vectors: "missing")
    assert replace_word._synonyms(context, None) == ({}, replace_word.NOT_INSTALLED)
