"""The result of fine-tuning a Hugging Face encoder."""

from dataclasses import dataclass
from pathlib import PurePath

from heedful.models.pretrained.files import PREFIX
from heedful.models.pretrained.hugging_face import FastTokenizer, HuggingFaceModel
from heedful.settings import Run
from heedful.training.trained import Record


@dataclass(frozen=True, repr=False)
class Finetuned:
    """A finished run of fine-tuning: the classifier of the chosen epoch and the history of its training.

    Args:
        module: knows the labels by name.
        tokenizer: knows at how many tokens texts were cut.
        has_query: whether it reads pairs of texts.
    """

    run: Run
    module: HuggingFaceModel
    tokenizer: FastTokenizer
    labels: tuple[str, ...]
    has_query: bool
    history: tuple[Record, ...]
    chosen_epoch: int
    scores: dict[str, dict[str, float]]
    seconds: float
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        accuracy = self.scores.get("test", {}).get("accuracy")
        shown = "" if accuracy is None else f", accuracy {accuracy:.3f}"
        return f"Finetuned({pretrained_name(self.run)}, {self.run.data.source}, seed {self.run.seed}{shown})"


def pretrained_name(run: Run) -> str:
    """What the model that a run of fine-tuning starts from is called: its name on the hub, or the end of its path.

    >>> from heedful.settings import FinetuneSettings
    >>> pretrained_name(Run(finetune=FinetuneSettings(model="/home/me/models/minilm/")))
    'models/minilm'
    """
    model = run.finetune.model.removeprefix(PREFIX) if run.finetune else ""
    return "/".join(PurePath(model).parts[-2:])
