"""The buttons of the live page, one file per family."""

from collections.abc import Mapping

from heedful.server.actions import erase, move_weights, perturb, replace_word
from heedful.server.actions.action import Action

BUTTONS = (
    move_weights.other_attention,
    erase.remove_top,
    erase.erase_ranking,
    erase.smallest_set,
    move_weights.shuffle,
    move_weights.worst_permutation,
    move_weights.uniform,
    perturb.worst_perturbation,
    perturb.embedding_noise,
    replace_word.replace_word,
)
ACTIONS: Mapping[str, Action] = {action.name: action for action in BUTTONS}
"""Every button by name, in the order of the page."""
