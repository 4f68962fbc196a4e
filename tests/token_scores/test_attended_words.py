import pytest
import torch
from sklearn.metrics import roc_auc_score

from heedful.token_scores import TokenScores, attended_words, local_scores, token_classes
from heedful.token_scores.attended_words import FEWEST, SHOWN, rank_words
from support.models import VOCABULARY, make, make_batch

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
