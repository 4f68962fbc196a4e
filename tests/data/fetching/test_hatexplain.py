import json

from heedful.data.fetching.hatexplain import read, spans_of_union


def post(labels, rationales):
    annotators = [{"label": label} for label in labels]
    return {"annotators": annotators, "rationales": rationales, "post_tokens": ["a", "b", "c", "d", "e"]}


def test_the_majority_decides_and_the_marks_of_all_are_united(tmp_path):
    posts = {
        "x": post(("hatespeech", "offensive", "normal"), [[0, 1, 1, 0, 0], [0, 0, 0, 0, 1]]),
        "y": post(("normal", "offensive", "normal"), [[1, 0, 0, 0, 0]]),
        "z": post(("normal", "normal", "normal"), []),
    }
    (tmp_path / "posts").write_text(json.dumps(posts), encoding="utf-8")
    (tmp_path / "division").write_text(json.dumps({"train": ["y"], "val": ["z"], "test": ["x"]}), encoding="utf-8")
    splits = read({"posts": tmp_path / "posts", "division": tmp_path / "division"})
    assert splits["test"] == [{"text": "a b c d e", "label": 1, "rationale": [[1, 3], [4, 5]], "id": "x"}]
    assert [(row["label"], row["rationale"]) for row in splits["train"] + splits["dev"]] == [(0, []), (0, [])]


def test_a_post_of_their_readme_has_the_spans_that_they_count():
    marked = [{8, *range(11, 21)}, {8}, {8, 9}]
    rationales = [[int(place in some) for place in range(29)] for some in marked]
    assert spans_of_union(rationales) == [[8, 10], [11, 21]]
