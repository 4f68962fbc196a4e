"""What the answers promise: undefined numbers are null."""

import json
from math import inf, nan
from typing import get_args

import pytest
from pydantic import ValidationError

from heedful.server.actions import ACTIONS
from heedful.server.contract import (
    MOST_CHARACTERS,
    MOST_SEED,
    MOST_WORDS,
    Action,
    ActOptions,
    Decoded,
    DecodeRequest,
    ModelInfo,
    RankedItems,
    TextRequest,
)


def test_what_is_undefined_is_null():
    ranked = RankedItems(name="a", title="a", is_signed=False, weights=[nan, 1.0, None])
    assert json.loads(ranked.model_dump_json())["weights"] == [None, 1.0, None]
    decoded = Decoded(
        logits=[-inf, 0.0], probabilities=[0.0, 1.0], predicted=1, label="a", tvd=nan, is_changed=False, jsd=0.0
    )
    assert json.loads(decoded.model_dump_json())["logits"] == [None, 0.0]


# What a request may say, at its edges.

RIGHT = {"model": "m", "text": "good"}


def test_requests_are_taken_up_to_their_limits_and_no_further():
    for text in ["", "a" * MOST_CHARACTERS]:
        assert TextRequest(model="m", text=text).text == text
    for changes in [
        {"text": "a" * (MOST_CHARACTERS + 1)},
        {"text": None},
        {"model": ""},
        {"model": "m" * 201},
        {"more": 1},
    ]:
        with pytest.raises(ValidationError):
            TextRequest.model_validate({**RIGHT, **changes})
    for weights in [[-0.1], [1.1], [float("nan")], [float("inf")], [0.0] * (MOST_WORDS + 1), ["a"]]:
        with pytest.raises(ValidationError):
            DecodeRequest.model_validate({**RIGHT, "attention": weights})
    for options in [
        {"seed": -1},
        {"seed": MOST_SEED + 1},
        {"radius": -0.1},
        {"radius": 2.1},
        {"norm": "l3"},
        {"scale": -1},
        {"item": -1},
    ]:
        with pytest.raises(ValidationError):
            ActOptions.model_validate(options)
    ActOptions(seed=MOST_SEED, radius=2, scale=100, item=MOST_WORDS - 1)
    ActOptions(seed=0, radius=0, scale=0, item=0)


# What the page knows of a model is all it needs to ask.


def test_every_action_is_a_button_with_options_that_exist():
    assert set(ACTIONS) == set(get_args(Action))
    used = [option for action in ACTIONS.values() for option in action.options]
    assert set(used) == set(ActOptions.model_fields), "each option is used by some button"


def test_it_survives_json(model):
    info = model("three").served.info
    assert ModelInfo.model_validate_json(info.model_dump_json()) == info
