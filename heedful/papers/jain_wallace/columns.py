"""The columns that the study reads, and what its tables and claims derive from them."""

from heedful.battery.question import Values
from heedful.papers.claim_rule import only_where
from heedful.papers.reproduction import NORMAL_START, Cell
from heedful.papers.study_figures import LARGEST
from heedful.settings import DataSettings, NetworkSettings, TextSettings

# Texts as Jain and Wallace prepared them, and after them Wiegreffe and Pinter, Amini and Kosseim.

LONGER_THAN = {"sst2": 5, "imdb": 6, "newsgroups_sports": 6}
"""Their strict lower bounds on the length of a text."""

TRAIN_LIMIT = {"small": 2_000, "medium": 3_000, "paper": None}
MOST_WORDS = {"small": 100, "medium": 120, "paper": None}

VECTORS = NetworkSettings(vectors="glove_6b_100d", missing="zero", **NORMAL_START)
"""Words without a vector start at zero, as in their code."""


def data_of(source: str, scale: str) -> DataSettings:
    """The set; below the paper's scale a sample, for IMDB from the small copy, which is faster to read."""
    full = scale == "paper"
    name = "imdb_small" if source == "imdb" and not full else source
    return DataSettings(source=name, train_limit=TRAIN_LIMIT[scale], test_limit=None if full else 1_000)


def text_of(source: str, scale: str) -> TextSettings:
    """Words without punctuation, between a start and an end symbol; long texts are cut below the paper's scale."""
    return TextSettings(
        words="alphanumeric",
        start_end=True,
        longer_than=LONGER_THAN.get(source),
        shorter_than=500 if source == "newsgroups_sports" and scale == "paper" else None,
        max_tokens=MOST_WORDS[scale],
    )


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
