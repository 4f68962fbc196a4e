"""Which models the study trains, and what stands beside them."""

from heedful.papers import STUDIES
from heedful.training.methods import METHODS, bind_loss
from support.synthetic_results import known, results_of

STUDY = STUDIES["mohankumar"]


def test_an_lstm_is_trained_plainly_with_a_penalty_and_with_orthogonal_states():
    runs = {each.method: each.run.run for each in STUDY.runs_at("paper")}
    built = {method: (run.network.encoder, run.training.method) for method, run in runs.items()}
    assert built == {
        "vanilla": ("lstm", "vanilla"),
        "diversity": ("lstm", "diversity"),
        "orthogonal": ("orthogonal_lstm", "vanilla"),
    }
    assert runs["diversity"].training.options == {"weight": 0.5}
    for run in runs.values():
        bind_loss(METHODS[run.training.method], run.training)
        assert run.network.hidden_size == 256


def test_table_2_has_the_paper_s_numbers_and_those_of_later_runs():
    table = STUDY.tables(results_of(STUDY))[0]
    accuracy, conicity, later, later_conicity = dict(table.rows)["sst2", "diversity"]
    assert (accuracy.paper, conicity.paper, later.paper, later_conicity.paper) == (0.7995, 0.2, 0.8, 0.19)
    assert known(conicity.ours).n and later.ours is None
