import pytest
import torch

from heedful.auditing.about import about_attention, settings_of, short_name_of
from support.classifiers import two_classes

COLUMNS = {
    "mean_of_heads.special_weight": torch.tensor([[0.1, 0.3]]),
    "mean_of_heads.tvd": torch.tensor([[0.04, 0.04]]),
    "mean_of_heads.flips": torch.tensor([[0.0, 1.0]]),
}


@pytest.fixture(scope="module")
def model():
    return two_classes()


def test_site_scope_and_what_the_mean_leaves_out_are_said(model):
    site, scope, mean = about_attention(model, COLUMNS)
    assert "the last of 2 layers, the mean over its heads" in site
    assert "the row that the classifier reads" in scope and "earlier layers" in scope
    assert "20 % of the weight" in mean and "by 0.04 and changes 50 of 100" in mean
    assert len(about_attention(model, {})) == 2


@pytest.mark.parametrize(
    ("site", "words"),
    [
        ("head:1.0", "head 0 of layer 1"),
        ("layer:0", "layer 0 (counted from 0, of 2)"),
        ("all", "all 2 layers"),
        ("rollout", "the rollout"),
        ("value-norm", "by the length of what each word adds"),
    ],
)
def test_every_site_is_described(model, site, words):
    assert words in about_attention(model.at(site), {})[0]


def test_a_view_is_named_by_its_folder_and_what_is_unusual(model):
    assert short_name_of(model) == "tiny"
    assert short_name_of(model.at("rollout", "all-rows")) == "tiny, rollout, all-rows"


def test_the_settings_say_which_model_it_was(model):
    settings = settings_of(model)
    assert (settings["model"], settings["site"], settings["scope"]) == ("tiny", "last", "row")
    assert settings["classifier"]["architecture"] == "BertForSequenceClassification"
    assert settings["classifier"]["layers"] == 2 and len(settings["classifier"]["fingerprint"]) == 64
