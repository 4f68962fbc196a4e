import gzip
import json
import re
from collections import Counter
from dataclasses import replace

import pytest
import torch
from typer.testing import CliRunner

from heedful.battery import Context, Evidence
from heedful.battery.stability_measures import moves
from heedful.battery.word_substitution import Replacements, drawn_pairs, replaceable, substituted, word_substitution
from heedful.cli import app
from heedful.data.synonyms import Synonym, Synonyms
from heedful.data.tokenizer import WordTokenizer, learn_vocabulary
from heedful.errors import DataError
from heedful.models.trace import trace
from heedful.settings import TextSettings
from heedful.types import Batch, Example
from support.evidence import seeded as draw
from support.four_verbs import FourVerbs
from support.models import make

WORDS = ("<pad>", "<unk>", "a", "an", "-", "film", "movie", "funny", "amusing", "plot", "the")
WORDNET = {
    "film": {"n": ["movie"]},
    "movie": {"n": ["film"]},
    "funny": {"a": ["amusing"]},
    "amusing": {"a": ["funny"]},
    "the": {"n": ["plot"]},
    "plot": {"n": ["the"]},
}
PAIRS = {"film": "movie", "movie": "film", "funny": "amusing", "amusing": "funny"}
SYNONYMS = Synonyms({word: Synonym(synonym, 1.0) for word, synonym in PAIRS.items()}, "by hand")
REPLACEMENTS = Replacements.of(WORDS, SYNONYMS)
TEXTS = ("the funny film the movie plot amusing", "film plot the", "the plot")
"""Of these 4, 1 and 0 words have a synonym."""


def batch_of(*texts, width=0):
    rows = [[WORDS.index(word) for word in text.split()] for text in texts]
    width = max(width, *map(len, rows))
    tokens = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    labels = torch.arange(len(rows)) % 2
    return Batch(torch.arange(len(rows)), tokens, tokens > 0, tokens > 0, labels)


def places_of(batch):
    return replaceable(batch.tokens, batch.attendable_mask, REPLACEMENTS)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of data with a WordNet for these words."""
    (tmp_path / "synonyms").mkdir()
    packed = gzip.compress(json.dumps(WORDNET).encode())
    (tmp_path / "synonyms" / "wordnet_synonyms.json.gz").write_bytes(packed)
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evidence_of(batch, model=None, **context):
    model = model or make()
    with torch.no_grad():
        return Evidence(model, trace(model, batch), Context(**{"vocabulary": WORDS, **context}))


def findings_of(evidence, seed=0, **options):
    with torch.no_grad():
        return word_substitution(evidence, draw(seed), **{"synonyms": "wordnet", **options})


def test_articles_and_hyphens_keep_their_words():
    for text, expected in [
        ("the funny film", "funny film"),
        ("a funny film", "film"),
        ("an amusing movie", "movie"),
        ("a film", "film"),
        ("a plot funny", "funny"),
        ("film - movie", ""),
        ("the funny - plot film", "film"),
        ("plot - funny film", "film"),
        ("film - - movie", "film movie"),
        ("- film", ""),
        ("the plot a", ""),
    ]:
        batch = batch_of(text)
        chosen = places_of(batch)[0].tolist()
        assert [word for word, is_chosen in zip(text.split(), chosen, strict=True) if is_chosen] == expected.split()


def test_an_edge_of_a_text_has_no_neighbour_at_the_other():
    assert places_of(batch_of("film plot -"))[0].tolist() == [True, False, False]
    assert places_of(batch_of("amusing plot a"))[0].tolist() == [True, False, False]


def test_only_what_attention_may_weigh_is_replaced():
    batch = batch_of("film movie")
    hidden = replace(batch, attendable_mask=torch.tensor([[False, True]]))
    assert places_of(hidden).tolist() == [[False, True]]


def test_so_many_words_are_replaced_each_among_those_of_the_larger_count():
    batch = batch_of(*TEXTS)
    changed = [
        (other.tokens != batch.tokens, done) for other, done in substituted(batch, REPLACEMENTS, (1, 2, 3), draw())
    ]
    assert [where.sum(1).tolist() for where, _ in changed] == [[1, 1, 0], [2, 1, 0], [3, 1, 0]]
    assert [done.tolist() for _, done in changed] == [[True, True, False], [True, False, False], [True, False, False]]
    assert (changed[0][0] <= changed[1][0]).all() and (changed[1][0] <= changed[2][0]).all()


def test_every_word_with_a_synonym_has_its_turn_about_as_often():
    batch = batch_of(TEXTS[0])
    hits = Counter()
    for seed in range(400):
        ((other, _),) = substituted(batch, REPLACEMENTS, (1,), draw(seed))
        hits.update((other.tokens != batch.tokens)[0].nonzero()[:, 0].tolist())
    assert set(hits) == {1, 2, 4, 6}
    # A binomial of 400 draws at 1/4: 100, standard deviation 8.7; four of those.
    assert all(abs(count - 100) < 35 for count in hits.values())


def test_the_changed_text_is_read_anew_and_texts_with_too_few_words_have_no_number(folder):
    batch = batch_of(*TEXTS)
    evidence = evidence_of(batch)
    values = findings_of(evidence, counts=(1, 3)).values
    for suffix, (other, _) in zip(("", "_3"), substituted(batch, REPLACEMENTS, (1, 3), draw()), strict=True):
        with torch.no_grad():
            expected = moves(evidence, trace(evidence.model, other))
        for name, value in expected.items():
            assert values[f"{name}{suffix}"][0].item() == pytest.approx(value[0].item(), abs=1e-12)
    assert values["js"].isfinite().tolist() == [True, True, False]
    assert values["js_3"].isfinite().tolist() == [True, False, False]
    assert values["js"][0] > 0
    assert values["shuffled_js"].isfinite().all()


def test_what_is_shown_is_attention_for_the_first_count_and_the_new_word(folder):
    batch = batch_of(*TEXTS)
    findings = findings_of(evidence_of(batch), counts=(1, 2))
    other, _ = substituted(batch, REPLACEMENTS, (1, 2), draw())[0]
    with torch.no_grad():
        attention = trace(make(), other).attention
    shown = findings.items["replaced_attention"]
    torch.testing.assert_close(shown[:2], attention[:2])
    assert shown[2].isnan().all()
    new = findings.items["replacement"]
    assert torch.equal(~new.isnan(), other.tokens != batch.tokens)
    assert torch.equal(new[~new.isnan()], other.tokens[other.tokens != batch.tokens].double())


def test_the_words_of_the_largest_count_are_listed_each_pair_once_a_text(folder):
    findings = findings_of(evidence_of(batch_of("film the film", *TEXTS)), counts=(1, 4, 2))
    assert Counter(findings.substitutions) == {
        ("film", "movie"): 3,
        ("funny", "amusing"): 1,
        ("movie", "film"): 1,
        ("amusing", "funny"): 1,
    }
    assert findings.synonym_source.startswith("Synonyms are WordNet's synonyms")
    assert findings.skipped == ""


@pytest.mark.parametrize("zero", ["film", "movie"])
def test_words_without_an_embedding_are_left_out(folder, zero):
    model = make()
    with torch.no_grad():
        model.embedding.weight[WORDS.index(zero)] = 0.0
    findings = findings_of(evidence_of(batch_of(*TEXTS), model), counts=(4,))
    assert set(findings.substitutions) == {("funny", "amusing"), ("amusing", "funny")}
    assert findings.values["js"].isnan().all()


def test_a_model_without_a_table_of_embeddings_is_asked_too(folder):
    model = make()
    own = findings_of(evidence_of(batch_of(*TEXTS), FourVerbs(model)))
    ours = findings_of(evidence_of(batch_of(*TEXTS), model))
    torch.testing.assert_close(own.values["js"], ours.values["js"], equal_nan=True)


def give_vectors(folder):
    (folder / "toy.txt").write_text("film 1 0\nmovie 1 0.1\nfunny 0 1\namusing -1 0.9\nplot -1 -1\n", encoding="utf-8")
    return "toy.txt"


def test_vectors_are_those_of_the_model_unless_others_are_given(folder):
    evidence = evidence_of(batch_of(*TEXTS), vectors="gone.txt")
    findings = findings_of(evidence, synonyms="both", vectors=give_vectors(folder), counts=(2,))
    # cos(funny, amusing) = .67: not near enough.
    assert set(findings.substitutions) == {("film", "movie"), ("movie", "film")}
    assert "'toy.txt' confirm" in findings.synonym_source
    own = findings_of(evidence_of(batch_of(*TEXTS), vectors="toy.txt"), synonyms="both", counts=(2,))
    assert own.substitutions == findings.substitutions


def test_of_the_nearest_words_every_content_word_has_one(folder):
    evidence = evidence_of(batch_of(*TEXTS), vectors=give_vectors(folder))
    findings = findings_of(evidence, synonyms="vectors", min_similarity=-4.0, counts=(1, 2, 5))
    assert {word for word, _ in findings.substitutions} == {"film", "movie", "funny", "amusing", "plot"}
    assert findings.values["js_2"].isfinite().tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("context", "options", "reason"),
    [
        ({"vocabulary": ()}, {}, "The words behind your model's tokens are not known, only their numbers"),
        ({}, {"synonyms": "both"}, r"the audit needs pretrained word vectors \(train with `--vectors NAME`"),
        ({"vectors": "gone"}, {"synonyms": "both"}, "needs the word vectors that the model began with: .*'gone'"),
        ({"vectors": "gone"}, {"synonyms": "vectors"}, "needs the word vectors that the model began with: .*'gone'"),
        ({"vocabulary": ("<pad>", *"bcdefghijk")}, {}, "No word of the vocabulary has a synonym in it. Synonyms are"),
    ],
)
def test_where_there_is_nothing_to_take_synonyms_from_the_question_is_not_asked(folder, context, options, reason):
    findings = findings_of(evidence_of(batch_of(*TEXTS), **context), **options)
    assert findings.values == findings.items == {}
    with pytest.raises(ValueError, match=reason):
        raise ValueError(findings.skipped)


def test_vectors_that_are_named_for_the_purpose_must_be_there(folder):
    with pytest.raises(DataError, match=r"there is no vector file .*none\.txt"):
        findings_of(evidence_of(batch_of(*TEXTS)), synonyms="both", vectors=str(folder / "none.txt"))


TEXTS_SYNONYM_PAIRS = ("the good film is one two three four five six seven eight", "a bad film", "no plot", "so good !")
EXAMPLES = [Example(tuple(text.split()), 0) for text in TEXTS_SYNONYM_PAIRS]
SYNONYMS_SYNONYM_PAIRS = Synonyms({"film": Synonym("movie", 0.4, 0.9), "good": Synonym("fine", 0.2, 0.8)}, "by hand")


def words(**settings):
    known = [*EXAMPLES, Example(("movie", "fine"), 0)]
    return learn_vocabulary(WordTokenizer.from_settings(TextSettings(**settings)), known, 1)


@pytest.mark.parametrize("start_end", [False, True])
def test_a_pair_is_a_word_of_a_text_with_the_words_around_it(start_end):
    vocabulary = words(start_end=start_end)
    drawn = [pair for seed in range(20) for pair in drawn_pairs(EXAMPLES, vocabulary, SYNONYMS_SYNONYM_PAIRS, seed)]
    assert {(pair.word, pair.synonym.word, pair.before, pair.after) for pair in drawn} == {
        ("good", "fine", "the", "film is one two three four"),
        ("film", "movie", "the good", "is one two three four five"),
        ("film", "movie", "a bad", ""),
        ("good", "fine", "so", "!"),
    }


def test_every_text_with_a_word_to_replace_has_one_pair_in_random_order():
    orders = [
        [pair.before for pair in drawn_pairs(EXAMPLES, words(), SYNONYMS_SYNONYM_PAIRS, seed)] for seed in range(20)
    ]
    assert {len(order) for order in orders} == {3}
    assert len({order.index("a bad") for order in orders}) == 3
    assert drawn_pairs(EXAMPLES, words(), SYNONYMS_SYNONYM_PAIRS, 3) == drawn_pairs(
        EXAMPLES, words(), SYNONYMS_SYNONYM_PAIRS, 3
    )


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
