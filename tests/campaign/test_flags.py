"""Bad flags: every option of every command with values that it cannot take, and arguments that name nothing."""

import pytest

from support.refusals import assert_refused

pytestmark = pytest.mark.slow

DEEP = "/".join(["x"] * 200)
LONG = "x" * 300

SETTINGS = ("data.train_limit=20", "data.test_limit=20", "network.embed_size=4", "network.hidden_size=4")
SMALL = [part for setting in SETTINGS for part in ("--set", setting)]
"""What is taken by mistake should not cost a minute before it is noticed."""

NUMBERS = {
    "train": ("--seed", "--epochs", "--threads"),
    "audit": ("--seed", "--epochs", "--threads", "--examples", "--seeds", "--adversaries"),
    "explain": ("--limit",),
    "sweep": ("--workers",),
    "reproduce": ("--workers",),
    "calibrate": ("--draws", "--workers"),
}
SUBJECT = {
    "train": ["mock-1"],
    "audit": ["mock-1"],
    "explain": ["a text", "--model", "abc"],
    "sweep": ["nowhere.toml"],
    "reproduce": ["jain-wallace"],
    "calibrate": [],
}
NO_NUMBERS = ["", "a", "1.5", "1e3", "nan", "--", "0x10"]
TOO_SMALL = {"--epochs", "--threads", "--examples", "--seeds", "--limit", "--workers", "--draws"}


def test_no_wrong_number_is_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command, options in NUMBERS.items():
        small = SMALL if command in ("train", "audit") else []
        for option in options:
            values = [*(NO_NUMBERS if option == "--seed" else ["a"]), *(["0", "-1"] if option in TOO_SMALL else [])]
            for value in values:
                assert_refused([command, *SUBJECT[command], *small, option, value])


CHOICES = [
    ["train", "mock-1", "--encoder", "nonsense"],
    ["train", "mock-1", "--encoder", ""],
    ["train", "mock-1", "--attention", "nonsense"],
    ["train", "mock-1", "--attention", "frozen"],
    ["train", "mock-1", "--method", "nonsense"],
    ["train", "mock-1", "--method", "seat"],
    ["train", "mock-1", "--method", "adversary"],
    ["train", "mock-1", "--vectors", "nowhere.txt"],
    ["train", "mock-1", "--vectors", "."],
    ["train", "mock-1", "--reference", "abc"],
    ["train", "mock-1", "--reference", ""],
    ["train", "mock-1", "--reference", "../.."],
    ["train", "mock-1", "--record-flow", "first"],
    ["train", "mock-1", "--record-flow", "-1"],
    ["train", "mock-1", "--record-flow", "99"],
    ["train", "mock-1", "--epochs", "99999999999999999999"],
    ["train", "mock-1", "--seed", "9" * 30],
    ["train", "mock-1", "--threads", "9" * 30],
    ["train", "mock-1", "--threads", "5000"],
    ["train", "mock-1", "--device", "meta"],
    ["train", "mock-1", "--device", ""],
    ["train", "mock-1", "--device", "cpu:x"],
    ["train", "mock-1", "--text", "column"],
    ["train", "mock-1", "--nonsense"],
    ["train", "mock-1", "mock-2"],
    ["train"],
    ["train", ""],
    ["train", " "],
    ["train", "mock-"],
    ["train", "mock-99"],
    ["train", "nowhere.csv"],
    ["train", "~nouser/data.csv"],
    ["train", LONG],
    ["train", DEEP],
    ["train", "a\x00b"],
    ["train", "hub::"],
    ["train", "hub:../.."],
    ["train", "-"],
    ["train", "mock-1", "--runs", ""],
    ["audit", "mock-1", "--runs", ""],
    ["audit", "mock-1", "--audits", ""],
    ["audit", "mock-1", "--out", ""],
    ["audit", "mock-1", "--tests", ","],
    ["audit", "mock-1", "--tests", "permutation,"],
    ["audit", "mock-1", "--examples", "9" * 30],
    ["audit", "mock-1", "--adversaries", "10"],
    ["audit", "mock-1", "--adversaries", "-1"],
    ["audit", "mock-1", "--uniform", "abc"],
    ["audit", "--model", "abc"],
    ["audit", "--model", ""],
    ["audit", "--model", "../.."],
    ["audit", "--model", "abc", "--encoder", "cnn"],
    ["explain"],
    ["explain", "a text"],
    ["explain", "a text", "--model", "abc"],
    ["explain", "", "--model", "abc"],
    ["explain", "nowhere.csv", "--model", "abc"],
    ["report"],
    ["report", "abc"],
    ["report", ""],
    ["report", "."],
    ["report", LONG],
    ["report", "abc", "--figures", ""],
    ["compare"],
    ["compare", "abc", "def"],
    ["compare", "", ""],
    ["sweep"],
    ["sweep", ""],
    ["sweep", "."],
    ["sweep", "nowhere.toml"],
    ["sweep", "nowhere.toml", "--out", "table.xls"],
    ["sweep", "nowhere.toml", "--scheduler", "nonsense"],
    ["reproduce"],
    ["reproduce", "nonsense"],
    ["reproduce", ""],
    ["reproduce", "jain-wallace", "--scale", "huge"],
    ["reproduce", "jain-wallace", "--scale", ""],
    ["calibrate", "--world", "nonsense"],
    ["calibrate", "--world", ""],
    ["calibrate", "--draws", "9" * 30],
    ["list"],
    ["list", ""],
    ["data"],
    ["data", "nonsense"],
    ["data", "describe"],
    ["data", "check", "."],
    ["data", "check", "hub::"],
    ["data", "fetch", "nonsense"],
    ["data", "fetch", "../sst2"],
    ["data", "synonyms", "mock-1", "--kind", "nonsense"],
    ["data", "synonyms", "mock-1", "--vectors", "nowhere.txt"],
    ["data", "synonyms", "mock-1", "--min-similarity", "a"],
    ["nonsense"],
    ["--nonsense"],
]


def test_no_name_of_nothing_is_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments in CHOICES:
        trains = arguments[:2] in (["train", "mock-1"], ["audit", "mock-1"])
        seeds = ["--seeds", "1"] if trains and arguments[0] == "audit" else []
        assert_refused([*arguments, *(SMALL if trains else []), *seeds])


def test_no_place_that_cannot_be_written_is_found_out_after_training(tmp_path, monkeypatch):
    for option in ["--runs", "--audits", "--out"]:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "file").write_text("a file")
        for place in ("file", "file/inside", "/proc/inside", "/dev/null"):
            assert_refused(["audit", "mock-1", "--seeds", "1", *SMALL, option, place], option)
            assert not list(tmp_path.glob("runs/*")), "something was trained first"
