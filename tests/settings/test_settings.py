"""Runs and audits as settings: validated, frozen, and named by a hash of all that decides them."""

import pytest
from pydantic import ValidationError

from heedful.errors import SettingError
from heedful.settings import (
    AuditSettings,
    DataSettings,
    FinetuneSettings,
    NetworkSettings,
    Run,
    TrainingSettings,
    audit_key_of,
    key_of,
)
from heedful.settings.validation import update_settings

RUN = Run(data=DataSettings(fingerprint="f"))


def test_a_run_without_a_fingerprint_has_no_key():
    with pytest.raises(SettingError, match=r"`data\.fingerprint` must be set; it is empty for 'mock-1'"):
        key_of(Run())


def test_the_key_is_the_same_for_the_same_run_and_depends_on_every_setting():
    changes = [
        {"seed": 1},
        {"network.encoder": "cnn"},
        {"data.fingerprint": "x"},
        {"text.min_count": 2},
        {"network.layers": 3},
        {"data.rationale": "why"},
        {"training.options": {"radius": 1.0}},
        {"reference": "y"},
    ]
    keys = {key_of(RUN), *(key_of(update_settings(RUN, change)) for change in changes)}
    assert len(keys) == 1 + len(changes)
    assert key_of(Run(data=DataSettings(fingerprint="f"))) == key_of(RUN)


def test_a_run_survives_json():
    run = update_settings(RUN, {"network.kernels": (1, 3), "training.options": {"radius": 0.5}, "reference": "key"})
    assert Run.model_validate_json(run.model_dump_json()) == run


def test_an_audits_key_depends_on_model_data_and_settings():
    quick = AuditSettings(options={"permutation": {"count": 5}})
    keys = {audit_key_of("a", "b", quick), audit_key_of("x", "b", quick), audit_key_of("a", "x", quick)}
    keys |= {audit_key_of("a", "b", AuditSettings()), audit_key_of("a", "b", update_settings(quick, {"seed": 1}))}
    keys.add(audit_key_of("a", "b", update_settings(quick, {"options.permutation.count": 6})))
    keys.add(audit_key_of("a", "b", update_settings(quick, {"rankings": ("smoothgrad",)})))
    assert len(keys) == 7


def test_options_of_an_audit_survive_json():
    settings = AuditSettings(options={"embedding_noise": {"radii": (0.1, 0.5)}, "permutation": {"count": 5}})
    assert AuditSettings.model_validate_json(settings.model_dump_json()) == settings


def test_settings_cannot_be_changed_in_place():
    with pytest.raises(ValidationError, match="frozen"):
        RUN.seed = 1


def test_values_out_of_bounds_and_unknown_names_are_refused():
    for kind, content, message in [
        (NetworkSettings, {"hidden_size": 0}, "hidden_size"),
        (DataSettings, {"agreement": 0.5}, "agreement"),
        (DataSettings, {"classes": 1}, "classes"),
        (TrainingSettings, {"learning_rate": 0}, "learning_rate"),
        (TrainingSettings, {"epochs": 2, "record_flow": (0, 3)}, "epochs up to the last one, 2"),
        (AuditSettings, {"permutations": 5}, "permutations"),
        (AuditSettings, {"split": "train"}, "split"),
    ]:
        with pytest.raises(ValidationError, match=message):
            kind(**content)


def test_a_fine_tuned_run_has_a_key_once_its_model_is_known():
    run = Run(data=DataSettings(fingerprint="f"), finetune=FinetuneSettings(model="m"))
    with pytest.raises(SettingError, match=r"`finetune\.fingerprint` must be set; it is empty for 'm'"):
        key_of(run)
    known = update_settings(run, {"finetune.fingerprint": "g"})
    assert key_of(known) == key_of(update_settings(known, {"finetune.model": "the same, elsewhere"}))
    assert key_of(known) != key_of(update_settings(known, {"finetune.fingerprint": "h"}))
    assert key_of(known) != key_of(update_settings(known, {"finetune.epochs": 1}))
