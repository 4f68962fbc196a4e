"""What every encoder must do, over the whole dict."""

from pathlib import Path

import pytest
import torch

import heedful.models.encoders
from heedful.errors import SettingError
from heedful.models.encoders import ENCODERS, FLAT, build_encoder
from heedful.models.encoders.recurrent import reorder
from heedful.settings import NetworkSettings
from heedful.settings.validation import update_settings

BATCH, TIME, EMBED = 2, 7, 5
NETWORK = NetworkSettings(hidden_size=3, kernels=(1, 3))


def make(name):
    torch.manual_seed(0)
    return build_encoder(EMBED, update_settings(NETWORK, {"encoder": name})).double().eval()


@pytest.fixture
def embedded():
    return torch.randn(BATCH, TIME, EMBED, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def read_to(length):
    return (torch.arange(TIME) < length).expand(BATCH, TIME)


def test_states_have_the_promised_width(embedded):
    for name in FLAT:
        encoder = make(name)
        hidden = encoder(embedded, read_to(TIME))
        assert hidden.shape == (BATCH, TIME, encoder.output_size)
        assert encoder.summary(hidden, read_to(TIME)).shape == (BATCH, encoder.output_size)


def test_padding_changes_nothing(embedded):
    for name in FLAT:
        encoder = make(name)
        short = encoder(embedded[:, :4], read_to(TIME)[:, :4])
        padded = encoder(embedded, read_to(4))
        torch.testing.assert_close(padded[:, :4], short, atol=1e-12, rtol=0)
        summaries = encoder.summary(padded, read_to(4)), encoder.summary(short, read_to(TIME)[:, :4])
        torch.testing.assert_close(*summaries, atol=1e-12, rtol=0)


def test_token_wise_encoders_are_those_that_ignore_neighbours(embedded):
    for name in FLAT:
        encoder, other = make(name), embedded.clone()
        other[:, 3] += 1
        changed = (encoder(embedded, read_to(TIME)) != encoder(other, read_to(TIME))).any(-1)
        assert changed[:, 3].all()
        assert encoder.token_wise == (not changed[:, [0, 1, 2, 4, 5, 6]].any())


def test_the_backward_direction_reads_from_the_last_real_token(embedded):
    """Against torch's own packed bidirectional LSTM."""
    encoder, lengths = make("bilstm"), torch.tensor([7, 4])
    theirs = torch.nn.LSTM(EMBED, 3, batch_first=True, bidirectional=True).double()
    weights = {**encoder.ahead.state_dict(), **{f"{k}_reverse": v for k, v in encoder.back.state_dict().items()}}
    theirs.load_state_dict(weights)
    packed = torch.nn.utils.rnn.pack_padded_sequence(embedded, lengths, batch_first=True)
    wanted, _ = torch.nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)
    mask = torch.arange(TIME) < lengths[:, None]
    torch.testing.assert_close(encoder(embedded, mask)[mask], wanted[mask], atol=1e-12, rtol=0)


def test_a_hierarchical_encoder_reads_each_sentence_alone(embedded):
    """Against a plain loop over sentences."""
    for words in FLAT:
        for sentences in ["identity", "bigru", "cnn"]:
            settings = update_settings(NETWORK, {"encoder": "hierarchical", "words": words, "sentences": sentences})
            torch.manual_seed(0)
            encoder = build_encoder(EMBED, settings).double().eval()
            mask = torch.arange(TIME) < torch.tensor([7, 4])[:, None]
            sentence = torch.tensor([[0, 0, 0, 1, 2, 2, 2], [0, 1, 1, 1, 0, 0, 0]])
            hidden, items = encoder(embedded, mask, mask, sentence)
            assert items.tolist() == [[True, True, True], [True, True, False]]
            for row, count in enumerate([3, 2]):
                vectors = []
                for number in range(count):
                    own = embedded[row][mask[row] & (sentence[row] == number)][None]
                    states = encoder.words(own, torch.ones(own.shape[:2], dtype=torch.bool))
                    vectors.append((encoder.word_attention.of(states).softmax(-1)[..., None] * states).sum(1))
                wanted = encoder.sentences(torch.stack(vectors, 1), torch.ones(1, count, dtype=torch.bool))[0]
                torch.testing.assert_close(hidden[row, :count], wanted, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kernels", [(2,), (3, 4), ()])
def test_even_kernels_are_refused(kernels):
    with pytest.raises(SettingError, match="kernels must be odd widths"):
        build_encoder(EMBED, update_settings(NETWORK, {"encoder": "cnn", "kernels": kernels}))


def test_a_hierarchical_encoder_does_not_nest():
    with pytest.raises(SettingError, match="must be flat"):
        build_encoder(EMBED, update_settings(NETWORK, {"encoder": "hierarchical", "words": "hierarchical"}))


def test_every_file_is_listed():
    """A file of the folder that no name of ENCODERS comes from is dead code."""
    folder = Path(heedful.models.encoders.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "encoder", "pooling"}
    sources = {build.__module__.rsplit(".", 1)[-1] for build in ENCODERS.values()} | {"hierarchical", "pretrained"}
    assert files <= sources


def test_reordered_rows_and_their_gradients_are_those_of_gather(embedded):
    order = torch.tensor([[2, 1, 0, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1, 0]])
    ours, theirs = embedded.clone().requires_grad_(), embedded.clone().requires_grad_()
    rows, wanted = reorder(ours, order), theirs.gather(1, order[..., None].expand_as(theirs))
    assert torch.equal(rows, wanted)
    weights = torch.arange(rows.numel(), dtype=torch.float64).view_as(rows)
    gradients = torch.autograd.grad((rows * weights).sum(), ours) + torch.autograd.grad(
        (wanted * weights).sum(), theirs
    )
    assert torch.equal(*gradients)
