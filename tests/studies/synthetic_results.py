"""Results of a study that was never run: columns drawn at random, of the shapes that real ones have."""

import torch

from heedful.settings import Run
from heedful.store import RunFile
from heedful.studies.contract import Cell, Results, Study

TEXTS = 60
SHARES = (
    "gradient_agreement.tau",
    "gradient_agreement.p",
    "leave_one_out_agreement.tau",
    "leave_one_out_agreement.tau_gradient",
    "leave_one_out_agreement.p",
    "permutation.median_tvd",
    "adversary.js",
    "adversary.without_top_1",
    "prediction.max_attention",
    "prediction.correct",
    "seeds.max_js",
    "seeds.mean_js",
    "seeds.flips",
    *(f"erase_one.{name}_{top}" for name in ("flips", "other_flips") for top in ("attention", "gradient", "product")),
    "erase_one.delta_attention_attention",
    *(
        f"erase_until_flip.{what}_{ranking}"
        for what in ("fraction", "mass")
        for ranking in ("random", "attention", "gradient", "product")
    ),
)


def described(run: Run) -> RunFile:
    """What the store would say of the run."""
    return RunFile(
        run=run,
        labels=("no", "yes"),
        has_query=False,
        embed_size=8,
        chosen_epoch=2,
        scores={"dev": {}, "test": {"accuracy": 0.8 + 0.01 * run.seed, "f1": 0.75, "roc_auc": None}},
        seconds=3.0,
        notes=(),
        coverage=None,
        versions={"torch": "2"},
    )


def results_of(study: Study, scale: str = "small") -> Results:
    """Every cell of the study with all columns that any study reads."""
    runs: dict[tuple[str, str], list[Run]] = {}
    for one in study.runs(scale):
        runs.setdefault((one.data, one.model), []).append(one.run)
    cells = {}
    for number, ((data, model), some) in enumerate(runs.items()):
        generator = torch.Generator().manual_seed(number)
        columns = {name: torch.rand(len(some), TEXTS, generator=generator, dtype=torch.float64) for name in SHARES}
        columns["prediction.predicted"] = torch.randint(2, (len(some), TEXTS), generator=generator).double()
        columns["adversary.cap"] = columns["adversary.js"] + 0.1
        columns["erase_one.delta_js_attention"] = columns["prediction.max_attention"] - 0.3
        columns["erase_until_flip.fraction_minimal"] = columns["erase_until_flip.fraction_product"] / 2
        columns["erase_until_flip.mass_minimal"] = columns["erase_until_flip.mass_product"] / 2
        columns["gradient_agreement.tau"][:, 0] = torch.nan
        cells[data, model] = Cell(data, model, tuple(map(described, some)), columns, seconds=5.0)
    return Results(scale, cells, {})
