"""Texts as a finished run reads them."""

import pytest
import torch

from heedful.errors import DataError
from heedful.server.run_reader import RunReader
from heedful.training.loop import train
from support.runs import changed, toy


def test_words_stand_where_they_were_written(model):
    case = model("average")
    read = case.served._reader("  The FILM, was   good!", "")
    assert read.words == ("The", "FILM", ",", "was", "good", "!")
    assert [read.text[start:end] for start, end in read.spans] == list(read.words)
    assert read.items == tuple((place,) for place in range(6)) and read.is_by_word


def test_sentences_are_items_of_a_hierarchical_model(model):
    case = model("hierarchical")
    read = case.served._reader(case.text, "")
    assert read.items == ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9, 10), (11, 12, 13, 14))
    assert read.labels[1] == "So bad was the film!" and not read.is_by_word


def test_a_model_that_reads_fewer_words_says_so(model):
    with torch.enable_grad():
        trained = train(changed(text__max_tokens=3, training__epochs=1), toy())
    read = RunReader(trained)("the film was so good")
    assert len(read.words) == 3 and "first 3 of 5 words" in " ".join(read.notes)


def test_frozen_attention_is_that_of_the_reference(model):
    reference = model("average").trained
    settings = changed(network__attention="frozen", training__epochs=1, reference="0" * 16)
    with torch.enable_grad():
        trained = train(settings, toy(), reference=reference)
    read = RunReader(trained, reference=reference)("the good film")
    own = RunReader(reference)("the good film")
    assert read.evidence.attention[0].tolist() == pytest.approx(own.evidence.attention[0].tolist(), abs=1e-6)


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_a_text_without_words_is_refused(model, text):
    with pytest.raises(DataError, match="a word at least"):
        model("average").served._reader(text, "")
