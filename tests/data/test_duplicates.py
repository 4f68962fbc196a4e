from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from heedful.data.duplicates import count_conflicting, count_overlaps, count_repeated, overlap_notes
from heedful.types import Example


def examples(*texts):
    return [Example(tuple(text.split()), 0) for text in texts]


def test_a_text_with_another_query_is_another_text():
    first, second = Example(("a",), 0, query=("q",)), Example(("a",), 0, query=("r",))
    assert count_repeated([first, second]) == 0
    assert count_overlaps({"train": [first], "test": [second, first]}) == {("train", "test"): 1}


def test_overlaps_are_counted_for_each_two_splits():
    parts = {"train": examples("a", "b b"), "dev": examples("c", "a", "a"), "test": examples("b b", "c", "d", "c")}
    assert count_overlaps(parts) == {("train", "dev"): 2, ("train", "test"): 1, ("dev", "test"): 2}
    assert overlap_notes(parts) == [
        "2 of the 3 texts of dev are also in train: scores on dev may be too good",
        "1 of the 4 texts of test are also in train: scores on test may be too good",
        "2 of the 4 texts of test are also in dev",
    ]
    assert overlap_notes({"train": examples("a"), "test": examples("b")}) == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), max_size=9))
def test_counts_are_those_of_a_plain_loop(pairs):
    made = [Example((token,), label) for token, label in pairs]
    counts = Counter(token for token, _ in pairs)
    assert count_repeated(made) == sum(count - 1 for count in counts.values())
    assert count_conflicting(made) == sum(len({label for t, label in pairs if t == token}) > 1 for token in counts)
