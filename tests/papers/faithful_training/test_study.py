"""Which runs the study makes, and how dev texts choose among recipes."""

from heedful.papers import STUDIES
from heedful.papers.faithful_training.claims import RECIPES, chosen_recipe
from heedful.papers.faithful_training.study import METHODS
from heedful.settings import Run
from heedful.training.methods import METHODS as KNOWN
from heedful.training.methods import bind_loss
from support.synthetic_results import known, made_cell, made_results

STUDY = STUDIES["heedable"]


def test_every_method_is_known_and_trained_with_its_encoders():
    runs = STUDY.runs_at("medium")
    assert {each.method for each in runs} == set(METHODS)
    for each in runs:
        run, base = each.run.run, each.run.base
        bind_loss(KNOWN[run.training.method], run.training)
        if each.method == "seat":
            assert isinstance(base, Run) and (base.training.method, base.seed) == ("vanilla", run.seed)
        if each.method == "orthogonal":
            assert (run.network.encoder, run.training.method) == ("orthogonal_bilstm", "vanilla")
    on_dev = [each for each in runs if each.role == "dev"]
    assert {each.method for each in on_dev} == {"vanilla", *RECIPES}
    assert {known(each.audit).split for each in on_dev} == {"dev"}
    medium, paper = ([each for each in STUDY.runs_at(scale) if each.data == "ag_news"] for scale in ("medium", "paper"))
    assert {each.encoder for each in paper} == {"bilstm", "rnn", "lstm", "gru", "cnn"}
    assert {each.encoder for each in medium} == {"bilstm"}
    assert {"vanilla", "ensemble", "orthogonal", *RECIPES} < {each.method for each in medium}


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


def test_dev_texts_choose_the_most_stable_recipe_and_none_is_chosen_without_them():
    better, best = {"seeds.mean_js": 0.05}, {"seeds.mean_js": 0.02}
    assert chosen(first=better, second=best) == 1
    assert chosen(first=better, second={**best, "prediction.correct": 0.7}) == 0
    assert chosen(first=better, second={**best, "shape.sharpness": 1.5}) == 0
    assert chosen(first={"seeds.mean_js": 0.3}, second={"seeds.mean_js": 0.2}) == 1
    cells = [made_cell("sst2", "bilstm", name, columns=COLUMNS) for name in ("vanilla", *RECIPES)]
    assert chosen_recipe(made_results(*cells), "sst2", "bilstm") is None


def test_accuracy_is_that_of_all_dev_texts_where_they_were_asked():
    names, better = list(RECIPES)[:2], {**COLUMNS, "seeds.mean_js": 0.05}
    cells = [made_cell("sst2", "bilstm", name, columns=COLUMNS) for name in ("vanilla", *names)]
    for name, right in (("vanilla", 0.8), (names[0], 0.7), (names[1], 0.8)):
        on_dev = COLUMNS if name == "vanilla" else better
        cells.append(made_cell("sst2", "bilstm", name, columns=on_dev, role="dev"))
        cells.append(made_cell("sst2", "bilstm", name, columns={"prediction.correct": right}, role="all dev texts"))
    cell, _ = known(chosen_recipe(made_results(*cells), "sst2", "bilstm"))
    assert cell.method == names[1]
