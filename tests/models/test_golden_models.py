import numpy as np
import pytest
import torch

from heedful.models.trace import trace
from support.folders import each_source, needs_golden
from support.golden_models import NAMES, Golden, load_full, load_golden


def assert_same_as_reference(golden: Golden) -> None:
    with torch.no_grad():
        ours = trace(golden.model, golden.batch)
    logit = ours.logits[:, 1].numpy()
    np.testing.assert_allclose(ours.attention.numpy(), golden.results["attn_f64"], atol=1e-9, rtol=0)
    np.testing.assert_allclose(logit, golden.results["logit_f64"], atol=1e-9, rtol=0)
    np.testing.assert_allclose(ours.logits.softmax(-1)[:, 1].numpy(), golden.results["yhat_f64"], atol=1e-9, rtol=0)


@each_source
@pytest.mark.parametrize("name", NAMES)
def test_the_authors_weights_give_the_authors_numbers(name, source):
    assert_same_as_reference(load_golden(name, source))


@needs_golden
def test_hidden_states_are_those_of_the_reference():
    golden = load_full("jw_sst_tiny_lstm")
    with torch.no_grad():
        hidden = trace(golden.model, golden.batch).encoded.hidden[:4]
    stored = golden.results["hidden_first4_f64"]
    real = golden.batch.mask[:4, : stored.shape[1]].numpy()
    np.testing.assert_allclose(hidden[:, : stored.shape[1]].numpy()[real], stored[real], atol=1e-9, rtol=0)
