"""HateXplain's own format on made-up posts."""

import json

import pytest

from heedful.data.labeled_texts import to_dataset
from heedful.data.sources.hatexplain_posts import is_hatexplain, load, read_posts
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings, TextSettings


def post(tokens, labels, *rationales):
    annotators = [{"label": label, "annotator_id": number, "target": []} for number, label in enumerate(labels)]
    return {"post_tokens": tokens, "annotators": annotators, "rationales": list(rationales)}


POSTS = {
    "1_gab": post(["you", "are", "awful", "people"], ["hatespeech"] * 3, [1, 0, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0]),
    "2_gab": post(["good", "day"], ["normal", "normal", "offensive"]),
    "3_gab": post(["so", "stupid"], ["offensive", "hatespeech", "offensive"], [0, 1], [0, 1, 1]),
    "4_gab": post(["what", "now"], ["offensive", "hatespeech", "normal"], [1, 0]),
    "5_gab": post(["hi", "there", "fool"], ["normal", "offensive", "offensive"], [0, 0, 1]),
    "6_gab": post(["a b", "c", "d"], ["hatespeech", "hatespeech", "normal"], [1, 0, 1], [1, 1, 0]),
}
DIVISIONS = {"train": ["1_gab", "2_gab", "3_gab"], "val": ["6_gab", "4_gab"], "test": ["5_gab", "9_gab"]}


def write(folder, posts=POSTS, divisions=DIVISIONS):
    folder.mkdir(exist_ok=True)
    (folder / "dataset.json").write_text(json.dumps(posts), encoding="utf-8")
    (folder / "post_id_divisions.json").write_text(json.dumps(divisions), encoding="utf-8")
    return DataSettings(source=str(folder))


def test_a_post_has_the_label_of_the_majority_and_the_union_of_the_marks(tmp_path):
    source = load(write(tmp_path))
    assert is_hatexplain(tmp_path) and source.labels == ("normal", "offensive", "hatespeech")
    assert [(text.id, text.label, text.rationale) for text in source.train] == [
        ("1_gab", "hatespeech", ((0, 1), (2, 4))),
        ("2_gab", "normal", ()),
        ("3_gab", "offensive", ((1, 2),)),
    ]
    assert source.train[0].text == "you are awful people"
    assert [text.id for text in source.test] == ["5_gab"]


def test_each_annotator_has_marks_of_their_own(tmp_path):
    write(tmp_path)
    posts = read_posts(tmp_path / "dataset.json")
    assert posts["1_gab"].annotators == (((0, 1), (2, 3)), ((2, 4),), ())
    assert posts["2_gab"].annotators == ()
    assert posts["3_gab"].annotators == (((1, 2),),) and posts["3_gab"].unusable == 1


def test_a_token_with_a_space_is_two_words(tmp_path):
    text = load(write(tmp_path)).dev[0]
    assert text.text == "a b c d" and text.rationale == ((0, 4),)


def test_what_was_left_out_is_said(tmp_path):
    source = load(write(tmp_path))
    assert [str(lost) for lost in source.dropped] == ["1 posts without a majority dropped from dataset.json"]
    assert source.notes == (
        "marks are the union of the annotators'; 2 of 5 marked posts have several annotators",
        "1 annotators' marks have another length than their post, and are left out",
        "1 posts that post_id_divisions.json names are not in dataset.json",
    )


def test_marks_arrive_at_the_tokens(tmp_path):
    data = write(tmp_path)
    example = to_dataset(load(data), data, TextSettings()).train[0]
    assert [example.tokens[place] for place in example.rationale or ()] == ["you", "awful", "people"]
    assert example.annotators == ((0, 2), (2, 3), ())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"1_gab": 3}, "post 1_gab: must be an object with post_tokens, annotators and rationales"),
        ({"1_gab": post([1], ["normal"] * 3)}, "post_tokens must be strings"),
        ({"1_gab": post(["a"], ["rude"] * 3)}, "label must be one of normal, offensive, hatespeech; it is 'rude'"),
        ({"1_gab": {**post(["a"], []), "annotators": [3]}}, "label must be one of"),
        ([], "must be a JSON object with a post for each id"),
    ],
)
def test_posts_of_another_shape_are_refused(tmp_path, wrong, message):
    with pytest.raises(DataError, match=message):
        load(write(tmp_path, posts=wrong))


def test_divisions_of_another_shape_and_broken_files_are_refused(tmp_path):
    with pytest.raises(DataError, match="must be a JSON object with the ids of train, val and test"):
        load(write(tmp_path, divisions={"train": []}))
    write(tmp_path)
    (tmp_path / "dataset.json").write_text('{"1_gab": ', encoding="utf-8")
    with pytest.raises(DataError, match="dataset.json is not valid JSON"):
        load(DataSettings(source=str(tmp_path)))


def test_a_folder_without_the_two_files_and_a_named_column_are_refused(tmp_path):
    with pytest.raises(DataError, match="must have dataset.json and post_id_divisions.json"):
        load(DataSettings(source=str(tmp_path)))
    write(tmp_path)
    with pytest.raises(SettingError, match="--text names a column"):
        load(DataSettings(source=str(tmp_path), text="post"))
