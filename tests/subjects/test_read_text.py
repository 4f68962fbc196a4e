"""A text as a model reads it: its words and items, weights over them, and texts that are too long."""

import pytest
import torch

from heedful.errors import DataError, SettingError
from heedful.subjects.finished_run import FinishedRun
from heedful.subjects.read_text import written
from heedful.training.loop import train
from support.runs import changed, toy

TEXT = "The film was good. So bad was the film! The good film."


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.no_grad():
        yield


def run(sentences=False, **settings):
    with torch.enable_grad():
        return FinishedRun(train(changed(training__epochs=1, **settings), toy(sentences=sentences)))


def test_words_stand_where_they_were_written(trained):
    read = FinishedRun(trained).read("  The FILM, was   good!", "")
    assert read.words == ("The", "FILM", ",", "was", "good", "!")
    assert [read.text[start:end] for start, end in read.spans] == list(read.words)
    assert read.items == tuple((place,) for place in range(6))


def test_sentences_are_items_of_a_hierarchical_model():
    read = run(network__encoder="hierarchical", sentences=True).read(TEXT)
    assert read.items == ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9, 10), (11, 12, 13, 14))
    assert read.labels[1] == "So bad was the film!"


def test_a_model_that_reads_fewer_words_says_so(trained):
    read = run(text__max_tokens=3).read("the film was so good")
    assert len(read.words) == 3 and "first 3 of 5 words" in " ".join(read.notes)
    read = FinishedRun(trained).read("the film was so good", most=2)
    assert len(read.words) == 2 and "reads the first 2 of 5 words" in " ".join(read.notes)
    assert not FinishedRun(trained).read("the film was so good", most=5).notes


def test_frozen_attention_is_that_of_the_reference(trained):
    settings = changed(network__attention="frozen", training__epochs=1, reference="0" * 16)
    with torch.enable_grad():
        frozen = train(settings, toy(), reference=trained)
    read = FinishedRun(frozen, reference=trained).read("the good film")
    own = FinishedRun(trained).read("the good film")
    assert read.evidence.attention[0].tolist() == pytest.approx(own.evidence.attention[0].tolist(), abs=1e-6)


def test_a_text_without_words_is_refused(trained):
    for text in ("", "  ", "\n"):
        with pytest.raises(DataError, match="a word at least"):
            FinishedRun(trained).read(text)
    with pytest.raises(DataError, match="query cannot be combined with this model"):
        FinishedRun(trained).read("a", "b")


def test_weights_go_to_the_items_and_sum_to_1_within_rounding(trained):
    read = run(text__start_end=True).read("good film")
    weights = read.weights([0.25, 0.75])
    assert weights.tolist() == [[0, 0.25, 0.75, 0]], "start and end symbols have none"
    assert read.listed(weights) == [0.25, 0.75]
    read.weights([0.50004, 0.5])
    with pytest.raises(SettingError, match=r"attention must sum to 1; it sums to 1\.0002"):
        read.weights([0.5002, 0.5])
    with pytest.raises(SettingError, match="each of the text's 2 items; it has 3"):
        read.weights([0.5, 0.5, 0.0])


def test_half_a_surrogate_pair_is_replaced():
    assert written("a\ud800b") == "a?b"
