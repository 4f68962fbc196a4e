import pytest

from heedful.errors import SettingError
from heedful.improving.candidates import check_improvable, first_candidates, own_way
from heedful.settings import FinetuneSettings, NetworkSettings, Run, TrainingSettings
from heedful.training.methods import METHODS, bind_loss


def test_candidates_are_options_that_the_method_knows():
    for candidate in first_candidates():
        for each in (candidate, candidate.with_teachers):
            run = each.trained_from(Run(seed=3), 5)
            assert (run.training.method, run.seed) == ("faithful", 5)
            bind_loss(METHODS["faithful"], run.training)


def test_only_with_teachers_is_something_learnt_from_them():
    candidate = first_candidates()[0]
    assert all(candidate.options[name] == 0 for name in ("evidence", "attention", "prediction"))
    taught = candidate.with_teachers
    assert set(taught.options) == {"diversity"}
    assert taught.options["diversity"] == candidate.options["diversity"] and taught.name != candidate.name


def test_the_recipe_replaces_the_options_of_another_method():
    run = Run(training=TrainingSettings(method="diversity", options={"weight": 0.7}))
    assert "weight" not in first_candidates()[0].trained_from(run, 0).training.options
    assert own_way(run).trained_from(run, 7) == Run(training=run.training, seed=7)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (Run(finetune=FinetuneSettings(model="bert")), "fine-tuned Hugging Face classifier.*--encoder hf:bert"),
        (Run(reference="abc", training=TrainingSettings(method="seat")), "made from run abc. Improve that run"),
        (Run(network=NetworkSettings(attention="uniform")), "weighs all words alike"),
    ],
)
def test_what_cannot_be_trained_is_refused(run, message):
    with pytest.raises(SettingError, match=message):
        check_improvable(run)
