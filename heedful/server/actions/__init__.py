"""The buttons of the live page, one file a family."""

from collections.abc import Mapping

from heedful.server.actions.action import Action
from heedful.server.actions.erase import ERASE_RANKING, REMOVE_TOP, SMALLEST_SET
from heedful.server.actions.move_weights import ACTION as OTHER_ATTENTION
from heedful.server.actions.move_weights import SHUFFLE, UNIFORM, WORST_PERMUTATION
from heedful.server.actions.perturb import EMBEDDING_NOISE, WORST_PERTURBATION
from heedful.server.actions.replace_word import REPLACE_WORD

ACTIONS: Mapping[str, Action] = {
    action.name: action
    for action in (
        OTHER_ATTENTION,
        REMOVE_TOP,
        ERASE_RANKING,
        SMALLEST_SET,
        SHUFFLE,
        WORST_PERMUTATION,
        UNIFORM,
        WORST_PERTURBATION,
        EMBEDDING_NOISE,
        REPLACE_WORD,
    )
}
"""Every button by name, in the order of the page."""
