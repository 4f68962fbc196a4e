"""What every test of the battery must do, over the whole dict, for models of every kind."""

from dataclasses import fields, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import pytest
import torch
from torch import nn

import heedful.battery
from heedful.auditing.rows import chosen_tests
from heedful.battery import BATTERY, PAIRS, Evidence
from heedful.errors import SettingError
from heedful.settings import AuditSettings
from heedful.settings.validation import option_parameters
from support.evidence import KINDS
from support.evidence import evidence_of_kind as evidence_of
from support.four_verbs import FourVerbs
from support.models import BATCH, LENGTHS, TIME, cut, make_batch

OPTIONS = {
    "permutation": {"count": 11},
    "erase_until_flip": {"rankings": 7},
    "adversarial_attention": {"eps": 0.05, "steps": 5},
    "embedding_attack": {"radii": (0.05, 0.01), "steps": 2},
    "comprehensiveness_sufficiency": {"sizes": (1.0, 2.0, 0.2)},
    "sensitivity": {"sizes": (1.0, 0.4), "by": ("attention", "random"), "probes": 3, "steps": 2},
}


def run(name: str, evidence: Evidence):
    with torch.no_grad():
        return BATTERY[name].function(evidence, torch.Generator().manual_seed(0), **OPTIONS.get(name, {}))


@cache
def found(name: str, kind: str):
    return run(name, evidence_of(kind))


OF_TRANSFORMERS = ("same_mixture", "mean_of_heads")
"""Tests that have nothing to say of other models."""


@pytest.mark.parametrize("name", BATTERY)
def test_findings_are_one_number_a_text_repeat_and_change_neither_trace_nor_model(name):
    for kind in KINDS:
        evidence = evidence_of(kind)
        seen, model = evidence.trace, evidence.model
        assert isinstance(model, nn.Module)
        before = {f.name: getattr(seen, f.name).clone() for f in fields(seen) if torch.is_tensor(getattr(seen, f.name))}
        weights = {k: v.clone() for k, v in model.state_dict().items()}
        again = run(name, evidence)
        assert all(torch.equal(getattr(seen, key), value) for key, value in before.items())
        assert all(torch.equal(weights[k], v) for k, v in model.state_dict().items())
        assert all(parameter.grad is None for parameter in model.parameters())
        assert bool(again.values) == (name not in OF_TRANSFORMERS)
        for measure, value in found(name, kind).values.items():
            assert value.shape == (BATCH,) and value.dtype == torch.float64, measure
            torch.testing.assert_close(value, again.values[measure], atol=0, rtol=0, equal_nan=True)
            assert not value.isinf().any(), measure


DRAWING = {
    "permutation": ("median_tvd",),
    "erase_one": ("delta",),
    "adversarial_attention": ("search",),
    "embedding_noise": ("js", "tvd", "flips", "overlap", "drop"),
    "embedding_attack": ("js", "tvd", "flips", "overlap", "drop"),
    "word_substitution": ("js", "tvd", "flips", "overlap", "drop"),
    "plausibility": ("eraser_precision", "eraser_recall"),  # of the top items, ties in random order
}
"""Measures that depend on what is drawn, beside those named after it: of random words, of permuted weights."""


def is_drawn(name: str, measure: str) -> bool:
    return any(part in measure for part in ("random", "permuted", *DRAWING.get(name, ())))


@pytest.mark.parametrize("name", BATTERY)
def test_padding_and_neighbours_change_nothing(name):
    """What is drawn at random may differ; all else must not, except digits of parts of texts, read in float32."""
    tolerance = 1e-6 if name == "comprehensiveness_sufficiency" else 1e-9
    for kind in ["token-wise", "query"]:
        together = found(name, kind)
        batch = make_batch(KINDS[kind].get("has_query", False))
        for row, length in enumerate(LENGTHS.tolist()):
            alone = run(name, evidence_of(kind, cut(batch, [row], length)))
            for measure, value in together.values.items():
                if not is_drawn(name, measure):
                    torch.testing.assert_close(
                        value[row], alone.values[measure][0], atol=tolerance, rtol=0, equal_nan=True
                    )


def test_a_text_of_one_item_is_undefined():
    for name in [name for name in BATTERY if name not in ("prediction", "uniform")]:
        for kind in ["token-wise", "recurrent", "not linear"]:
            for value in found(name, kind).values.values():
                assert value[LENGTHS.tolist().index(1)].isnan()


def test_a_head_that_is_not_linear_is_answered_by_search():
    solved = ("permutation", "adversarial_attention")
    assert {found(name, "not linear").solver for name in solved} == {"search"}
    assert {found(name, "recurrent").solver for name in solved} == {"exact"}
    assert found("adversarial_attention", "five classes").solver == "bound"
    assert found("permutation", "five classes").solver == "search"


def test_decoding_one_by_one_finds_what_the_exact_forms_find():
    for name in ["permutation", "erase_one", "erase_until_flip", "uniform"]:
        for kind in ["token-wise", "five classes"]:
            exact = evidence_of(kind)
            decoded, wanted = run(name, Evidence(FourVerbs(exact.model), exact.trace)).values, found(name, kind)
            at_most = {"worst_tvd", "some_flips"}  # over the drawn permutations only
            for measure, value in wanted.values.items():
                if "minimal" in measure or (
                    measure.startswith(("count", "fraction", "mass")) and decoded[measure].isnan().any()
                ):
                    continue  # without a linear head the minimum is the best of the rankings
                if measure in at_most:
                    assert (decoded[measure].nan_to_num() <= value.nan_to_num() + 1e-12).all()
                else:
                    torch.testing.assert_close(decoded[measure], value, atol=1e-10, rtol=0, equal_nan=True)


def test_nothing_beats_a_ceiling():
    """Text by text, where two classes and a linear head leave nothing to search for; accuracy is not won so."""
    for kind in ["token-wise", "recurrent", "sentences", "uniform", "frozen"]:
        for name in [name for name in BATTERY if name != "uniform"]:
            columns = {f"{name}.{measure}": value[None] for measure, value in found(name, kind).values.items()}
            for question in BATTERY[name].questions:
                if question.best_kind == "ceiling" and columns:
                    value, _, best = question.measured(columns)
                    assert (value <= best + 1e-9)[~(value.isnan() | best.isnan())].all(), question.name


def test_start_and_end_symbols_count_for_nothing():
    """A token-wise model does not notice them at all."""
    for name in BATTERY:
        batch = make_batch()
        inner = (torch.arange(TIME) < LENGTHS[:, None] - 1) & (torch.arange(TIME) > 0)
        framed = replace(cut(batch, [0, 1], TIME), attendable_mask=inner[:2])
        values = run(name, evidence_of("token-wise", framed)).values
        assert run("prediction", evidence_of("token-wise", framed)).values["items"].tolist() == [5, 2]
        for row, length in enumerate([5, 2]):
            bare = cut(batch, [row], TIME)
            shift = {k: getattr(bare, k)[:, 1 : 1 + length] for k in ("tokens", "mask", "attendable_mask", "sentence")}
            shift["marks"] = bare.marks[:, :, 1 : 1 + length]
            alone = run(name, evidence_of("token-wise", replace(bare, **shift)))
            for measure, value in values.items():
                if not is_drawn(name, measure):
                    torch.testing.assert_close(value[row], alone.values[measure][0], atol=1e-9, rtol=0, equal_nan=True)


def test_every_test_is_listed_by_the_name_of_its_function():
    modules = [
        import_module(f"heedful.battery.{path.stem}") for path in Path(heedful.battery.__file__).parent.glob("*.py")
    ]
    tests = [module.TEST for module in modules if hasattr(module, "TEST")]
    listed = {**BATTERY, **PAIRS}
    assert {test.function.__name__ for test in tests} == set(listed) and not set(BATTERY) & set(PAIRS)
    assert all(test.function.__name__ == name and test in tests for name, test in listed.items())


ALL_OPTIONS = [(name, option) for name, test in BATTERY.items() for option in option_parameters(test.function)]


def chosen_with(name, option, value):
    return chosen_tests(AuditSettings(tests=(name,), options={name: {option: value}}))[name]


def test_an_option_of_the_wrong_type_is_refused():
    for name, option in ALL_OPTIONS:
        annotation = option_parameters(BATTERY[name].function)[option].annotation
        wrong = 1.5 if annotation is str else "nonsense"
        with pytest.raises(SettingError, match=f"option '{option}' of test '{name}' .*; it was {wrong!r}"):
            chosen_with(name, option, wrong)


def test_the_default_of_an_option_can_be_given():
    for name, option in ALL_OPTIONS:
        default = option_parameters(BATTERY[name].function)[option].default
        if default is not None:
            bound = chosen_with(name, option, default)
            assert isinstance(bound, partial) and bound.keywords == {option: default}


def test_an_option_beyond_its_bounds_is_refused():
    for name, option, value in [
        ("permutation", "count", 0),
        ("erase_until_flip", "rankings", 0),
        ("adversarial_attention", "eps", 1.0),
        ("adversarial_attention", "steps", 0),
        ("embedding_noise", "radii", (0.1, 0.0)),
        ("embedding_attack", "radii", ()),
        ("word_substitution", "counts", (1, 0)),
        ("comprehensiveness_sufficiency", "sizes", (-1.0,)),
        ("sensitivity", "probes", 0),
    ]:
        with pytest.raises(SettingError, match=f"option '{option}' of test '{name}'"):
            chosen_with(name, option, value)


def test_an_unknown_option_lists_the_known():
    for name in BATTERY:
        known = ", ".join(option_parameters(BATTERY[name].function)) or "none"
        with pytest.raises(SettingError, match=rf"unknown option 'color' of test '{name}'\. Known: {known}\."):
            chosen_with(name, "color", 1)
