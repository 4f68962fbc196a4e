"""Bad settings: every field of a run and of an audit with values of the wrong type, sign or size."""

import json
from typing import Any

from heedful.cli.audit_command import audit_settings
from heedful.cli.command_options import make_run, split_audit
from heedful.errors import HeedfulError
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, TextSettings, TrainingSettings
from support.refusals import assert_refused

PARTS = {
    "data": DataSettings,
    "text": TextSettings,
    "network": NetworkSettings,
    "training": TrainingSettings,
    "audit": AuditSettings,
}
FREE = {
    "data.fingerprint",
    "network.vectors_fingerprint",
    "training.weight_decay",
    "audit.tests",
    "audit.options",
}
"""Filled in by us, tables of their own, or of two types."""
KNOWN: dict[str, list[Any]] = {}


def wrong_values(annotation: str) -> list[Any]:
    """Values that a field of that type does not take: all for its first field, the first and the lowest for others."""
    if annotation in KNOWN:
        return [KNOWN[annotation][0], *(value for value in KNOWN[annotation] if value == -(10**30))]
    wrong: list[Any] = [{"a": {"b": 1}}, [[1]]] if "dict" not in annotation else [[1], "text", {"a": {"b": 1}}]
    if "str" not in annotation and "Literal" not in annotation and "dict" not in annotation:
        wrong += ["nonsense", float("inf"), float("nan"), -(10**30)]
    if "Literal" in annotation or annotation == "str":
        wrong += [7.5, "nonsense" if "Literal" in annotation else 12]
    if "bool" in annotation and "dict" not in annotation:
        wrong += [17]
    return KNOWN.setdefault(annotation, wrong)


def is_taken(setting: str) -> bool:
    """Whether `--set` takes it, before any data is read."""
    try:
        of_run, of_audit = split_audit([setting])
        make_run({}, of_run)
        audit_settings(None, None, False, of_audit)
    except HeedfulError as error:
        assert str(error).strip()
        return False
    return True


def test_no_wrong_setting_is_taken():
    fields = {f"{part}.{name}": field for part, kind in PARTS.items() for name, field in kind.model_fields.items()}
    wrong = [
        f"{place}={value if isinstance(value, str) else json.dumps(value)}"
        for place, field in fields.items()
        if place not in FREE
        for value in wrong_values(str(field.annotation))
    ]
    assert len(wrong) > len(fields) and [setting for setting in wrong if is_taken(setting)] == []


MISPLACED = [
    "nonsense",
    "=1",
    "",
    ".=1",
    "..=1",
    "network=5",
    "network.=5",
    ".network=5",
    "data.source.x=1",
    "seed=" + "9" * 30,
    "seed=" + "9" * 5000,
    'seed="a"',
    "network.hidden_size=" + "[" * 2000,
    "network.hidden_size=" + "[" * 100_000,
    "network.hidden_size=" + "9" * 5000,
    "network.temperature=Infinity",
    "network.kernels=[0]",
    "data.only_labels=nonsense",
    "data.only_labels=[1]",
    "audit=1",
    "audit.=1",
    "audit.nonsense=1",
    "audit.permutation.count.more=1",
    "audit.seed=" + "9" * 30,
]


def test_no_misplaced_setting_is_taken():
    assert [setting for setting in MISPLACED if is_taken(setting)] == []
    assert is_taken("network.hidden_size=5") and is_taken("audit.permutation.count=5")


NAMES_OF_NOTHING = [
    "training.options.radius=1",
    "training.method=seat_",
    "training.optimizer=nonsense",
    "training.metric=nonsense",
    "network.encoder=nonsense",
    "network.head=nonsense",
    "network.attention=nonsense",
    "network.vectors=nowhere.txt",
    "network.words=nonsense",
    'data.only_labels=["nowhere"]',
]
OPTIONS_OF_TESTS = [
    "audit.nonsense.option=1",
    "audit.permutation.nonsense=1",
    "audit.permutation.count=0",
    "audit.permutation.count=-1",
    "audit.permutation.count=1.5",
    'audit.permutation.count="a"',
    "audit.adversarial_attention.eps=-1",
    "audit.adversarial_attention.eps=2",
]
SMALL = ("data.train_limit=20", "data.test_limit=20", "network.embed_size=4", "network.hidden_size=4")
CHEAP = ["--seeds", "1", "--epochs", "1", "--encoder", "average", "--tests", "permutation"]
CHEAP += [part for setting in SMALL for part in ("--set", setting)]
"""What is taken by mistake should not cost a minute before it is noticed."""


def test_what_shows_only_with_the_data_or_the_tests_is_refused_by_the_command(tmp_path):
    places = ["--out", tmp_path / "out", "--runs", tmp_path / "runs", "--audits", tmp_path / "audits"]
    for setting in (*NAMES_OF_NOTHING, *OPTIONS_OF_TESTS):
        assert_refused(["audit", "mock-1", *places, *CHEAP, "--set", setting])


METHOD_OPTIONS = {
    "seat": ["radius=a", "radius=-1", "steps=1.5", "steps=0", "k=0", "weights=nonsense", "norm=l3"],
    "attention_at": ["steps=0", "weight=-1"],
    "attention_rp": ["radius=-1"],
    "word_at": ["steps=-1"],
    "word_iat": ["size=-1"],
    "adversary": ["weight=-1", "nonsense=1"],
    "vanilla": ["radius=1"],
}


def test_no_wrong_option_of_a_method_is_taken(tmp_path):
    places = ["--out", tmp_path / "out", "--runs", tmp_path / "runs", "--audits", tmp_path / "audits"]
    for method, options in METHOD_OPTIONS.items():
        own = ["audit", "mock-1", *places, *CHEAP, "--method", method]
        for option in options:
            assert_refused([*own, "--set", f"training.options.{option}"])
