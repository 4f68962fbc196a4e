from heedful.data.fetching.babi import read_stories, read_with_small_train

STORY = """1 Mary moved to the bathroom.
2 John went back to the hallway.
3 Where is Mary? \tbathroom\t1
4 Mary took the milk.
5 Where is the milk?\tbathroom\t4 1
1 John left.
2 Who left?\tJohn\t1
"""


def test_a_question_has_all_statements_before_it():
    first, second, third = read_stories(STORY)
    assert first["context"] == "Mary moved to the bathroom . John went back to the hallway ."
    assert (first["question"], first["answer"], first["n_sentences"]) == ("Where is Mary", "bathroom", 2)
    assert second["context"].endswith("hallway . Mary took the milk .")
    assert third["context"] == "John left ."


def test_supporting_statements_are_spans_of_words():
    _, second, _ = read_stories(STORY)
    assert (second["supporting_sentences"], second["rationale"]) == ([2, 0], [[0, 6], [13, 18]])
    words = second["context"].split(" ")
    assert [" ".join(words[start:end]) for start, end in second["rationale"]] == [
        "Mary moved to the bathroom .",
        "Mary took the milk .",
    ]


def test_the_third_task_is_put_together_from_two_sets(tmp_path):
    counts = {"small_train": 2, "small_valid": 3, "valid": 805, "test": 4}
    for name, count in counts.items():
        (tmp_path / name).write_text("1 A left.\n2 Who left?\tA\t1\n" * count, encoding="utf-8")
    splits = read_with_small_train({name: tmp_path / name for name in counts})
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 805, "dev": 5, "test": 4}
