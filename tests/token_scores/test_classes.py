import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.data import load
from heedful.data.batching import EncodedSplit, encode_split
from heedful.data.tokenizer import END, START, WordTokenizer, learn_vocabulary
from heedful.errors import SettingError
from heedful.settings import DataSettings, TextSettings
from heedful.token_scores import NEUTRAL, OTHER, token_classes, token_counts


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
