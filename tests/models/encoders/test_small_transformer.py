"""The transformer that is trained from scratch."""

import pytest
import torch

from heedful.attribution.leave_one_out import leave_one_out
from heedful.errors import SettingError
from heedful.models.encoders import build_encoder
from heedful.models.encoders.small_transformer import TransformerLayer
from heedful.models.trace import trace
from heedful.settings import NetworkSettings
from heedful.settings.validation import update_settings
from heedful.types import Batch
from support.models import LENGTHS, make, make_batch

WIDTH = 6
NETWORK = NetworkSettings(encoder="transformer", hidden_size=WIDTH, heads=3, layers=3, encoder_dropout=0.5)


def states(count):
    return torch.randn(2, count, WIDTH, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_a_layer_is_torch_s_own_with_norms_first():
    torch.manual_seed(0)
    ours = TransformerLayer(WIDTH, NETWORK).double().eval()
    theirs = torch.nn.TransformerEncoderLayer(
        WIDTH, 3, 4 * WIDTH, activation="gelu", batch_first=True, norm_first=True, dtype=torch.float64
    ).eval()
    names = {
        "self_attn.in_proj_": "query_key_value.",
        "self_attn.out_proj.": "output.",
        "norm1.": "attention_norm.",
        "norm2.": "feed_forward_norm.",
        "linear1.": "feed_forward.0.",
        "linear2.": "feed_forward.2.",
    }
    weights = ours.state_dict()
    theirs.load_state_dict(
        {f"{name}{kind}": weights[f"{own}{kind}"] for name, own in names.items() for kind in ("weight", "bias")}
    )
    mask = torch.arange(5) < torch.tensor([[5], [3]])
    wanted = theirs(states(5), src_key_padding_mask=~mask)
    torch.testing.assert_close(ours(states(5), mask)[mask], wanted[mask], atol=1e-12, rtol=0)


def test_there_are_as_many_layers_as_asked_for_and_at_most_four():
    assert len(build_encoder(5, NETWORK).layers) == 3
    with pytest.raises(SettingError, match="'layers' should be less than or equal to 4"):
        update_settings(NETWORK, {"layers": 5})


def test_leaving_a_word_out_moves_the_later_ones_up():
    """Against texts that were written without that word in the first place."""
    model, batch = make("transformer"), make_batch()
    without = leave_one_out(model, trace(model, batch))
    for row, length in enumerate(LENGTHS.tolist()):
        for place in range(length if length > 1 else 0):
            left = [t for i, t in enumerate(batch.tokens[row, :length].tolist()) if i != place]
            tokens, mask = torch.tensor([left]), torch.ones(1, length - 1, dtype=torch.bool)
            shorter = Batch(torch.tensor([0]), tokens, mask, mask, batch.labels[row : row + 1])
            torch.testing.assert_close(without[row, place], trace(model, shorter).logits[0], atol=1e-12, rtol=0)
