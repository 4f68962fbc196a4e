"""A served model: texts are read once, the last are kept, and threads take turns."""

import threading

import pytest

from heedful.server.served import MOST_TEXTS, MOST_WORDS_KEPT, ModelGone, ServedModel


@pytest.fixture
def counted(model):
    """A served model, and the texts that it has read."""
    case, read = model("average"), []

    def reader(text, query):
        read.append(text)
        return case.served._reader(text, query)

    return ServedModel(case.served.info, reader, marks={("good film", ""): (0, 7)}), read


def test_a_text_is_read_once(counted):
    served, read = counted
    for _ in range(3):
        with served.reading("good film"):
            pass
    assert read == ["good film"]


def test_the_last_texts_are_kept(counted):
    served, read = counted
    for number in range(MOST_TEXTS + 1):
        with served.reading(f"film {number}"):
            pass
    with served.reading(f"film {MOST_TEXTS}"), served.reading("film 1"):
        pass
    assert len(read) == MOST_TEXTS + 1
    with served.reading("film 0"):
        pass
    assert read[-1] == "film 0", "the first was forgotten"


def test_long_texts_push_out_others(counted):
    served, _ = counted
    for number in range(MOST_WORDS_KEPT // 2_000 + 3):
        with served.reading("good " * 1_999 + str(number)):
            pass
    assert served._words() <= MOST_WORDS_KEPT


def test_marks_beyond_the_text_are_left_out(counted):
    with counted[0].reading("good film") as read:
        assert read.marks == (0,)
    with counted[0].reading("film") as read:
        assert read.marks is None


def test_threads_take_turns(counted):
    served, inside, most = counted[0], [], []

    def ask():
        with served.reading("good film"):
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1 and len(most) == 8


def test_a_model_that_is_gone_is_refused(model):
    case = model("average")
    served = ServedModel(case.served.info, case.served._reader, problem=lambda: "it is gone.")
    with pytest.raises(ModelGone, match="it is gone"), served.reading("good"):
        pass
