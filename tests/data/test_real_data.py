"""The real sets where they are to hand, and what models reach on them: `benchmarks/accuracy.py` has the rest."""

import gzip
import json
from collections import Counter

import pytest

from heedful.data import labelled_texts, load
from heedful.data.public_sets import PUBLIC_SETS
from heedful.jobs.work import load_data
from heedful.settings import DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings
from heedful.training.loop import train
from support.folders import outside

TEXT = TextSettings()
QUICK = {"imdb_small", "sst2", "tweeteval_emotion"}


def real(*names):
    """A parameter for each real set: skipped where it is not there, slow where it takes more than about two seconds."""
    parameters = []
    for name in names:
        marks = [pytest.mark.data(f"HEEDFUL_DATA/{name}/meta.json")]
        parameters.append(pytest.param(name, marks=marks if name in QUICK else [*marks, pytest.mark.slow]))
    return parameters


def raw(name, split):
    with gzip.open(outside(f"HEEDFUL_DATA/{name}/{split}.jsonl.gz"), "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.mark.parametrize("name", real(*PUBLIC_SETS))
def test_rows_and_labels_of_a_real_set_are_counted_as_in_its_meta(name):
    meta = json.loads(outside(f"HEEDFUL_DATA/{name}/meta.json").read_text(encoding="utf-8"))
    loaded = labelled_texts(DataSettings(source=name), TEXT)
    names = meta.get("label_names")
    assert loaded.labels == tuple(names or ())
    for split in ("train", "dev", "test"):
        recorded = meta["splits"][split]
        expected = (
            recorded["answers"] if names is None else {names[int(n)]: count for n, count in recorded["labels"].items()}
        )
        assert Counter(text.label for text in getattr(loaded, split)) == expected
        assert len(getattr(loaded, split)) == recorded["rows"]


@pytest.mark.parametrize("name", real("tweeteval_hate"))
def test_the_empty_texts_of_a_real_set_are_dropped_and_counted(name):
    loaded = load(DataSettings(source=name), TEXT)
    assert (len(loaded.train), len(loaded.dev), len(loaded.test)) == (9000 - 7, 1000 - 1, 2970)
    assert loaded.notes[1:3] == ("7 empty texts dropped from train", "1 empty texts dropped from dev")


@pytest.mark.parametrize("name", real("babi_task1"))
def test_answers_are_the_classes(name):
    loaded = load(DataSettings(source=name, train_limit=50, test_limit=20), TEXT)
    assert (loaded.task, loaded.labels) == ("qa", ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office"))
    assert all(example.query[0] == "where" for example in loaded.train)


@pytest.mark.parametrize("name", real("babi_task1", "babi_task2", "babi_task3", "eraser_movies", "hatexplain"))
def test_the_tokens_of_a_real_rationale_spell_its_words(name):
    loaded = load(DataSettings(source=name), TEXT)
    for split in ("train", "dev", "test"):
        for row, example in zip(raw(name, split), getattr(loaded, split), strict=True):
            words = example.text.split(" ")
            marked = sorted({word for start, end in row["rationale"] for word in range(start, end)})
            assert (
                "".join(example.tokens[position] for position in example.rationale)
                == "".join(words[word] for word in marked).lower()
            )


@pytest.mark.parametrize("name", real("babi_task1"))
def test_sentences_of_a_real_set_end_where_its_statements_end(name):
    loaded = load(DataSettings(source=name, train_limit=200, test_limit=2), TEXT, sentences=True)
    for example in loaded.train:
        ends = [position + 1 for position, token in enumerate(example.tokens) if token == "."]
        assert example.sentences == (0, *ends[:-1])


@pytest.mark.parametrize("name", real("sst2"))
def test_jain_and_wallaces_counts_of_sst_are_met(name):
    """Their table has 3,034 + 3,321 and 863 + 862: they also drop the longest text of each split."""
    loaded = load(DataSettings(source=name), TextSettings(words="alphanumeric", longer_than=5))
    counts = [sorted(Counter(e.label for e in split).items()) for split in (loaded.train, loaded.dev, loaded.test)]
    assert counts[0] == [(0, 3035), (1, 3321)]
    assert counts[2] == [(0, 863), (1, 863)]
    assert len(loaded.dev) == 822


@pytest.mark.parametrize("name", real("sst2"))
def test_sun_and_lus_counts_of_polar_tokens_of_sst_are_met(name):
    loaded = load(DataSettings(source=name), TextSettings(words="alphanumeric"))
    negative, positive = (
        Counter(token for example in loaded.train if example.label == label for token in example.tokens)
        for label in (0, 1)
    )
    signs = Counter()
    for token in negative | positive:
        n, p = negative[token], positive[token]
        share = (p - n) / (p + n)
        signs["positive"] += share > 0.5 and p > 5
        signs["negative"] += share < -0.5 and n > 5
        signs["neutral"] += abs(share) < 0.1 and abs(p - n) < 5
    assert signs == {"positive": 412, "negative": 265, "neutral": 1384}


@pytest.mark.parametrize("name", real("sst2"))
def test_other_labels_of_a_real_set_can_be_read(name):
    data = DataSettings(source=name, label="fine_label", train_limit=50, test_limit=20)
    assert load(data, TEXT).labels == ("0", "1", "3", "4")


@pytest.mark.parametrize("name", real("imdb_small"))
def test_ratings_are_labels_in_order_of_number(name):
    loaded = load(DataSettings(source=name, label="rating", train_limit=100, test_limit=50), TEXT)
    assert loaded.labels == ("1", "2", "3", "4", "7", "8", "9", "10")


@pytest.mark.parametrize("name", real("tweeteval_emotion"))
def test_seats_two_emotions_are_counted_as_in_the_paper(name):
    loaded = load(DataSettings(source=name, only_labels=("anger", "joy")), TEXT)
    assert Counter(example.label for example in loaded.train) == {0: 1400, 1: 708}
    assert Counter(example.label for example in loaded.test) == {0: 558, 1: 358}


@pytest.mark.parametrize("name", real("snli"))
def test_the_hypothesis_alone_can_be_read_of_a_real_set(name):
    data = DataSettings(source=name, text="hypothesis", task="classification", train_limit=60, test_limit=30)
    loaded = load(data, TEXT)
    assert (loaded.task, loaded.labels) == ("classification", ("neutral", "contradiction", "entailment"))
    assert loaded.train[0].text in {row["hypothesis"] for row in raw(name, "train")}


# What models reach.

on_real_data = pytest.mark.data("HEEDFUL_DATA")


def scores_of(data, text=TEXT, **network):
    training = TrainingSettings(epochs=3 if data.train_limit is None else 1)
    trained = train(*load_data(Run(data=data, text=text, network=NetworkSettings(**network), training=training)))
    return trained.scores["test"]


@pytest.mark.slow
@on_real_data
def test_the_average_model_predicts_sst_as_the_authors_does():
    """Accuracy .820 and AUC .905 were measured with the authors' code on these vectors."""
    text = TextSettings(words="alphanumeric", start_end=True, longer_than=5)
    network = {"encoder": "average", "hidden_size": 256, "vectors": "glove_6b_100d", "missing": "zero"}
    scores = scores_of(DataSettings(source="sst2"), text, **network)
    assert scores["accuracy"] >= 0.81 and scores["roc_auc"] >= 0.89


@pytest.mark.slow
@on_real_data
def test_every_kind_of_task_trains():
    for source in ("babi_task1", "snli", "hatexplain", "dbpedia14_small"):
        data = DataSettings(source=source, train_limit=100, test_limit=40)
        assert 0 <= scores_of(data, embed_size=16, hidden_size=8)["accuracy"] <= 1


@pytest.mark.slow
@on_real_data
def test_flat_and_hierarchical_models_train_on_newsgroups():
    data, small = (
        DataSettings(source="newsgroups_20", train_limit=200, test_limit=40),
        {"embed_size": 16, "hidden_size": 8},
    )
    for encoder in ("bigru", "hierarchical"):
        network = {"encoder": encoder, "words": "bigru", "sentences": "bigru", **small}
        assert 0 <= scores_of(data, TextSettings(max_tokens=200), **network)["accuracy"] <= 1
