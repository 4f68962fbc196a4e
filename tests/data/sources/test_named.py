"""Sets under HEEDFUL_DATA: made-up ones in their format, and the real ones where they are to hand."""

import gzip
import json
from collections import Counter

import pytest

from heedful.data import load, named, named_sets
from heedful.errors import SettingError
from heedful.settings import DataSettings, TextSettings
from support.folders import outside

TEXT = TextSettings()
QUICK = {"imdb_small", "sst2", "tweeteval_emotion"}
REAL = [
    "ag_news",
    "ag_news_titled",
    "babi_task1",
    "babi_task2",
    "babi_task3",
    "dbpedia14_small",
    "eraser_movies",
    "hatexplain",
    "imdb",
    "imdb_small",
    "newsgroups_20",
    "newsgroups_sports",
    "newsgroups_topics3",
    "rotten_tomatoes",
    "snli",
    "sst2",
    "tweeteval_emotion",
    "tweeteval_hate",
]


def real(*names):
    """A parameter for each real set: skipped where it is not there, slow where it takes more than about two seconds."""
    parameters = []
    for name in names:
        marks = [pytest.mark.data(f"HEEDFUL_DATA/{name}/meta.json")]
        parameters.append(pytest.param(name, marks=marks if name in QUICK else [*marks, pytest.mark.slow]))
    return parameters


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path))
    (tmp_path / "embeddings").mkdir()
    (tmp_path / "README.md").write_text("sets", encoding="utf-8")
    for name, parts in {
        "letters": [{"text": f"t {n}", "label": n % 2, "fine": n % 3} for n in range(12)],
        "pairs": [{"premise": f"p {n}", "hypothesis": f"h {n}", "label": n % 2} for n in range(12)],
    }.items():
        (tmp_path / name).mkdir()
        for split in ("train", "dev", "test"):
            with gzip.open(tmp_path / name / f"{split}.jsonl.gz", "wt", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in parts)
    meta = {"name": "Letters", "task": "binary", "label_names": ["zero", "one"]}
    (tmp_path / "letters" / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    return tmp_path


def test_the_sets_are_the_folders_with_training_texts(made_up):
    assert named_sets() == {"letters": "Letters: binary", "pairs": ""}


def test_without_a_data_folder_there_are_no_named_sets(monkeypatch, tmp_path):
    monkeypatch.delenv("HEEDFUL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert named_sets() == {}
    for value in (str(tmp_path / "none"), "~nouser", "x" * 300):
        monkeypatch.setenv("HEEDFUL_DATA", value)
        assert named_sets() == {}


def test_without_the_variable_sets_are_looked_for_in_the_cache(made_up, monkeypatch, tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    (cache / "heedful").mkdir()
    (cache / "heedful" / "data").symlink_to(made_up)
    monkeypatch.delenv("HEEDFUL_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    assert "letters" in named_sets()
    assert len(load(DataSettings(source="letters"), TEXT).train) == 12


def test_what_cannot_be_read_is_no_set_and_a_broken_meta_describes_nothing(made_up):
    (made_up / "letters" / "meta.json").write_text("[" * 99_999, encoding="utf-8")
    (made_up / "loop").symlink_to(made_up / "loop")
    assert named_sets() == {"letters": "", "pairs": ""}


def test_a_set_is_found_by_its_folder_with_its_label_names(made_up):
    loaded = load(DataSettings(source="letters"), TEXT)
    assert (loaded.name, loaded.labels, len(loaded.train)) == ("letters", ("zero", "one"), 12)
    assert load(DataSettings(source="letters", label="fine"), TEXT).labels == ("0", "1", "2")


def test_a_set_by_name_and_by_path_is_the_same(made_up):
    assert load(DataSettings(source="letters"), TEXT) == load(DataSettings(source=str(made_up / "letters")), TEXT)


def test_pairs_are_read_as_premise_and_hypothesis_or_by_the_hypothesis_alone(made_up):
    both = load(DataSettings(source="pairs"), TEXT)
    assert (both.task, both.train[3].tokens, both.train[3].query) == ("nli", ("p", "3"), ("h", "3"))
    alone = load(DataSettings(source="pairs", text="hypothesis", task="classification"), TEXT)
    assert (alone.task, alone.train[3].tokens, alone.train[3].query) == ("classification", ("h", "3"), ())


def test_an_unknown_set_is_answered_with_the_nearest(made_up):
    with pytest.raises(SettingError, match="unknown named data set 'leters'. Did you mean 'letters'"):
        named.load(DataSettings(source="leters"))


def test_a_name_cannot_leave_the_data_folder(made_up):
    with pytest.raises(SettingError, match="unknown named data set"):
        named.load(DataSettings(source=f"../{made_up.name}/letters"))


def raw(name, split):
    with gzip.open(outside(f"HEEDFUL_DATA/{name}/{split}.jsonl.gz"), "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.mark.parametrize("name", real(*REAL))
def test_rows_and_labels_of_a_real_set_are_counted_as_in_its_meta(name):
    meta = json.loads(outside(f"HEEDFUL_DATA/{name}/meta.json").read_text(encoding="utf-8"))
    loaded = named.load(DataSettings(source=name))
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
