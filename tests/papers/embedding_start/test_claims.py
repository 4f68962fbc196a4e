"""Claims of the study on rows in which their sentence is plainly true, and plainly false."""

from functools import partial

from support.synthetic_results import made_cell, made_results


def case(column, second, first_value, good, bad, true):
    """A column of a small start after four epochs, and of what it is compared with."""
    values = {("uniform", "4 epochs"): first_value, second: good if true else bad}
    return made_results(*(made_cell("sst2", *name, columns={column: value}) for name, value in values.items()))


POINTS, CORRECT = "outcome.points_of_decided", "prediction.correct"
CLAIM_CASES = {
    "small_start_points_more": partial(case, POINTS, ("normal", "4 epochs"), 0.8, 0.4, 0.95),
    "small_start_is_as_accurate": partial(case, CORRECT, ("normal", "4 epochs"), 0.8, 0.8, 0.6),
    "longer_training_points_more": partial(case, POINTS, ("uniform", "early stopping"), 0.8, 0.4, 0.95),
}
