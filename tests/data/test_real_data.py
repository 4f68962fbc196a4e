"""What the models reach on real texts: too slow for all of it here, `benchmarks/accuracy.py` has the rest."""

import pytest

from heedful.jobs.work import load_data
from heedful.settings import DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings
from heedful.training.loop import train

pytestmark = [pytest.mark.slow, pytest.mark.data("HEEDFUL_DATA")]

JAIN_WALLACE = TextSettings(words="alphanumeric", start_end=True, longer_than=5)


def trained(run: Run):
    return train(*load_data(run))


def test_the_average_model_predicts_sst_as_the_authors_does():
    """Accuracy .820 and AUC .905 were measured with the authors' code on these vectors."""
    network = NetworkSettings(encoder="average", hidden_size=256, vectors="glove_6b_100d", missing="zero")
    run = Run(data=DataSettings(source="sst2"), text=JAIN_WALLACE, network=network, training=TrainingSettings(epochs=3))
    scores = trained(run).scores["test"]
    assert scores["accuracy"] >= 0.81 and scores["roc_auc"] >= 0.89


@pytest.mark.parametrize("source", ["babi_task1", "snli", "hatexplain", "dbpedia14_small"])
def test_every_kind_of_task_trains(source):
    data = DataSettings(source=source, train_limit=100, test_limit=40)
    network = NetworkSettings(embed_size=16, hidden_size=8)
    scores = trained(Run(data=data, network=network, training=TrainingSettings(epochs=1))).scores["test"]
    assert 0 <= scores["accuracy"] <= 1


@pytest.mark.parametrize("encoder", ["bigru", "hierarchical"])
def test_flat_and_hierarchical_models_train_on_newsgroups(encoder):
    data = DataSettings(source="newsgroups_20", train_limit=200, test_limit=40)
    network = NetworkSettings(encoder=encoder, words="bigru", sentences="bigru", embed_size=16, hidden_size=8)
    run = Run(data=data, text=TextSettings(max_tokens=200), network=network, training=TrainingSettings(epochs=1))
    assert len(trained(run).labels) == 20
