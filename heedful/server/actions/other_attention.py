"""The most different attention with the same answer."""

from heedful.auditing.decision import other_attention as other_attentions
from heedful.auditing.decision import under
from heedful.errors import DataError
from heedful.server.actions.action import JAIN_WALLACE, Action, check_several
from heedful.server.actions.answers import answer_with, is_of_one_head
from heedful.server.contract import Acted
from heedful.server.reading import Reader, ReadText
from heedful.server.requests import ActOptions


def other_attention(read: ReadText, options: ActOptions, reader: Reader) -> Acted:
    """As `heedful explain` has it: exact for two classes and a linear head, else as different as is proven or found."""
    check_several(read)
    other = other_attentions(read.evidence, read.evidence.context.labels)[0]
    if other is None:
        raise DataError("text must have other attention with the same answer for this; none was found for it.")
    weights = read.weights(other.weights)
    before = (
        f"Other weights reach {100 * other.share:.0f} % of the maximum divergence and give the same answer, within "
        f"{other.eps:g}:"
    )
    return answer_with(
        ACTION,
        read,
        weights,
        under(read.evidence, weights),
        solver=other.solver,
        before=before,
        after="" if other.solver == "exact" else "Attention may be more different still.",
        is_settable=is_of_one_head(read),
    )


ACTION = Action(
    "other_attention",
    "Most different attention, same answer",
    "How different can attention be while the model says the same?",
    JAIN_WALLACE,
    other_attention,
)
