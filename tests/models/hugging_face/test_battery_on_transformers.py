"""The battery as it is, put to transformers: everything runs, and what is known by hand is right."""

import pytest
import torch

from heedful.battery import BATTERY, Context, Evidence
from support.tiny_transformers import tiny_model, tiny_trace

QUICK = {
    "erase_until_flip": {"rankings": 3},
    "permutation": {"count": 5},
    "adversarial_attention": {"steps": 3},
    "embedding_attack": {"steps": 2},
    "sensitivity": {"sizes": (1.0, 3.0), "probes": 4, "steps": 3},
}
UNDEFINED = ("certificate", "plausibility", "token_scores", "word_substitution")
"""Tests that need a linear head, marks, tokens as items, or a vocabulary of words."""


@pytest.mark.parametrize("test", BATTERY)
def test_every_test_runs_and_repeats(test):
    for name in ["bert", "modernbert"]:

        def findings(name=name):
            context = Context(labels=("bad", "so-so", "good"))
            evidence = Evidence(tiny_model(name), tiny_trace(name), context)
            with torch.no_grad():
                return BATTERY[test].function(evidence, torch.Generator().manual_seed(0), **QUICK.get(test, {}))

        first, second = findings(), findings()
        for measure, value in first.values.items():
            assert value.shape == (3,), measure
            torch.testing.assert_close(value, second.values[measure], equal_nan=True)
        defined = [measure for measure, value in first.values.items() if not value.isnan().all()]
        assert bool(defined) or test in UNDEFINED or (test, name) == ("same_mixture", "modernbert")


def test_erasing_a_word_is_erasing_it_from_every_head():
    model, seen = tiny_model("bert"), tiny_trace("bert")
    evidence = Evidence(model, seen)
    kept = seen.attention.clone()
    kept[:, 1] = 0.0
    with torch.no_grad():
        expected = model.decode(seen.encoded, kept / kept.sum(1, keepdim=True))
        torch.testing.assert_close(evidence.erased_logits[:, 1], expected)
    assert evidence.solver == "search"
