from heedful.papers import STUDIES
from support.synthetic_results import drawn, known, made_cell, made_results, results_of, share

STUDY = STUDIES["wiegreffe-pinter"]


def test_imposed_attention_and_other_seeds_are_used_for_nothing_else():
    runs = [each for each in STUDY.runs_at("small") if each.data == "sst2"]
    imposed = [each.run for each in runs if each.method == "imposed"]
    bilstms = [each.run.run for each in runs if (each.encoder, each.method, each.role) == ("bilstm", "own", "")]
    assert [each.base for each in imposed] == bilstms
    assert {each.run.network.attention for each in imposed} == {"frozen"}
    assert all(each.run.base is None for each in runs if each.method != "imposed")
    runs = [each for each in STUDY.runs_at("medium") if each.data == "imdb"]
    (compared,) = [each for each in runs if each.role == "other seeds"]
    assert [seed.run.seed for seed in compared.seeds] == [100, 101, 102, 103, 104]
    assert {each.run.run.seed for each in runs} == {0, 1}


def test_tables_subtract_what_their_titles_say_and_figures_show_seeds_and_gains():
    correct = {"bilstm own": 0.9, "bilstm uniform": 0.8, "mlp own": 0.6, "mlp uniform": 0.5, "mlp imposed": 0.9}
    cells = [
        made_cell("sst2", *name.split(), columns={"prediction.correct": share(right)})
        for name, right in correct.items()
    ]
    gains = STUDY.tables(made_results(*cells))[1]
    ((_, entries),) = gains.rows
    values = {title: round(known(entry.ours).value, 6) for title, entry in zip(gains.columns, entries, strict=True)}
    assert values == {
        "bilstm: own attention - uniform": 0.1,
        "mlp: own attention - uniform": 0.1,
        "mlp: the bilstm's attention - its own": 0.3,
        "mlp: the bilstm's attention - uniform": 0.4,
    }
    figures = drawn(STUDY, results_of(STUDY))
    assert list(figures) == ["seeds", "seeds_histogram", "gains"]
    chart = figures["gains"].chart.to_json()
    assert "bilstm's attention - uniform" in chart and "same prediction" not in chart
