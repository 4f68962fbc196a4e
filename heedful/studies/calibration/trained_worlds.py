"""Worlds whose model was trained on a mock set: what each item says is learnt, and read off the model."""

from copy import deepcopy
from dataclasses import dataclass
from functools import cache

import torch

from heedful.auditing.subject import subject_of
from heedful.battery.context import Context
from heedful.data import load
from heedful.data.batching import EncodedSplit, collate, encode_split
from heedful.models.attention import Frozen
from heedful.models.attention_model import LinearAttentionModel
from heedful.models.trace import trace
from heedful.settings import AuditSettings, NetworkSettings, Run
from heedful.settings.validation import update_settings
from heedful.studies.calibration.worlds import Drawn
from heedful.training.loop import train

TRAININGS = 5
"""Trained models that the draws of a world choose from."""
SMALL = {
    "data.train_limit": 2_000,
    "data.test_limit": 1_000,
    "network.embed_size": 50,
    "network.hidden_size": 32,
    "network.embedding_start": "normal",
    "training.epochs": 6,
    "training.patience": 0,
    "training.chosen_from": 1,
    "training.learning_rate": 0.01,
    "training.metric": "accuracy",
}
"""Settings under which a model trains within seconds."""


@dataclass(frozen=True)
class TrainedWorld:
    """A mock set, and a model that learnt it with attention of its own; other attention is imposed afterwards."""

    name: str
    description: str
    source: str
    encoder: str
    uses_attention: bool = True
    is_learnt: bool = True

    def draw(self, texts: int, generator: torch.Generator) -> Drawn:
        """So many of the test texts, read by one of the trained models."""
        seed = int(torch.randint(TRAININGS, (), generator=generator))
        model, split, context = _trained(self.source, self.encoder, seed)
        index: list[int] = torch.randperm(len(split.texts), generator=generator)[:texts].tolist()
        batch = collate(split, index)
        with torch.no_grad():
            own = trace(model, batch)
            return Drawn(_frozen(model), batch, model.item_logits(own.encoded), own.logits.argmax(-1), context)


@cache
def _trained(source: str, encoder: str, seed: int) -> tuple[LinearAttentionModel, EncodedSplit, Context]:
    """The model in float64; the test texts; and what tests need to know of the data."""
    run = update_settings(Run(seed=seed), {**SMALL, "data.source": source, "network.encoder": encoder})
    dataset = load(run.data, run.text)
    trained = train(run, dataset)
    model = deepcopy(trained.model).double().eval()
    assert isinstance(model, LinearAttentionModel)
    context = subject_of("calibration", trained, dataset, AuditSettings()).context
    return model, encode_split(dataset.test, trained.words), context


def _frozen(model: LinearAttentionModel) -> LinearAttentionModel:
    """The same model, which takes the attention that is imposed on it."""
    copy = deepcopy(model)
    copy.attention = Frozen(copy.encoder.output_size, NetworkSettings(), has_query=False)
    return copy
