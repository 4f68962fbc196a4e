"""Settings are validated however they are made or changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.errors import SettingError
from heedful.settings import AuditSettings, NetworkSettings, Run, TrainingSettings
from heedful.settings.validation import (
    bind_options,
    flatten_settings,
    nest_settings,
    option_parameters,
    update_settings,
    validate_settings,
)

names = st.text(st.characters(codec="ascii", categories=["Ll"]), min_size=1, max_size=3)
values = st.none() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2) | st.just({})
trees = st.recursive(
    st.dictionaries(names, values, max_size=3), lambda inner: st.dictionaries(names, inner | values, max_size=3)
)


@given(trees)
def test_flattening_and_nesting_are_inverse(tree):
    flat = flatten_settings(tree)
    assert nest_settings(flat) == tree
    assert flatten_settings(nest_settings(flat)) == flat


def test_flattening_a_run_and_nesting_it_is_the_run():
    run = Run(training=TrainingSettings(options={"radius": 1.0}), network=NetworkSettings(kernels=(1, 3)))
    flat = flatten_settings(run.model_dump())
    assert flat["training.options.radius"] == 1.0 and flat["network.kernels"] == (1, 3)
    assert validate_settings(Run, nest_settings(flat)) == run


def test_a_setting_inside_what_is_no_table_is_refused():
    with pytest.raises(SettingError, match="'seed.more' cannot be set: 'seed' is not a table"):
        nest_settings({"seed": 1, "seed.more": 2})


def test_a_wrong_change_is_an_error_that_names_it():
    for changes, message in [
        ({"network.hiden_size": 5}, r"setting 'network\.hiden_size'\. Did you mean 'hidden_size'\? Known: encoder, "),
        (
            {"netwrk.hidden_size": 5},
            r"setting 'netwrk'\. .*'network'\? Known: data, text, network, training, seed, reference",
        ),
        ({"sed": 1}, r"setting 'sed'\. .*Known: data"),
        ({"network": {"hiden_size": 5}}, r"setting 'network\.hiden_size'"),
        ({"network.hidden_size": 0}, r"setting 'network\.hidden_size' .*; it was 0"),
        ({"network.hidden_size": "wide"}, r"setting 'network\.hidden_size' .*; it was 'wide'"),
        ({"network": 5}, "setting 'network' "),
        ({"seed.more": 5}, "'seed.more' cannot be set: 'seed' is not a table"),
    ]:
        with pytest.raises(SettingError, match=message):
            update_settings(Run(), changes)


def test_a_change_leaves_the_rest_and_the_original_as_they_were():
    run = Run(seed=3, network=NetworkSettings(encoder="cnn", hidden_size=7))
    changed = update_settings(run, {"network.encoder": "average", "data.source": "mock-2"})
    assert (changed.network.encoder, changed.network.hidden_size, changed.seed) == ("average", 7, 3)
    assert (changed.data.source, changed.text, changed.training) == ("mock-2", run.text, run.training)
    assert run.network.encoder == "cnn"


@pytest.mark.parametrize(
    "part", [NetworkSettings(encoder="cnn"), {"encoder": "cnn"}], ids=["as settings", "as a table"]
)
def test_a_whole_part_can_be_replaced(part):
    run = Run(network=NetworkSettings(encoder="average", hidden_size=7), seed=3)
    assert update_settings(run, {"network": part}) == Run(network=NetworkSettings(encoder="cnn"), seed=3)


def test_options_are_replaced_or_changed_singly():
    settings = AuditSettings(options={"permutation": {"count": 5}, "embedding_noise": {"radii": (0.1,)}})
    changed = update_settings(settings, {"options.permutation.count": 7})
    assert changed.options == {"permutation": {"count": 7}, "embedding_noise": {"radii": (0.1,)}}
    assert update_settings(settings, {"options": {"permutation": {"count": 7}}}).options == {
        "permutation": {"count": 7}
    }
    assert update_settings(settings, {"options": {}}).options == {}
    assert update_settings(AuditSettings(), {"options.permutation.count": 7}).options == {"permutation": {"count": 7}}


def test_no_change_changes_nothing():
    run = Run(seed=3, training=TrainingSettings(options={"radius": 1}))
    assert update_settings(run, {}) == run


def test_an_error_says_whose_setting_it_is():
    with pytest.raises(SettingError, match="setting 'audit.shown' .*; it was -1"):
        validate_settings(AuditSettings, {"shown": -1}, "audit.")


def method(trace, *, radius: float = 0.1, steps: int = 3, norm: str = "l2", anything=None):
    return trace, radius, steps, norm, anything


def test_only_keyword_parameters_are_options():
    assert list(option_parameters(method)) == ["radius", "steps", "norm", "anything"]


def test_bound_options_are_converted_and_the_others_keep_their_defaults():
    assert bind_options(method, {"radius": 1, "steps": 5.0}, "method 'x'")("t") == ("t", 1.0, 5, "l2", None)
    assert bind_options(method, {}, "method 'x'")("t") == ("t", 0.1, 3, "l2", None)


def test_an_option_without_a_type_may_be_anything():
    assert bind_options(method, {"anything": ("a", 1)}, "method 'x'")("t")[-1] == ("a", 1)


def test_a_wrong_option_is_an_error_that_names_it():
    for options, message in [
        ({"radius": "far"}, r"option 'radius' of method 'x' should be a valid number.*; it was 'far'\."),
        ({"steps": 2.5}, r"option 'steps' of method 'x' .*integer.*; it was 2\.5\."),
        ({"norm": 1}, r"option 'norm' of method 'x' should be a valid string; it was 1\."),
        ({"raduis": 1}, r"unknown option 'raduis' of method 'x'\. Known: radius, steps, norm, anything\."),
        ({"trace": 1}, r"unknown option 'trace' of method 'x'"),
    ]:
        with pytest.raises(SettingError, match=message):
            bind_options(method, options, "method 'x'")


def test_a_function_without_options_says_so():
    with pytest.raises(SettingError, match="unknown option 'count' of test 'uniform'. Known: none."):
        bind_options(lambda evidence, generator: None, {"count": 1}, "test 'uniform'")
