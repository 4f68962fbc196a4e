from dataclasses import replace
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from heedful.data import load
from heedful.data.batching import EncodedSplit, encode_split
from heedful.data.tokenizer import END, START, WordTokenizer, learn_vocabulary
from heedful.errors import SettingError
from heedful.models.encoders import FLAT
from heedful.models.trace import trace
from heedful.settings import DataSettings, TextSettings
from heedful.token_scores import (
    NEUTRAL,
    OTHER,
    TokenScores,
    attended_words,
    global_scores,
    item_polarity,
    local_scores,
    scores,
    token_classes,
    token_counts,
)
from heedful.token_scores.scores import FEWEST, SHOWN, rank_words
from support.models import TIME, VOCABULARY, cut, make, make_batch
from support.pairwise import pairwise

BATCH = make_batch()


def read_one(model, tokens: list[int], place: int) -> tuple[list[float], float]:
    """The polarity and score of the token at a place of one text, by hand."""
    row = torch.tensor([tokens])
    real = torch.ones_like(row, dtype=torch.bool)
    batch = replace(
        BATCH,
        index=row[:, 0],
        tokens=row,
        mask=real,
        attendable_mask=real,
        labels=row[:, 0] * 0,
        sentence=None,
        marks=None,
    )
    seen = trace(model, batch)
    polarity = model.head.linear.weight @ seen.encoded.hidden[0, place]
    return polarity.tolist(), seen.scores[0, place].item()


@pytest.mark.parametrize(("encoder", "attention", "classes"), pairwise(product(FLAT, ("dot", "additive"), (2, 5))))
def test_global_scores_are_those_of_the_token_read_alone(encoder, attention, classes):
    model = make(encoder, attention, classes)
    actual = global_scores(model, VOCABULARY)
    assert actual.polarity.shape == ((VOCABULARY,) if classes == 2 else (VOCABULARY, classes))
    for token in (1, 7):
        polarity, score = read_one(model, [token], 0)
        assert actual.polarity[token].flatten().tolist() == pytest.approx(polarity, abs=1e-12)
        assert actual.attention[token].item() == pytest.approx(score, abs=1e-12)


def test_a_framed_token_is_read_between_start_and_end():
    model = make("bilstm", "dot")
    actual = global_scores(model, VOCABULARY, framed=True)
    polarity, score = read_one(model, [START, 7, END], 1)
    assert actual.polarity[7].item() == pytest.approx(polarity[0]) and actual.attention[7].item() == pytest.approx(
        score
    )
    assert actual.attention[7] != global_scores(model, VOCABULARY).attention[7]


def test_the_size_of_chunks_changes_nothing(monkeypatch):
    model = make("bilstm", classes=5)
    whole = global_scores(model, VOCABULARY)
    monkeypatch.setattr(scores, "CHUNK", 2)
    parts = global_scores(model, VOCABULARY)
    torch.testing.assert_close(parts.polarity, whole.polarity)
    torch.testing.assert_close(parts.attention, whole.attention)


@pytest.mark.parametrize("classes", [2, 5])
def test_local_scores_are_means_over_the_places_of_a_token(classes):
    model = make("bilstm", classes=classes)
    seen = trace(model, BATCH)
    actual = local_scores(model, [cut(BATCH, [0], TIME), cut(BATCH, [1, 2], TIME)], VOCABULARY)
    polarity = item_polarity(model, seen.encoded)
    for token in range(VOCABULARY):
        places = (BATCH.tokens == token) & BATCH.mask
        if not places.any():
            assert actual.attention[token].isnan() and actual.polarity[token].isnan().all()
            continue
        torch.testing.assert_close(actual.attention[token], seen.scores[places].mean().detach())
        torch.testing.assert_close(actual.polarity[token], polarity[places].mean(0).detach())


@pytest.mark.parametrize("encoder", ["identity", "affine", "average"])
def test_without_context_local_and_global_scores_are_the_same(encoder):
    model = make(encoder, "dot")
    alone, means = global_scores(model, VOCABULARY), local_scores(model, [BATCH], VOCABULARY)
    occurs = ~means.attention.isnan()
    torch.testing.assert_close(alone.polarity[occurs], means.polarity[occurs])
    torch.testing.assert_close(alone.attention[occurs], means.attention[occurs])


def test_what_attention_may_not_weigh_is_no_occurrence():
    model = make("bilstm")
    first = BATCH.attendable_mask & (torch.arange(TIME) == 0)
    actual = local_scores(model, [replace(BATCH, attendable_mask=first)], VOCABULARY)
    assert set((~actual.attention.isnan()).nonzero()[:, 0].tolist()) == set(BATCH.tokens[:, 0].tolist())


def test_the_bias_of_the_head_plays_no_part():
    model, other = make("identity"), make("identity")
    with torch.no_grad():
        other.head.linear.bias.add_(5)
    actual, wanted = global_scores(other, VOCABULARY), global_scores(model, VOCABULARY)
    torch.testing.assert_close(actual.polarity, wanted.polarity)


def test_additive_scores_are_those_of_equation_65():
    """a = V . tanh(M e) / lambda, alone and in texts; lambda is the temperature."""
    model = make("identity", temperature=10.0)
    e, inner = model.embedding.weight.detach(), model.attention.hidden
    wanted = (e @ inner.weight.detach().T + inner.bias.detach()).tanh() @ model.attention.score.weight[0].detach() / 10
    torch.testing.assert_close(global_scores(model, VOCABULARY).attention, wanted)
    local = local_scores(model, [BATCH], VOCABULARY).attention
    torch.testing.assert_close(local, wanted.where(local.isfinite(), torch.nan), equal_nan=True)


def test_sentences_have_global_scores_alone():
    model = make("hierarchical")
    assert global_scores(model, VOCABULARY).attention.isfinite().all()
    with pytest.raises(SettingError, match="attends to sentences"):
        local_scores(model, [BATCH], VOCABULARY)


def test_scores_carry_no_graph():
    actual = global_scores(make("bilstm"), VOCABULARY)
    assert not actual.polarity.requires_grad and not actual.attention.requires_grad


def binary(negative: int, positive: int, rule="code") -> int:
    return int(token_classes(torch.tensor([[negative, positive]]), rule=rule)[0])


@given(st.integers(0, 60), st.integers(0, 60))
def test_two_labels_follow_the_rule_of_the_code(negative, positive):
    total, gap = negative + positive, positive - negative
    wanted = OTHER
    if 2 * gap > total and positive > 5:
        wanted = 1
    elif -2 * gap > total and negative > 5:
        wanted = 0
    elif 10 * abs(gap) < total and abs(gap) < 5:
        wanted = NEUTRAL
    assert binary(negative, positive) == wanted


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_papers_rule_differs_where_a_token_has_one_label_alone(negative, positive):
    code, paper = binary(negative, positive), binary(negative, positive, "paper")
    alone = max(negative, positive) > 5 and min(negative, positive) == 0
    assert paper == (OTHER if alone else code)


@pytest.mark.parametrize(
    ("negative", "positive", "wanted"),
    [(2, 6, OTHER), (2, 7, 1), (0, 5, OTHER), (0, 6, 1), (9, 11, OTHER), (10, 11, NEUTRAL), (50, 55, OTHER)]
    + [(0, 0, OTHER), (60, 64, NEUTRAL), (1, 1, NEUTRAL)],
)
def test_the_edges_are_open(negative, positive, wanted):
    assert binary(negative, positive) == wanted


def test_more_labels_follow_the_same_rule():
    counts = torch.tensor([[0, 9, 2], [1, 9, 2], [0, 5, 1], [8, 8, 9], [8, 8, 12], [30, 31, 34], [20, 20, 25]])
    assert token_classes(counts).tolist() == [1, OTHER, OTHER, NEUTRAL, OTHER, NEUTRAL, OTHER]
    assert token_classes(counts, share=0.9).tolist()[0] == OTHER
    assert token_classes(counts, least=9).tolist()[0] == OTHER


@pytest.mark.parametrize("share", [0.49, 1.0])
def test_a_share_by_which_no_token_or_two_labels_could_be_meant_is_refused(share):
    with pytest.raises(SettingError, match="share must be at least 0.5 and below 1"):
        token_classes(torch.ones(1, 3, dtype=torch.long), share=share)


def test_occurrences_are_counted_and_symbols_are_not():
    texts = (torch.tensor([START, 4, 5, 4, END]), torch.tensor([START, 6, 1, END]), torch.tensor([START, 4, END]))
    counts = token_counts(EncodedSplit(texts, (), (), torch.tensor([2, 0, 0]), framed=True), 7, 3)
    assert counts[:4].sum() == 0
    assert counts[4:].tolist() == [[1, 0, 2], [0, 0, 1], [1, 0, 0]]


def counted(source: str, words: str) -> list[int]:
    """How many training tokens of a data set indicate each label and how many are neutral."""
    text = TextSettings(words=words, lowercase=True)
    dataset = load(DataSettings(source=source), text)
    tokenizer = learn_vocabulary(WordTokenizer.from_settings(text), dataset.train, 1)
    counts = token_counts(encode_split(dataset.train, tokenizer), tokenizer.size, len(dataset.labels))
    classes = token_classes(counts)
    return [int((classes == number).sum()) for number in (*range(len(dataset.labels)), NEUTRAL)]


@pytest.mark.slow
@pytest.mark.data("HEEDFUL_DATA/sst2", "HEEDFUL_DATA/newsgroups_sports")
class TestRealCounts:
    def test_sst_has_the_papers_412_positive_265_negative_and_1384_neutral_tokens(self):
        assert counted("sst2", "alphanumeric") == [265, 412, 1384]

    def test_sports_newsgroups_come_within_two_tokens_of_the_papers_counts(self):
        """The supplement has 957 (hockey), 557 (baseball) and 1011, by spaCy's tokens."""
        assert counted("newsgroups_sports", "punctuation") == [559, 957, 1013]


WORDS = tuple("abcdefghijk")
COUNTS = torch.tensor([[0, 0]] * 4 + [[9, 0], [1, 9], [4, 4], [3, 3], [0, 9], [1, 1], [8, 4]])
SCORES = TokenScores(torch.zeros(11), torch.tensor([9.0, 9, 9, 9, 2, 1, 0.5, 1.5, torch.nan, 3, -1]).double())


def test_the_chance_is_the_area_under_the_roc_curve():
    scores = torch.randn(27, generator=torch.Generator().manual_seed(0)).double()
    counts = torch.tensor([[9, 0]] * FEWEST + [[4, 4]] * 7)
    ranking = rank_words(TokenScores(torch.zeros(27), scores), counts, (), ("bad", "good"))
    assert (ranking.polar, ranking.neutral) == (20, 7)
    assert ranking.auroc == pytest.approx(roc_auc_score([1] * 20 + [0] * 7, scores.tolist()))
    fewer = rank_words(TokenScores(torch.zeros(26), scores[1:]), counts[1:], (), ("bad", "good"))
    assert (fewer.polar, fewer.neutral) == (19, 7) and fewer.auroc != fewer.auroc


def test_words_without_a_score_are_of_no_kind():
    ranking = rank_words(SCORES, COUNTS, WORDS, ("bad", "good"))
    assert (ranking.polar, ranking.neutral) == (2, 3)


def test_words_are_listed_from_both_ends_and_rare_or_unread_ones_left_out():
    ranking = rank_words(SCORES, COUNTS, WORDS, ("bad", "good"))
    assert [(entry.word, entry.speaks_for) for entry in ranking.most] == [
        ("e", "bad"),
        ("h", "neutral"),
        ("f", "good"),
        ("g", "neutral"),
        ("k", ""),
    ]
    assert [entry.word for entry in ranking.least] == ["k", "g", "f", "h", "e"]
    many = rank_words(TokenScores(torch.zeros(99), torch.arange(99.0)), torch.full((99, 2), 9), (), ("a", "b"))
    assert [entry.word for entry in many.most] == [f"token {98 - place}" for place in range(SHOWN)]


def test_scores_are_those_in_the_texts():
    model, batch = make(), make_batch()
    counts = torch.full((VOCABULARY, 2), 5)
    ranking = attended_words(model, [batch], counts, WORDS, ("bad", "good"))
    wanted = local_scores(model, [batch], VOCABULARY).attention
    assert ranking.most[0].score == wanted[wanted.isfinite()].max().item()
    assert (token_classes(counts) == -1).all() and ranking.auroc != ranking.auroc
