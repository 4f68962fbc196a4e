"""Bad files: data and vectors that cannot be what they claim to be, in every format that is read."""

import json

import polars as pl

from heedful.data import load
from heedful.errors import HeedfulError
from heedful.settings import DataSettings, TextSettings
from support.refusals import assert_refused

GOOD = [{"text": f"the film was so {('bad', 'good')[n % 2]} {n}", "label": ("bad", "good")[n % 2]} for n in range(40)]


def csv(rows, separator=","):
    return "\n".join([f"text{separator}label", *(f"{row['text']}{separator}{row['label']}" for row in rows)]) + "\n"


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def parquet(rows):
    import io

    written = io.BytesIO()
    pl.DataFrame(rows).write_parquet(written)
    return written.getvalue()


def with_changes(number, **changes):
    return [row if place >= number else {**row, **changes} for place, row in enumerate(GOOD)]


HALF_PARQUET = parquet(GOOD)[: len(parquet(GOOD)) // 2]
FILES = {
    "empty.csv": "",
    "empty.jsonl": "",
    "empty.parquet": b"",
    "blank.csv": "\n\n\n",
    "head.csv": "text,label\n",
    "one row.csv": csv(GOOD[:1]),
    "three rows.csv": csv(GOOD[:3]),
    "one label.csv": csv(with_changes(40, label="good")),
    "every label another.csv": csv([{**row, "label": f"label {n}"} for n, row in enumerate(GOOD)]),
    "no labels.csv": csv(with_changes(40, label="")),
    "no texts.csv": csv(with_changes(40, text="")),
    "few texts.csv": csv(with_changes(30, text="")),
    "blank texts.jsonl": jsonl(with_changes(40, text="   ")),
    "null labels.jsonl": jsonl(with_changes(40, label=None)),
    "texts are numbers.jsonl": jsonl(with_changes(40, text=7)),
    "labels are lists.jsonl": jsonl(with_changes(40, label=["a"])),
    "twice a column.csv": csv(GOOD).replace("text,label", "text,text"),
    "no column.csv": "\n".join(row["text"] for row in GOOD),
    "arrays.jsonl": "[1, 2]\n" * 10,
    "broken.jsonl": jsonl(GOOD) + '{"text": "unfinished',
    "broken first.jsonl": "{'text': 'single quotes'}\n",
    "deep.jsonl": '{"text": ' + "[" * 100_000 + "\n",
    "digits.jsonl": '{"text": "a", "label": ' + "9" * 5_000 + "}\n",
    "nan.jsonl": '{"text": "a", "label": NaN}\n' * 10,
    "string.json": '"a text"',
    "null.json": "null",
    "latin.csv": csv(with_changes(40, text="café")).encode("latin-1"),
    "utf16.csv": csv(GOOD).encode("utf-16-le"),
    "binary.csv": bytes(range(256)) * 20,
    "binary.parquet": bytes(range(256)) * 20,
    "nulls.csv": b"\x00" * 1_000,
    "half.parquet": HALF_PARQUET,
    "no foot.parquet": parquet(GOOD)[:-4],
    "long foot.parquet": parquet(GOOD)[:-8] + b"\xff\xff\xff\x7fPAR1",
    "numbers.parquet": parquet([{"text": 1, "label": 2}] * 30),
    "text only.parquet": parquet([{"text": "a film"}] * 30),
    "archive.csv": b"PK\x03\x04" + bytes(500),
    "not gzip.csv.gz": csv(GOOD).encode(),
    "half gzip.jsonl.gz": b"\x1f\x8b\x08\x00" + bytes(100),
    "words.doc": "a document",
    "no suffix": csv(GOOD),
    "unclosed quote.csv": csv(GOOD).replace("\nthe film was so good 1,", '\n"the film was so good 1,'),
}


def write(path, content):
    path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content, encoding="utf-8")
    return path


def is_read(source):
    """Whether data is read and cut into words, as training does it."""
    try:
        load(DataSettings(source=str(source)), TextSettings())
    except HeedfulError as error:
        assert str(error).strip()
        return False
    return True


def test_no_bad_file_is_read(tmp_path):
    assert [name for name, content in FILES.items() if is_read(write(tmp_path / name, content))] == []
    assert is_read(write(tmp_path / "good.csv", csv(GOOD)))


def test_no_bad_file_is_trained_on(tmp_path):
    for name in ["empty.csv", "deep.jsonl", "half.parquet"]:
        path = write(tmp_path / name, FILES[name])
        assert_refused(["data", "check", path])
        assert_refused(["train", "--epochs", "1", "--runs", tmp_path / "runs", path])
        assert not (tmp_path / "runs").exists()


COLUMNS = [
    ["--text", "nowhere"],
    ["--label", "nowhere"],
    ["--query", "nowhere"],
    ["--text", ""],
    ["--text", "label"],
    ["--label", "text"],
    ["--text", "text", "--label", "text"],
    ["--query", "text"],
    ["--query", "label"],
    ["--text", "Text"],
    ["--set", "data.task=nli"],
    ["--set", "data.task=qa"],
    ["--set", 'data.only_labels=["nowhere"]'],
    ["--set", 'data.only_labels=["good"]'],
    ["--set", "data.dev_share=0.9"],
    ["--set", "data.test_share=0.999"],
    ["--set", "data.train_limit=1"],
    ["--set", "text.longer_than=99"],
    ["--set", "text.shorter_than=1"],
    ["--set", "data.classes=3"],
    ["--set", "data.positions=start"],
]


def test_no_column_that_cannot_be_is_taken(tmp_path):
    path = write(tmp_path / "good.csv", csv(GOOD))
    for columns in COLUMNS:
        assert_refused(["data", "check", path, *columns])


VECTORS = {
    "empty.txt": "",
    "blank.txt": "\n\n",
    "words only.txt": "the\nfilm\nwas\n",
    "ragged.txt": "the 1 2 3\nfilm 1 2\nwas 1 2 3\n",
    "letters.txt": "the a b c\nfilm d e f\n",
    "nan.txt": "the nan nan\nfilm 1 2\n",
    "infinite.txt": "the inf 1\nfilm 1 2\n",
    "lying head.txt": "2 5\nthe 1 2 3\nfilm 1 2 3\n",
    "terabytes.bin": b"999999999 999999999\nthe " + bytes(8),
    "nobody's words.txt": "qwertz 1 2 3\nasdf 1 2 3\n",
    "utf16.txt": "the 1 2 3\nfilm 1 2 3\n".encode("utf-16"),
    "binary.txt": bytes(range(256)) * 10,
    "huge numbers.txt": "the 1e999 1\nfilm 1 2\n",
    "not gzip.txt.gz": "the 1 2\nfilm 1 2\n",
}


def test_no_bad_vectors_are_trained_with(tmp_path):
    data = write(tmp_path / "good.csv", csv(GOOD))
    for name, content in VECTORS.items():
        path = write(tmp_path / name, content)
        assert_refused(["train", data, "--vectors", path, "--epochs", "1", "--runs", tmp_path / "runs"])
    assert not (tmp_path / "runs").exists()


FOLDERS = {
    "empty": {},
    "no train": {"test.csv": csv(GOOD)},
    "other labels in test": {"train.csv": csv(GOOD), "test.csv": csv(with_changes(40, label="other"))},
    "other columns in test": {"train.csv": csv(GOOD), "test.csv": csv(GOOD).replace("text,label", "a,b")},
    "two trains": {"train.csv": csv(GOOD), "train.jsonl": jsonl(GOOD)},
    "no data": {"readme.md": "nothing here"},
    "empty test": {"train.csv": csv(GOOD), "test.csv": "text,label\n"},
    "broken test": {"train.csv": csv(GOOD), "test.jsonl": "{"},
    "two names of dev": {"train.csv": csv(GOOD), "dev.csv": csv(GOOD), "valid.csv": csv(GOOD)},
}


def test_no_bad_folder_is_trained_on(tmp_path):
    for name, files in FOLDERS.items():
        (tmp_path / name).mkdir()
        for file, content in files.items():
            write(tmp_path / name / file, content)
    assert [name for name in FOLDERS if is_read(tmp_path / name)] == []
