import gzip
import json
import re

import pytest
from typer.testing import CliRunner

from heedful.auditing.synonym_pairs import drawn_pairs
from heedful.cli import app
from heedful.data.synonyms import Synonym, Synonyms
from heedful.data.tokenizer import WordTokenizer, learn_vocabulary
from heedful.errors import HeedfulError
from heedful.settings import TextSettings
from heedful.types import Example

TEXTS = ("the good film is one two three four five six seven eight", "a bad film", "no plot", "so good !")
EXAMPLES = [Example(tuple(text.split()), 0) for text in TEXTS]
SYNONYMS = Synonyms({"film": Synonym("movie", 0.4, 0.9), "good": Synonym("fine", 0.2, 0.8)}, "by hand")


def words(**settings):
    known = [*EXAMPLES, Example(("movie", "fine"), 0)]
    return learn_vocabulary(WordTokenizer.from_settings(TextSettings(**settings)), known, 1)


@pytest.mark.parametrize("start_end", [False, True])
def test_a_pair_is_a_word_of_a_text_with_the_words_around_it(start_end):
    vocabulary = words(start_end=start_end)
    drawn = [pair for seed in range(20) for pair in drawn_pairs(EXAMPLES, vocabulary, SYNONYMS, seed)]
    assert {(pair.word, pair.synonym.word, pair.before, pair.after) for pair in drawn} == {
        ("good", "fine", "the", "film is one two three four"),
        ("film", "movie", "the good", "is one two three four five"),
        ("film", "movie", "a bad", ""),
        ("good", "fine", "so", "!"),
    }


def test_every_text_with_a_word_to_replace_has_one_pair_in_random_order():
    orders = [[pair.before for pair in drawn_pairs(EXAMPLES, words(), SYNONYMS, seed)] for seed in range(20)]
    assert {len(order) for order in orders} == {3}
    assert len({order.index("a bad") for order in orders}) == 3
    assert drawn_pairs(EXAMPLES, words(), SYNONYMS, 3) == drawn_pairs(EXAMPLES, words(), SYNONYMS, 3)


@pytest.fixture
def reviews(tmp_path, monkeypatch):
    """A file of reviews, and a folder of data with WordNet and vectors for them."""
    (tmp_path / "synonyms").mkdir()
    content = json.dumps({"film": {"n": ["movie"]}, "movie": {"n": ["film"]}}).encode()
    (tmp_path / "synonyms" / "wordnet_synonyms.json.gz").write_bytes(gzip.compress(content))
    (tmp_path / "toy.txt").write_text("film 1 0\nmovie 1 0.1\nfine 0 1\npoor 0.1 1\n", encoding="utf-8")
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    rows = [f"{'fine film' if n % 2 else 'poor movie'} number {n},{'good' if n % 2 else 'bad'}" for n in range(60)]
    (tmp_path / "my.csv").write_text("\n".join(["t,y", *rows]), encoding="utf-8")
    return ["my.csv", "--text", "t", "--label", "y"]


def listed(*arguments):
    result = CliRunner().invoke(app, ["data", "synonyms", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_lists_pairs_in_context_with_their_source(reviews):
    output = listed(*reviews, "--vectors", "toy.txt", "--pairs", "5")
    rows = re.findall(r"^ *\d +(fine \[film\]|poor \[movie\]) number \d+ +(film|movie) +[\d.-]+ +1\.00", output, re.M)
    assert len(rows) == 5 and all((word in text) is False for text, word in rows)
    assert "the word vectors 'toy.txt' confirm" in output
    assert re.search(r"2 of the \d+ words of the vocabulary have a synonym in it; 100% of the 12 test texts", output)


def test_kind_and_least_similarity_are_options_of_the_command(reviews):
    alone = listed(*reviews, "--kind", "wordnet")
    assert "no word vectors" in alone and re.search(r"number \d+ +film +1\.00 *$", alone, re.M)
    nearest = listed(*reviews, "--kind", "vectors", "--vectors", "toy.txt", "--min-similarity", "-4")
    assert re.search(r"\[(fine|poor)\] (film|movie)", nearest) and "similarity at least -4." in nearest
    none = listed(*reviews, "--kind", "wordnet", "--min-similarity", "1.1")
    assert "0 of the" in none and "0% of the 12 test texts" in none


def test_the_command_says_what_is_missing_and_which_kinds_there_are(reviews):
    for arguments, message in (
        ([], "To find synonyms, the audit needs pretrained word vectors"),
        (["--kind", "wordnets"], "unknown kind 'wordnets'. Did you mean 'wordnet'? Known: both, wordnet, vectors"),
    ):
        with pytest.raises(HeedfulError, match=re.escape(message)):
            CliRunner().invoke(app, ["data", "synonyms", *reviews, *arguments], catch_exceptions=False)
