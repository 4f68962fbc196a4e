"""Results of a study that was never run: columns drawn at random, of the shapes that real ones have."""

from itertools import combinations_with_replacement

import polars as pl
import torch

from heedful.runs.store import RunFile
from heedful.settings import Run
from heedful.studies.study import Cell, Results, Study, Wanted
from heedful.token_scores.recording import RECORD
from heedful.training.methods import METHODS

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
    "prediction.probability",
    "prediction.items",
    "seeds.max_js",
    "seeds.mean_js",
    "seeds.flips",
    "seeds.overlap",
    "token_scores.polar_above_neutral",
    *(f"token_scores.weight{kind}" for kind in ("_polar", "_neutral", "[negative]", "[positive]")),
    *(f"erase_one.{name}_{top}" for name in ("flips", "other_flips") for top in ("attention", "gradient", "product")),
    "erase_one.delta_attention_attention",
    *(
        f"{test}.{name}{end}"
        for test, names in (
            ("embedding_noise", ("js", "tvd")),
            ("embedding_attack", ("js_answer", "tvd_answer", "drop_answer")),
        )
        for name in names
        for end in ("", "_0.005", "_0.01", "_0.05")
    ),
    *(f"word_substitution.{name}{end}" for name in ("js", "tvd", "flips", "overlap") for end in ("", "_2", "_3")),
    *(f"rationale.{name}_{by}" for name in ("comprehensiveness", "sufficiency") for by in ("attention", "random")),
    "rationale.emptied",
    *(f"sensitivity.auc_{by}" for by in ("attention", "random")),
    *(f"certificate.{norm}_simplex" for norm in ("l1", "l2", "linf")),
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


def recorded(run: Run, generator: torch.Generator) -> pl.DataFrame:
    """What the run would have recorded of four words of each kind."""
    kinds = {"negative": 0, "positive": 1, "neutral": -1}
    words = [(f"{kind}_{number}", one) for kind, one in kinds.items() for number in "abcd"]
    rows = [(0, word, "class", float(one)) for word, one in words]
    pairs = combinations_with_replacement(("negative", "positive", "(neutral)"), 2)
    whole = ["V.W", *(f"product[{one},{other}]" for one, other in pairs)]
    for epoch in run.training.record_flow:
        values = torch.randn(len(words), 2, generator=generator).tolist()
        for (word, _), (attention, polarity) in zip(words, values, strict=True):
            rows += [(epoch, word, "attention", attention), (epoch, word, "polarity", polarity)]
        rows += [(epoch, None, measure, 0.5 - epoch) for measure in whole]
    return pl.DataFrame(rows, schema=RECORD, orient="row")


def followed(run: Run) -> pl.DataFrame:
    """What the training of the run would have followed."""
    epochs = range(1, run.training.epochs + 1)
    rows = [
        (n, split, name, 1 / n) for n in epochs for split in ("train", "dev") for name in ("top_k_gap", "top_k_overlap")
    ]
    return pl.DataFrame(rows, schema=["epoch", "split", "measure", "value"], orient="row")


def shown(wanted: Wanted) -> pl.DataFrame:
    """Two texts word by word, of which the second is short enough to be drawn; empty where the audit shows none."""
    if wanted.audit is None or not wanted.audit.shown:
        return pl.DataFrame()
    measures = ("attention", "noisy", "noisy_attention", "replaced_attention", "seed_attention")
    rows = [
        (example, item, f"w{item}", f"w{item}" if item else "<b>", measure, 1 / count)
        for example, count in {3: 40, 5: 8}.items()
        for measure in measures
        for item in range(count)
    ]
    names = ["example", "item", "word", "replaced", "measure", "value"]
    return pl.DataFrame(rows, schema=names, orient="row")


def family_columns(adversaries: int, columns: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """What the audit of a model with so many adversaries would add; nothing without any."""
    if not adversaries:
        return {}
    some = columns["prediction.max_attention"]
    names = ("cap", "constant_tvd", "rescaled_tvd", "frozen_tvd", "frozen_js")
    base = {f"attefa.{name}": 0.1 + some / (place + 2) for place, name in enumerate(names)}
    own = {
        f"adversaries.{part}_{n}": 0.05 + some / (n + 1)
        for part in ("tvd", "js", "loss", "apart")
        for n in range(1, adversaries + 1)
    }
    return base | own


def results_of(study: Study, scale: str = "small") -> Results:
    """Every cell of the study with all columns that any study reads."""
    runs: dict[tuple[str, str], list[Run]] = {}
    beside: dict[tuple[str, str], tuple[Run, ...]] = {}
    words: dict[tuple[str, str], pl.DataFrame] = {}
    for one in study.runs(scale):
        words[one.data, one.model] = shown(one)
        runs.setdefault((one.data, one.model), []).append(one.run)
        beside[one.data, one.model] = one.adversaries
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
        columns |= family_columns(len(beside[data, model]), columns)
        tokens = tuple(recorded(run, generator) for run in some if run.training.record_flow)
        others = tuple(map(described, beside[data, model]))
        history = tuple(followed(run) for run in some if METHODS[run.training.method].follows)
        cells[data, model] = Cell(
            data, model, tuple(map(described, some)), columns, others, 5.0, tokens, history, words[data, model]
        )
    return Results(scale, cells, {})
