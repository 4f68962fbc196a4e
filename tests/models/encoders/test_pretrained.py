"""The states of a pretrained transformer; what it reads is tested in tests/models/pretrained/test_words.py."""

import torch

from heedful.models.encoders import build_encoder, pick_encoder
from heedful.models.encoders.pretrained import PretrainedStates
from heedful.settings import NetworkSettings


def test_states_are_taken_as_they_are():
    encoder = build_encoder(5, NetworkSettings(encoder="hf:anything"))
    states, mask = torch.randn(2, 3, 5), torch.tensor([[True, True, True], [True, False, False]])
    assert isinstance(encoder, PretrainedStates) and encoder.output_size == 5
    assert encoder(states, mask) is states
    torch.testing.assert_close(encoder.summary(states, mask)[1], states[1, 0])


def test_they_depend_on_the_whole_text():
    assert pick_encoder("hf:./somewhere") is PretrainedStates and not PretrainedStates.token_wise
