"""What the page knows of a model is all it needs to ask."""

from typing import get_args

from heedful.server.actions import ACTIONS
from heedful.server.model_info import ModelInfo
from heedful.server.requests import Action, ActOptions


def test_every_action_is_a_button_and_every_button_an_action():
    assert set(ACTIONS) == set(get_args(Action))


def test_buttons_name_options_that_exist():
    used = [option for action in ACTIONS.values() for option in action.options]
    assert set(used) == set(ActOptions.model_fields), "each option is used by some button"


def test_it_survives_json(model):
    info = model("three").served.info
    assert ModelInfo.model_validate_json(info.model_dump_json()) == info
