"""What a fine-tuned model says of itself."""

from torch import nn

from heedful.settings import DataSettings, FinetuneSettings, Run
from heedful.training.finetuned import Finetuned, pretrained_name


def test_a_model_is_called_by_its_name_or_the_end_of_its_path():
    names = {"hf:owner/name": "owner/name", "name": "name", "/home/me/models/minilm": "models/minilm", "./m": "m"}
    for model, name in names.items():
        assert pretrained_name(Run(finetune=FinetuneSettings(model=model))) == name


def test_its_representation_is_short():
    run = Run(data=DataSettings(source="sst2"), finetune=FinetuneSettings(model="owner/name"), seed=3)
    scores = {"dev": {}, "test": {"accuracy": 0.85}}
    finetuned = Finetuned(run, nn.Identity(), None, ("no", "yes"), False, (), 1, scores, 2.0)
    assert repr(finetuned) == "Finetuned(owner/name, sst2, seed 3, accuracy 0.850)"
