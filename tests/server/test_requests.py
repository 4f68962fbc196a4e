"""What a request may say, at its edges."""

import pytest
from pydantic import ValidationError

from heedful.server.requests import MOST_CHARACTERS, MOST_SEED, MOST_WORDS, ActOptions, DecodeRequest, TextRequest

RIGHT = {"model": "m", "text": "good"}


@pytest.mark.parametrize("text", ["", "a" * MOST_CHARACTERS])
def test_texts_up_to_the_limit_are_taken(text):
    assert TextRequest(model="m", text=text).text == text


@pytest.mark.parametrize(
    "changes", [{"text": "a" * (MOST_CHARACTERS + 1)}, {"text": None}, {"model": ""}, {"model": "m" * 201}, {"more": 1}]
)
def test_others_are_refused(changes):
    with pytest.raises(ValidationError):
        TextRequest.model_validate({**RIGHT, **changes})


@pytest.mark.parametrize("weights", [[-0.1], [1.1], [float("nan")], [float("inf")], [0.0] * (MOST_WORDS + 1), ["a"]])
def test_weights_are_between_0_and_1(weights):
    with pytest.raises(ValidationError):
        DecodeRequest.model_validate({**RIGHT, "attention": weights})


@pytest.mark.parametrize(
    "options",
    [
        {"seed": -1},
        {"seed": MOST_SEED + 1},
        {"radius": -0.1},
        {"radius": 2.1},
        {"norm": "l3"},
        {"scale": -1},
        {"item": -1},
    ],
)
def test_options_have_limits(options):
    with pytest.raises(ValidationError):
        ActOptions.model_validate(options)


def test_options_at_their_limits_are_taken():
    ActOptions(seed=MOST_SEED, radius=2, scale=100, item=MOST_WORDS - 1)
    ActOptions(seed=0, radius=0, scale=0, item=0)
