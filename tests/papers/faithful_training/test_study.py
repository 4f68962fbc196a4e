"""Which runs the study makes, and how dev texts choose among recipes."""

import torch

from heedful.papers import STUDIES
from heedful.papers.faithful_training.claims import RECIPES, chosen_recipe
from heedful.papers.faithful_training.study import METHODS
from heedful.settings import Run
from heedful.training.methods import METHODS as KNOWN
from heedful.training.methods import bind_loss
from support.synthetic_results import known, made_cell, made_results, results_of

STUDY = STUDIES["heedable"]


def test_every_method_is_known_and_takes_its_options():
    for each in STUDY.runs_at("medium"):
        training = each.run.run.training
        bind_loss(KNOWN[training.method], training)


def test_all_methods_are_trained_with_the_bilstm_and_at_the_papers_scale_with_other_encoders():
    runs = STUDY.runs_at("medium")
    assert {each.method for each in runs} == set(METHODS)
    at_paper = STUDY.runs_at("paper")
    assert {each.encoder for each in at_paper if each.data == "ag_news"} == {"bilstm", "rnn", "lstm", "gru", "cnn"}
    assert {"vanilla", "ensemble", "orthogonal", *RECIPES} < {each.method for each in runs if each.data == "ag_news"}
    assert {each.encoder for each in runs if each.data == "ag_news"} == {"bilstm"}
    orthogonal = next(each.run.run for each in runs if each.method == "orthogonal")
    assert (orthogonal.network.encoder, orthogonal.training.method) == ("orthogonal_bilstm", "vanilla")


def test_recipes_and_vanilla_are_also_audited_on_dev():
    on_dev = {each.method for each in STUDY.runs_at("medium") if each.role == "dev"}
    assert on_dev == {"vanilla", *RECIPES}
    assert {known(each.audit).split for each in STUDY.runs_at("medium") if each.role == "dev"} == {"dev"}


def test_seat_starts_from_the_vanilla_run_of_its_seed():
    for each in STUDY.runs_at("medium"):
        if each.method == "seat":
            base = each.run.base
            assert isinstance(base, Run) and base.training.method == "vanilla" and base.seed == each.run.run.seed


COLUMNS = {
    "prediction.correct": 0.8,
    "prediction.label": 1.0,
    "seeds.mean_js": 0.1,
    "seeds.shuffled_js": 0.4,
    **{f"seeds.{name}": 0.1 for name in ("flips", "max_js", "max_tvd", "mean_tvd", "overlap")},
    "shape.sharpness": 4.0,
    "shape.evenness": 0.5,
}


def chosen(**recipes):
    """The recipe that is chosen where dev shows these columns, beside the usual ones, for each."""
    names = list(RECIPES)
    cells = [made_cell("sst2", "bilstm", "vanilla", columns=COLUMNS, role=role) for role in ("", "dev")]
    for name, changes in zip(names, recipes.values(), strict=False):
        cells.append(made_cell("sst2", "bilstm", name, columns=COLUMNS))
        cells.append(made_cell("sst2", "bilstm", name, columns={**COLUMNS, **changes}, role="dev"))
    cell, vanilla = known(chosen_recipe(made_results(*cells), "sst2", "bilstm"))
    assert vanilla.method == "vanilla" and not cell.role
    return names.index(cell.method)


def test_dev_texts_choose_the_most_stable_recipe_that_keeps_accuracy_and_sharpness():
    better, best = {"seeds.mean_js": 0.05}, {"seeds.mean_js": 0.02}
    assert chosen(first=better, second=best) == 1
    assert chosen(first=better, second={**best, "prediction.correct": 0.7}) == 0
    assert chosen(first=better, second={**best, "shape.sharpness": 1.5}) == 0


def test_accuracy_is_that_of_all_dev_texts_where_they_were_asked():
    names, better = list(RECIPES)[:2], {**COLUMNS, "seeds.mean_js": 0.05}
    cells = [made_cell("sst2", "bilstm", name, columns=COLUMNS) for name in ("vanilla", *names)]
    for name, right in (("vanilla", 0.8), (names[0], 0.7), (names[1], 0.8)):
        on_dev = COLUMNS if name == "vanilla" else better
        cells.append(made_cell("sst2", "bilstm", name, columns=on_dev, role="dev"))
        cells.append(made_cell("sst2", "bilstm", name, columns={"prediction.correct": right}, role="all dev texts"))
    cell, _ = known(chosen_recipe(made_results(*cells), "sst2", "bilstm"))
    assert cell.method == names[1]


def test_predictions_of_all_texts_stand_beside_those_of_the_audited():
    names = ("vanilla", next(iter(RECIPES)))
    right = {count: torch.ones(5, count).double() for count in (40, 90)}
    columns = {**COLUMNS, "prediction.correct": right[40], "prediction.label": (torch.arange(40) % 2).expand(5, -1)}
    cells = [made_cell("sst2", "bilstm", name, columns=columns, role=role) for name in names for role in ("", "dev")]
    cells += [
        made_cell("sst2", "bilstm", name, columns={"prediction.correct": right[90]}, role="all texts") for name in names
    ]
    results = made_results(*cells)
    cell, _ = known(chosen_recipe(results, "sst2", "bilstm"))
    assert cell.columns["all texts.correct"].shape == (5, 90) and cell.columns["prediction.correct"].shape == (5, 40)


def test_where_no_recipe_is_better_than_vanilla_the_best_of_them_is_shown():
    assert chosen(first={"seeds.mean_js": 0.3}, second={"seeds.mean_js": 0.2}) == 1


def test_without_dev_nothing_is_chosen():
    cells = [made_cell("sst2", "bilstm", name, columns=COLUMNS) for name in ("vanilla", *RECIPES)]
    assert chosen_recipe(made_results(*cells), "sst2", "bilstm") is None


def test_tables_and_figures_are_made_from_any_results():
    results = results_of(STUDY)
    claims = {claim.id: claim for claim in STUDY.claims(results)}
    names = [table.name for table in STUDY.tables(results)]
    assert names == ["The recipe", "Scores", "Criteria"]
    assert all(table.rows for table in STUDY.tables(results)[1:])
    assert {figure.name for figure in STUDY.figures(results, claims)} >= {"diverse"}
