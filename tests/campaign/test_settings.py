"""Bad settings: every field of a run and of an audit with values of the wrong type, sign or size."""

import json
from typing import Any

import pytest

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
FREE = {"data.fingerprint", "network.vectors_fingerprint", "audit.tests", "audit.options"}
"""Filled in by us, or tables of their own."""
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


@pytest.mark.parametrize("part", PARTS)
def test_no_wrong_setting_is_taken(part):
    fields = {f"{part}.{name}": field for name, field in PARTS[part].model_fields.items()}
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
    "seed.x=1",
    "data.source.x=1",
    "seed=" + "9" * 30,
    "seed=" + "9" * 5000,
    "seed=1.5",
    'seed="a"',
    "seed=[1]",
    "network.hidden_size=" + "[" * 2000,
    "network.hidden_size=" + "[" * 100_000,
    "network.hidden_size=" + "9" * 5000,
    "network.temperature=Infinity",
    "training.clip_value=Infinity",
    "training.learning_rate_decay=Infinity",
    "training.learning_rate=-1",
    "training.epochs=0",
    "training.epochs=99999999999999999999",
    "training.batch_size=0",
    "network.kernels=[0]",
    "text.min_count=0",
    "text.max_tokens=0",
    "data.dev_share=1",
    "data.test_share=-0.1",
    "data.classes=1",
    "data.classes=51",
    "data.agreement=0.5",
    "data.only_labels=nonsense",
    "data.only_labels=[1]",
    "audit=1",
    "audit.=1",
    "audit.nonsense=1",
    "audit.permutation.count=Infinity",
    "audit.permutation.count.more=1",
    "audit.seed=" + "9" * 30,
    "audit.examples=0",
    "audit.split=train",
    "audit.shown=-1",
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


@pytest.mark.parametrize("settings", [NAMES_OF_NOTHING, OPTIONS_OF_TESTS], ids=["names", "options"])
def test_what_shows_only_with_the_data_or_the_tests_is_refused_by_the_command(settings, tmp_path):
    places = ["--out", tmp_path / "out", "--runs", tmp_path / "runs", "--audits", tmp_path / "audits"]
    for setting in settings:
        assert_refused(["audit", "mock-1", *places, *CHEAP, "--set", setting])


METHOD_OPTIONS = {
    "seat": ["radius=a", "radius=-1", "steps=1.5", "steps=-1", "steps=0", "k=0", "k=a", "weights=nonsense", "norm=l3"],
    "attention_at": ["radius=a", "steps=0", "weight=-1"],
    "attention_rp": ["radius=-1", "weight=a"],
    "word_at": ["radius=-1", "steps=-1"],
    "word_iat": ["size=-1", "size=a"],
    "adversary": ["weight=-1", "tvd_weight=a", "nonsense=1"],
    "vanilla": ["radius=1"],
}


@pytest.mark.parametrize("method", METHOD_OPTIONS)
def test_no_wrong_option_of_a_method_is_taken(method, tmp_path):
    places = ["--out", tmp_path / "out", "--runs", tmp_path / "runs", "--audits", tmp_path / "audits"]
    for option in METHOD_OPTIONS[method]:
        assert_refused(["audit", "mock-1", *places, *CHEAP, "--method", method, "--set", f"training.options.{option}"])
