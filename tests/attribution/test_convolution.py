import pytest
import torch

from heedful.attribution.convolution import states_beside_gap
from heedful.models.encoders.cnn import Cnn
from heedful.models.trace import trace
from support.models import LENGTHS, TIME, make, make_batch


@pytest.mark.parametrize("kernels", [(1,), (3,), (5, 1), (7, 3)])
def test_states_beside_a_gap_are_those_of_the_shortened_text(kernels):
    model, batch = make("cnn", kernels=kernels), make_batch()
    seen = trace(model, batch)
    assert isinstance(model.encoder, Cnn)
    near = states_beside_gap(model.encoder, seen.embedded, batch.mask)
    reach = max(kernels) // 2
    assert sorted(near) == [offset for offset in range(-reach, reach + 1) if offset]
    for row, length in enumerate(LENGTHS.tolist()):
        for gap in range(length):
            kept = [place for place in range(length) if place != gap]
            if not kept:
                continue
            shorter = model.encoder(seen.embedded[row : row + 1, kept], torch.ones(1, length - 1, dtype=torch.bool))[0]
            for place, state in zip(kept, shorter, strict=True):
                actual = near.get(place - gap, seen.encoded.hidden)[row, place]
                torch.testing.assert_close(actual, state, atol=1e-14, rtol=0)
    assert seen.encoded.hidden.shape[1] == TIME
