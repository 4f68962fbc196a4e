"""The settings of method `faithful` that a search tries."""

from collections.abc import Mapping
from dataclasses import dataclass

from heedful.errors import SettingError
from heedful.settings import Option, Run
from heedful.settings.validation import update_settings

METHOD = "faithful"
ALONE: Mapping[str, Option] = {"evidence": 0.0, "attention": 0.0, "prediction": 0.0}
"""Options by which nothing is learnt from teachers."""
DIVERSITY = (0.25, 0.5, 1.0)
"""Weights of diversity that are tried, without teachers; the best also with them."""


@dataclass(frozen=True)
class Candidate:
    """A way to train, and what it is called: options of the recipe, or of another method."""

    name: str
    options: Mapping[str, Option]
    method: str = METHOD

    def trained_from(self, run: Run, seed: int) -> Run:
        """The run trained this way in place of its own, from a seed."""
        changes = {"training.method": self.method, "training.options": dict(self.options), "seed": seed}
        return update_settings(run, changes)

    @property
    def with_teachers(self) -> "Candidate":
        """The same, learning from what an ensemble that was trained by it finds when it deletes each word."""
        own = {name: value for name, value in self.options.items() if name not in ALONE}
        return Candidate(f"{self.name}, taught", own)


def own_way(run: Run) -> Candidate:
    """As the run is trained."""
    return Candidate("as it is", run.training.options, run.training.method)


def first_candidates() -> tuple[Candidate, ...]:
    """Recipes without teachers."""
    return tuple(Candidate(f"diversity {weight:g}", {"diversity": weight, **ALONE}) for weight in DIVERSITY)


def check_improvable(run: Run) -> None:
    """Raise a SettingError, saying what to do, where the recipe cannot be trained in place of the run's own method."""
    if run.finetune is not None:
        raise SettingError(
            "KEY must name a run with an encoder of ours; this is a fine-tuned Hugging Face classifier, whose own "
            "attention the recipe does not train. Train an attention of ours over its encoder: heedful train DATA "
            f"--encoder hf:{run.finetune.model}."
        )
    if run.reference is not None:
        raise SettingError(
            f"KEY must name a run that stands alone; this one (method '{run.training.method}', attention "
            f"'{run.network.attention}') is made from run {run.reference}. Improve that run."
        )
    if run.network.attention == "uniform":
        raise SettingError("KEY must name a run that learns attention; this one weighs all words alike.")
