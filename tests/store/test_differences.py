"""What differs between runs."""

from heedful.settings import DataSettings, FinetuneSettings, NetworkSettings, Run, TrainingSettings
from heedful.store.run_listing import short_names, varying_settings


def test_only_what_is_not_alike_in_all_is_there():
    runs = [
        Run(network=NetworkSettings(encoder="cnn", kernels=(1, 3)), data=DataSettings(fingerprint="a")),
        Run(network=NetworkSettings(encoder="cnn"), seed=4, data=DataSettings(fingerprint="b")),
    ]
    assert varying_settings(runs) == {"network.kernels": [[1, 3], [1, 3, 5, 7]], "seed": [0, 4]}


def test_options_that_only_some_runs_have_are_none_in_the_others():
    runs = [Run(training=TrainingSettings(method="seat", options={"radius": 0.5})), Run(), Run()]
    varying = varying_settings(runs)
    assert varying == {"training.method": ["seat", "vanilla", "vanilla"], "training.options.radius": [0.5, None, None]}


def test_equal_runs_and_no_runs_differ_in_nothing():
    assert varying_settings([Run(), Run()]) == varying_settings([Run()]) == varying_settings([]) == {}


def test_a_name_that_two_settings_have_is_given_with_its_part():
    names = short_names(["data.text", "network.words", "text.words", "seed", "training.options.radius"])
    assert list(names.values()) == ["text", "network.words", "text.words", "seed", "radius"]


def test_a_part_that_only_some_runs_have_is_none_in_the_others():
    finetuned = Run(finetune=FinetuneSettings(model="m", epochs=2))
    differing = varying_settings([Run(), finetuned])
    assert differing["finetune.model"] == [None, "m"] and differing["finetune.epochs"] == [None, 2]
    assert "finetune" not in differing and varying_settings([finetuned, finetuned]) == {}
