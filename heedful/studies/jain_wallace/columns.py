"""The columns that the study reads, and what its tables and claims derive from them."""

from heedful.battery.question import Values
from heedful.studies.claims import only_where
from heedful.studies.figures import LARGEST
from heedful.studies.study import Cell

NAME = "jain_wallace"
BILSTM, AVERAGE, CNN = "bilstm", "average", "cnn"
ADDITIVE, DOT = "additive", "dot"
BABI = ("babi_task1", "babi_task2", "babi_task3")

GRADIENT, GRADIENT_P = "gradient_agreement.tau", "gradient_agreement.p"
LEAVE_ONE_OUT, LEAVE_ONE_OUT_P = "leave_one_out_agreement.tau", "leave_one_out_agreement.p"
EACH_OTHER = "leave_one_out_agreement.tau_gradient"
PERMUTED = "permutation.median_tvd"
ADVERSARIAL, CAP = "adversarial_attention.js", "adversarial_attention.cap"
WITHOUT_TOP = "adversarial_attention.without_top_1"

HIGH = 0.5
"""A largest weight that suggests a single word as the explanation."""
LITTLE = 0.1
"""A small change of the prediction."""
NEAR = 0.9
"""The share of its cap above which a divergence counts as near it."""


def little_change_at_high_weight(cell: Cell) -> Values:
    """1 where permuting changes the prediction by less than LITTLE, else 0; of the texts with a high weight."""
    return only_where((cell.columns[PERMUTED] < LITTLE).double(), cell.columns[LARGEST] >= HIGH)


def near_cap(cell: Cell) -> Values:
    """1 where some attention with the same answer is nearly as different as any attention can be, else 0."""
    cap = cell.columns[CAP]
    return only_where((cell.columns[ADVERSARIAL] >= NEAR * cap).double(), cap > 0)


def near_cap_at_high_weight(cell: Cell) -> Values:
    """The same, of the texts with a high weight."""
    return only_where(near_cap(cell), cell.columns[LARGEST] >= HIGH)
