import io
import json
import tarfile

from heedful.data.fetching.movies import read


def entry(name, label, *spans):
    pieces = [[{"docid": name, "start_token": start, "end_token": end}] for start, end in spans]
    return {"annotation_id": name, "classification": label, "evidences": pieces}


def test_reviews_have_sorted_spans_and_no_review_is_in_two_splits(tmp_path):
    parts = {
        "train": [entry("n1", "NEG", (3, 5), (0, 1)), entry("p2", "POS"), entry("n3", "NEG")],
        "val": [entry("p2", "POS", (1, 2), (1, 2))],
        "test": [entry("n3", "NEG", (4, 4), (2, 3))],
    }
    members = {f"movies/{name}.jsonl": "\n".join(map(json.dumps, some)) for name, some in parts.items()}
    members |= {f"movies/docs/{name}": "so it is\nvery bad .\n" for name in ("n1", "p2", "n3")}
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    splits = read({"archive": tmp_path / "a.tgz"})
    assert splits["train"] == [{"text": "so it is very bad .", "label": 0, "rationale": [[0, 1], [3, 5]], "id": "n1"}]
    assert [row["rationale"] for row in splits["dev"]] == [[[1, 2]]]
    assert [row["rationale"] for row in splits["test"]] == [[[2, 3]]]
