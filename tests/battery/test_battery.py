"""What every test of the battery must do, over the whole dict, for models of every kind."""

from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

import heedful.battery
from heedful.battery import PAIRS, TESTS, Evidence
from support.evidence import KINDS
from support.evidence import evidence_of_kind as evidence_of
from support.four_verbs import FourVerbs
from support.models import BATCH, LENGTHS, TIME, VOCABULARY, cut, make_batch

OPTIONS = {
    "permutation": {"count": 11},
    "erase_until_flip": {"rankings": 7},
    "adversary": {"eps": 0.05, "steps": 5},
    "embedding_attack": {"radii": (0.05, 0.01), "steps": 2},
    "rationale": {"sizes": (1, 2, 0.2)},
    "token_scores": {"classes": torch.arange(VOCABULARY) % 4 - 2, "labels": ("bad", "good")},
    "sensitivity": {"sizes": (1, 0.4), "by": ("attention", "random"), "probes": 3, "steps": 2},
}


def run(name: str, evidence: Evidence):
    with torch.no_grad():
        return TESTS[name](evidence, torch.Generator().manual_seed(0), **OPTIONS.get(name, {}))


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("kind", KINDS)
def test_findings_are_one_number_a_text_and_repeat(name, kind):
    once, again = run(name, evidence_of(kind)), run(name, evidence_of(kind))
    assert once.values
    for measure, value in once.values.items():
        assert value.shape == (BATCH,) and value.dtype == torch.float64, measure
        torch.testing.assert_close(value, again.values[measure], atol=0, rtol=0, equal_nan=True)
        assert not value.isinf().any(), measure


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_the_trace_or_the_model_is_changed(name, kind):
    evidence = evidence_of(kind)
    seen = evidence.trace
    before = {f.name: getattr(seen, f.name).clone() for f in fields(seen) if torch.is_tensor(getattr(seen, f.name))}
    weights = {k: v.clone() for k, v in evidence.model.state_dict().items()}
    run(name, evidence)
    assert all(torch.equal(getattr(seen, key), value) for key, value in before.items())
    assert all(torch.equal(weights[k], v) for k, v in evidence.model.state_dict().items())
    assert all(parameter.grad is None for parameter in evidence.model.parameters())


DRAWING = {
    "permutation": ("median_tvd",),
    "erase_one": ("delta",),
    "erase_until_flip": ("random",),
    "adversary": ("search",),
    "embedding_noise": ("js", "tvd", "flips", "overlap", "drop"),
    "embedding_attack": ("js", "tvd", "flips", "overlap", "drop"),
    "word_substitution": ("js", "tvd", "flips", "overlap", "drop"),
    "rationale": ("random",),
    "sensitivity": ("random",),
}


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("kind", ["token-wise", "recurrent", "five classes", "query"])
def test_padding_and_neighbours_change_nothing(name, kind):
    """What is drawn at random may differ; all else must not."""
    together = run(name, evidence_of(kind))
    batch = make_batch(KINDS[kind].get("has_query", False))
    for row, length in enumerate(LENGTHS.tolist()):
        alone = run(name, evidence_of(kind, cut(batch, [row], length)))
        for measure, value in together.values.items():
            if not any(part in measure for part in DRAWING.get(name, ())):
                torch.testing.assert_close(value[row], alone.values[measure][0], atol=1e-9, rtol=0, equal_nan=True)


@pytest.mark.parametrize("name", [name for name in TESTS if name not in ("prediction", "uniform")])
@pytest.mark.parametrize("kind", ["token-wise", "recurrent", "not linear"])
def test_a_text_of_one_item_is_undefined(name, kind):
    for value in run(name, evidence_of(kind)).values.values():
        assert value[LENGTHS.tolist().index(1)].isnan()


def test_a_head_that_is_not_linear_is_answered_by_search():
    assert {run(name, evidence_of("not linear")).solver for name in ("permutation", "adversary", "erase_one")} == {
        "search"
    }
    assert {run(name, evidence_of("recurrent")).solver for name in ("permutation", "adversary", "erase_one")} == {
        "exact"
    }
    assert run("adversary", evidence_of("five classes")).solver == "bound"
    assert run("permutation", evidence_of("five classes")).solver == "search"


@pytest.mark.parametrize("name", ["permutation", "erase_one", "erase_until_flip", "uniform"])
@pytest.mark.parametrize("kind", ["token-wise", "five classes"])
def test_decoding_one_by_one_finds_what_the_exact_forms_find(name, kind):
    exact = evidence_of(kind)
    plain = Evidence(FourVerbs(exact.model), exact.trace)
    found, wanted = run(name, plain), run(name, exact)
    at_most = {"worst_tvd", "some_flips"}  # over the drawn permutations only
    for measure, value in wanted.values.items():
        if "minimal" in measure or (
            measure.startswith(("count", "fraction", "mass")) and found.values[measure].isnan().any()
        ):
            continue  # without a linear head the minimum is the best of the rankings
        if measure in at_most:
            assert (found.values[measure].nan_to_num() <= value.nan_to_num() + 1e-12).all()
        else:
            torch.testing.assert_close(found.values[measure], value, atol=1e-10, rtol=0, equal_nan=True)


@pytest.mark.parametrize("name", TESTS)
def test_start_and_end_symbols_count_for_nothing(name):
    """A token-wise model does not notice them at all."""
    batch = make_batch()
    inner = (torch.arange(TIME) < LENGTHS[:, None] - 1) & (torch.arange(TIME) > 0)
    framed = replace(cut(batch, [0, 1], TIME), attendable=inner[:2])
    found = run(name, evidence_of("token-wise", framed))
    assert run("prediction", evidence_of("token-wise", framed)).values["items"].tolist() == [5, 2]
    for row, length in enumerate([5, 2]):
        bare = cut(batch, [row], TIME)
        shift = {k: getattr(bare, k)[:, 1 : 1 + length] for k in ("tokens", "mask", "attendable", "sentence")}
        alone = run(name, evidence_of("token-wise", replace(bare, **shift)))
        for measure, value in found.values.items():
            if not any(part in measure for part in DRAWING.get(name, ())):
                torch.testing.assert_close(value[row], alone.values[measure][0], atol=1e-9, rtol=0, equal_nan=True)


def test_every_file_is_listed():
    files = {path.stem for path in Path(heedful.battery.__file__).parent.glob("*.py")}
    assert files - {"__init__", "evidence", "search", "steadiness"} == set(TESTS) | set(PAIRS)
