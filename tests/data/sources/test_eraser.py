"""ERASER's format on made-up documents: what is read, what is counted, what is refused."""

import json

import pytest

from heedful.data.labeled_texts import to_dataset
from heedful.data.sources.eraser import is_eraser, load
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings, TextSettings

DOCUMENTS = {
    "pos_1.txt": "a good film .\nI  liked it !\n",
    "pos_2.txt": "well made\r\n\r\nand fun",
    "neg_1.txt": "dull .\n",
    "neg_2.txt": "a\xa0b bad one",
}


def evidence(docid, start, end):
    return {
        "docid": docid,
        "start_token": start,
        "end_token": end,
        "start_sentence": -1,
        "end_sentence": -1,
        "text": "x",
    }


def annotation(docid, *spans, **changes):
    label = "POS" if docid.startswith("pos") else "NEG"
    groups = [[evidence(docid, start, end)] for start, end in spans]
    usual = {
        "annotation_id": docid,
        "classification": label,
        "docids": None,
        "query": "What is it?",
        "query_type": None,
    }
    return {**usual, "evidences": groups, **changes}


def write(folder, splits, documents=DOCUMENTS):
    (folder / "docs").mkdir(parents=True)
    for name, text in documents.items():
        (folder / "docs" / name).write_bytes(text.encode())
    for split, records in splits.items():
        (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return DataSettings(source=str(folder))


def usual(**changes):
    splits = {
        "train": [annotation("pos_1.txt", (0, 3), (4, 6)), annotation("neg_1.txt", (0, 1))],
        "val": [annotation("pos_2.txt", (0, 2))],
        "test": [annotation("neg_2.txt", (1, 3))],
    }
    return {**splits, **changes}


def test_documents_and_the_tokens_that_annotators_marked(tmp_path):
    source = load(write(tmp_path / "films", usual()))
    first, second = source.train
    assert is_eraser(tmp_path / "films") and source.name == "films" and source.task == "classification"
    assert first.text == "a good film . I liked it !" and first.label == "POS" and first.query == ""
    assert first.rationale == ((0, 3), (4, 6)) and first.id == "pos_1.txt" and first.row == 1
    assert (second.text, second.rationale) == ("dull .", ((0, 1),))
    assert source.dev[0].text == "well made and fun"
    assert source.test[0].text.split(" ") == ["a\xa0b", "bad", "one"] and source.test[0].rationale == ((1, 3),)
    assert source.notes == () and source.dropped == ()


def test_marks_arrive_at_the_tokens(tmp_path):
    data = write(tmp_path, usual())
    example = to_dataset(load(data), data, TextSettings()).train[0]
    assert [example.tokens[place] for place in example.rationale or ()] == ["a", "good", "film", "i", "liked"]


def test_an_annotation_without_evidence_is_not_marked_and_finds_its_document_by_its_own_name(tmp_path):
    splits = usual(test=[annotation("neg_2.txt")])
    assert load(write(tmp_path, splits)).test[0].rationale is None


def test_documents_may_stand_in_a_file(tmp_path):
    data = write(tmp_path, usual(), documents={})
    (tmp_path / "docs").rmdir()
    lines = [json.dumps({"docid": name, "document": text}) for name, text in DOCUMENTS.items()]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert load(data).train[0].text == "a good film . I liked it !"


def test_queries_that_differ_go_with_the_text(tmp_path):
    splits = usual(val=[annotation("pos_2.txt", (0, 2), query="Is it fun?")])
    source = load(write(tmp_path, splits))
    assert source.task == "qa" and source.dev[0].query == "Is it fun?" and source.train[0].query == "What is it?"
    again = load(DataSettings(source=str(tmp_path), task="nli"))
    assert again.task == "nli"


def test_several_documents_follow_each_other(tmp_path):
    both = annotation("pos_2.txt", (0, 2), docids=["neg_1.txt", "pos_2.txt"])
    both["evidences"].append([evidence("neg_1.txt", 0, 1)])
    text = load(write(tmp_path, usual(val=[both]))).dev[0]
    assert text.text == "dull . well made and fun" and text.rationale == ((0, 1), (2, 4))


def test_evidences_outside_of_their_document_are_counted(tmp_path):
    splits = usual(test=[annotation("neg_2.txt", (1, 3), (2, 9)), annotation("neg_1.txt", (1, 1))])
    source = load(write(tmp_path, splits))
    assert source.test[0].rationale == ((1, 3),) and source.test[1].rationale == ()
    (note,) = source.notes
    assert note.startswith("2 of 7 evidences are empty or outside of their document (first: ")
    assert "test.jsonl, line 1" in note


def test_documents_of_another_data_set_are_refused(tmp_path):
    splits = usual(train=[annotation("pos_1.txt", *((90 + n, 95 + n) for n in range(9))), annotation("neg_1.txt")])
    with pytest.raises(DataError, match="9 of 11 are empty or lie outside .*documents of another dataset"):
        load(write(tmp_path, splits))


def test_annotations_without_a_document_or_a_label_are_dropped_and_counted(tmp_path):
    more = [annotation("pos_9.txt", (0, 1)), annotation("pos_1.txt", (0, 1), classification=None)]
    splits = usual(train=[*usual()["train"], *more])
    source = load(write(tmp_path, splits))
    assert [str(lost) for lost in source.dropped] == ["2 annotations without a label or a document dropped from train"]
    (tmp_path / "docs" / "pos_1.txt").unlink()
    with pytest.raises(DataError, match="train.jsonl: 3 of 4 annotations have no label, or a document that is not in"):
        load(DataSettings(source=str(tmp_path)))


@pytest.mark.parametrize("name", ["../secret", "..", ".", "", "/etc/hostname", "link", "a\x00b"])
def test_no_document_is_read_outside_of_the_folder(tmp_path, name):
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    folder = tmp_path / "films"
    splits = usual(train=[*usual()["train"], annotation(name, (0, 1), annotation_id="7")])
    data = write(folder, splits)
    (folder / "docs" / "link").symlink_to(tmp_path / "secret")
    assert [lost.count for lost in load(data).dropped] == [1]


def test_evidences_of_another_shape_are_refused(tmp_path):
    for number, wrong in enumerate([[["pos_1.txt"]], [[{"docid": "pos_1.txt"}]], [3], {"docid": 1}]):
        splits = usual(train=[annotation("pos_1.txt", evidences=wrong), annotation("neg_1.txt")])
        with pytest.raises(DataError, match=r"train.jsonl, line 1: 'evidences' must be groups of objects with docid"):
            load(write(tmp_path / str(number), splits))


def test_a_folder_of_another_kind_is_refused_with_what_it_must_have(tmp_path):
    assert not is_eraser(tmp_path)
    with pytest.raises(DataError, match=r"must have docs/ \(or docs.jsonl\) and train.jsonl"):
        load(DataSettings(source=str(tmp_path)))
    data = write(tmp_path / "a", {name: part for name, part in usual().items() if name != "val"})
    with pytest.raises(DataError, match=r"there is no .*val.jsonl: ERASER's datasets have train.jsonl, val.jsonl"):
        load(data)


def test_a_named_column_is_refused(tmp_path):
    write(tmp_path, usual())
    with pytest.raises(SettingError, match="--label names a column"):
        load(DataSettings(source=str(tmp_path), label="stars"))
