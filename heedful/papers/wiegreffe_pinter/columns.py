"""The models of Wiegreffe and Pinter (2019), what tables call them, and what they gain over each other."""

from dataclasses import dataclass

from heedful.battery.question import Values
from heedful.papers.claim_rule import paired
from heedful.papers.reproduction import Cell, Results

NAME = "wiegreffe_pinter"
CORRECT = "prediction.correct"
LARGEST_TO_SEED, MEAN_TO_SEED, SEED_FLIPS = "seeds.max_js", "seeds.mean_js", "seeds.flips"
ADVERSARIAL = "adversarial_attention.js"
OTHER_SEEDS = "other seeds"
"""The role of the run whose attention is compared with that of other seeds."""
WITHOUT_NEED = {"ag_news": "AG News", "newsgroups_sports": "20 News"}
"""The sets on which, by the paper, attention is hardly needed, and what it calls them."""


@dataclass(frozen=True)
class PaperModel:
    """An encoder with its own, uniform, or another model's attention; `label` is what tables call it."""

    label: str
    encoder: str
    method: str

    def cell(self, results: Results, data: str, *columns: str) -> Cell | None:
        """What was measured of the model on that data set; None where one of these columns was not."""
        return results.find(*columns, data=data, encoder=self.encoder, method=self.method)


BILSTM = PaperModel("bilstm", "bilstm", "own")
BILSTM_UNIFORM = PaperModel("bilstm, uniform", "bilstm", "uniform")
MLP = PaperModel("mlp", "mlp", "own")
MLP_UNIFORM = PaperModel("mlp, uniform", "mlp", "uniform")
MLP_IMPOSED = PaperModel("mlp, attention of the bilstm", "mlp", "imposed")
MODELS = (BILSTM, BILSTM_UNIFORM, MLP, MLP_UNIFORM, MLP_IMPOSED)


def gain(results: Results, data: str, model: PaperModel, other: PaperModel) -> Values | None:
    """Accuracy of the model - accuracy of the other, text by text; None where one of them was not measured."""
    cell, compared = model.cell(results, data, CORRECT), other.cell(results, data, CORRECT)
    return None if cell is None or compared is None else paired(cell.columns[CORRECT], compared.columns[CORRECT])
