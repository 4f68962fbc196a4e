from heedful.jobs.planning import adversary_of
from heedful.papers import STUDIES
from heedful.settings.validation import update_settings
from support.synthetic_results import drawn, known, made_cell, made_results, results_of, share

STUDY = STUDIES["wiegreffe-pinter"]


def test_the_mlp_is_guided_by_the_bilstm_of_its_seed_or_by_that_one_s_adversary():
    runs = [each for each in STUDY.runs_at("medium") if each.data == "sst2"]
    bilstms = [each.run.run for each in runs if (each.encoder, each.method, each.role) == ("bilstm", "own", "")]
    imposed, guided = ([each.run for each in runs if each.method == method] for method in ("imposed", "adversary"))
    assert [each.base for each in imposed] == bilstms == [each.root for each in guided]
    assert {each.run.network.attention for each in (*imposed, *guided)} == {"frozen"}
    (compared,) = [each for each in runs if each.role == "other seeds"]
    by_lambda = [adversary_of(known_run(bilstms[0]), each.seed, each.changes) for each in compared.adversaries]
    assert [run.training.options["weight"] for run in by_lambda] == [1e-4, 5e-4, 1e-3, 1e-2]
    # The adversary whose attention guides the MLP of seed 0 is one of these, and is trained only once.
    own = guided[0].base
    assert own is not None and (own.training, own.seed) == (by_lambda[1].training, by_lambda[1].seed)
    assert not [each for each in STUDY.runs_at("medium") if each.data == "ag_news" and each.method == "adversary"]


def known_run(run):
    return update_settings(run, {"data.fingerprint": "f", "network.vectors_fingerprint": "v"})


def test_other_seeds_are_the_eight_next_ones_of_which_four_are_trained_anyway():
    runs = [each for each in STUDY.runs_at("medium") if each.data == "imdb"]
    (compared,) = [each for each in runs if each.role == "other seeds"]
    assert [seed.run.seed for seed in compared.seeds] == [*range(1, 9)]
    assert {each.run.run.seed for each in runs} == {0, 1, 2, 3, 4}


def test_tables_subtract_what_their_titles_say_and_figures_show_seeds_and_gains():
    correct = {"bilstm own": 0.9, "bilstm uniform": 0.8, "mlp own": 0.6, "mlp uniform": 0.5, "mlp imposed": 0.9}
    cells = [
        made_cell("sst2", *name.split(), columns={"prediction.correct": share(right)})
        for name, right in correct.items()
    ]
    cells.append(made_cell("sst2", "mlp", "adversary", columns={"prediction.correct": share(0.4)}))
    gains = next(table for table in STUDY.tables(made_results(*cells)) if table.name == "Sections 3.2 and 3.4")
    ((_, entries),) = gains.rows
    values = {title: round(known(entry.ours).value, 6) for title, entry in zip(gains.columns, entries, strict=True)}
    assert values == {
        "bilstm: own attention - uniform": 0.1,
        "mlp: own attention - uniform": 0.1,
        "mlp: the bilstm's attention - its own": 0.3,
        "mlp: the bilstm's attention - uniform": 0.4,
        "mlp: the adversary's attention - uniform": -0.1,
        "mlp: the bilstm's attention - the adversary's": 0.5,
    }
    figures = drawn(STUDY, results_of(STUDY))
    assert list(figures) == ["seeds", "seeds_histogram", "gains", "by_lambda"]
    chart = figures["gains"].chart.to_json()
    assert "bilstm's attention - uniform" in chart and "same prediction" not in chart


def test_adversaries_are_read_by_their_lambda_and_count_a_single_output_unit():
    results = results_of(STUDY)
    table = next(table for table in STUDY.tables(results) if table.name == "Section 4")
    (cell,) = [cell for cell in results.select(role="other seeds") if cell.data == "sst2"]
    assert [head for head, _ in table.rows] == [("sst2", f"{weight:g}") for weight in (1e-4, 5e-4, 1e-3, 1e-2)]
    tvd, js, _ = (known(entry.ours).value for entry in dict(table.rows)["sst2", "0.001"])
    assert tvd == cell.columns["adversarial_models.tvd_3"].mean().item() / 2
    assert js == cell.columns["adversarial_models.js_3"].mean().item()
    (points,) = drawn(STUDY, results)["by_lambda"].chart.to_dict()["datasets"].values()
    assert (points[2]["x"], points[2]["y"]) == (tvd, js) and len(points) == 5
