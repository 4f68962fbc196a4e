import pytest
import torch

from heedful.models.transformers import decoding
from support.tiny_transformers import tiny_model, tiny_trace


@pytest.mark.parametrize("name", ["bert", "modernbert", "xlnet"])
@pytest.mark.parametrize("most", [1, 3, 40])
def test_however_many_are_run_at_once_the_answers_are_the_same(name, most, monkeypatch):
    model, seen = tiny_model(name), tiny_trace(name)
    drawn = torch.rand(
        *seen.attention.shape[:1], 5, seen.attention.shape[1], generator=torch.Generator().manual_seed(0)
    )
    variants = drawn.double().masked_fill(~seen.encoded.items[:, None], 0.0)
    variants = variants / variants.sum(-1, keepdim=True)
    together = model.decode_each(seen.encoded, variants)
    monkeypatch.setattr(decoding, "ROWS", most)
    monkeypatch.setattr(decoding, "TOKENS", most)
    torch.testing.assert_close(model.decode_each(seen.encoded, variants), together)
