import json
import zipfile

from heedful.data.fetching.snli import read


def test_pairs_without_an_agreed_label_are_left_out(tmp_path):
    pairs = [
        {"sentence1": "A man.", "sentence2": f"He is {label}.", "gold_label": label}
        for label in ("entailment", "-", "neutral", "contradiction")
    ]
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for split in ("train", "dev", "test"):
            archive.writestr(f"snli_1.0/snli_1.0_{split}.jsonl", "\n".join(map(json.dumps, pairs)))
            archive.writestr(f"__MACOSX/snli_1.0/._snli_1.0_{split}.jsonl", "junk")
    rows = read({"archive": tmp_path / "a.zip"})["test"]
    assert [row["label"] for row in rows] == [2, 0, 1]
    assert rows[0] == {"premise": "A man.", "hypothesis": "He is entailment.", "label": 2}
