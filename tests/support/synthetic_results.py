"""Results of studies that were never run: random ones with the columns of real audits, and rows made by hand."""

from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import polars as pl
import torch

from heedful.jobs.planning import adversary_of
from heedful.papers.claim_rule import judge_claims
from heedful.papers.judged_models import COLUMNS
from heedful.papers.reproduction import Cell, JudgedClaim, Results, Study, StudyRun
from heedful.report.figure import Figure
from heedful.report.loading import audit
from heedful.settings import AuditSettings, ComparisonModels, Run
from heedful.settings.validation import update_settings
from heedful.store.store import RunFile
from heedful.token_scores.measurements import RECORD
from heedful.training.loop import train
from heedful.training.methods import METHODS
from heedful.verdict.scoring import columns_of
from support.runs import RUN, toy

TEXTS, SEEDS = 200, 5
"""Of a cell made by hand: as many seeds as a claim needs to be tested, and texts for a small share to be known."""
Value = TypeVar("Value")
FINGERPRINT = {"data.fingerprint": "f", "network.vectors_fingerprint": "v", "network.encoder_fingerprint": "e"}
MODEL_FINGERPRINT = {"data.fingerprint": "f", "finetune.fingerprint": "m"}
THREE = ("no", "yes", "maybe")
LABELS = {"newsgroups_topics3": THREE, "snli": THREE, "planted-three": ("first", "second", "third")}


def described(run: Run, labels: tuple[str, ...] = ("no", "yes")) -> RunFile:
    """What the store would say of the run."""
    scores = {
        "accuracy": 0.8 + 0.01 * (run.seed % 10),
        "f1": 0.75,
        "macro_f1": 0.74,
        "roc_auc": 0.9 if len(labels) == 2 else None,
    }
    return RunFile(
        run=update_settings(run, MODEL_FINGERPRINT if run.finetune else FINGERPRINT),
        labels=labels,
        has_query=False,
        embed_size=8,
        chosen_epoch=2,
        scores={"dev": {}, "test": scores},
        seconds=3.0,
        notes=(),
        coverage=None,
        versions={"torch": "2"},
    )


def token_history(run: Run, generator: torch.Generator) -> pl.DataFrame:
    """What the run would have recorded of four words of each kind."""
    labels = LABELS.get(run.data.source, ("negative", "positive"))
    kinds = {label: number for number, label in enumerate(labels)} | {"neutral": -1}
    words = [(f"{kind}_{letter}", label) for kind, label in kinds.items() for letter in "abcd"]
    rows = [(0, word, "class", float(label)) for word, label in words]
    products = ("product", "product'") if run.network.encoder == "affine" else ("product",)
    pairs = combinations_with_replacement((*labels, "(neutral)"), 2)
    whole = ["V.W", *(f"{product}[{kind},{other}]" for kind, other in pairs for product in products)]
    in_context = run.network.encoder == "bilstm"
    by_label = ["polarity", *(() if in_context else ("flow_A", "flow_B", "flow_C"))]
    measures = [f"{name}[{label}]" for name in by_label for label in labels] if len(labels) > 2 else by_label
    measures += ["attention", *(("attention_local",) if in_context else ("flow_D", "flow_E", "flow_F"))]
    for epoch in (described(run).chosen_epoch if n == "chosen" else n for n in run.training.record_flow):
        for word, _ in words:
            values = torch.randn(len(measures), generator=generator).tolist()
            rows += [(epoch, word, measure, value) for measure, value in zip(measures, values, strict=True)]
        rows += [(epoch, None, measure, 0.5 - epoch) for measure in whole]
    return pl.DataFrame(rows, schema=RECORD, orient="row")


def training_history(run: Run) -> pl.DataFrame:
    """What the training of the run would have logged."""
    epochs = range(1, run.training.epochs + 1)
    rows = [
        (n, split, name, 1 / n) for n in epochs for split in ("train", "dev") for name in ("top_k_gap", "top_k_overlap")
    ]
    return pl.DataFrame(rows, schema=["epoch", "split", "measure", "value"], orient="row")


def shown_texts(study_run: StudyRun) -> pl.DataFrame:
    """Two texts word by word, of which the second is short enough to be drawn; empty where the audit shows none."""
    if study_run.audit is None or not study_run.audit.shown:
        return pl.DataFrame()
    measures = ("attention", "noisy", "noisy_attention", "replaced_attention", "seed_attention")
    words = [f"{kind}_{letter}" for letter in "abcd" for kind in ("negative", "positive", "neutral")]
    rows = [
        (example, item, words[item % 12], words[item % 12] if item else "<b>", measure, 1 / count)
        for example, count in {3: 40, 5: 8}.items()
        for measure in measures
        for item in range(count)
    ]
    names = ["example", "item", "word", "replaced", "measure", "value"]
    return pl.DataFrame(rows, schema=names, orient="row")


@cache
def _toy_model():
    data = toy(labels=("negative", "positive"))
    marked = replace(data, test=tuple(replace(example, rationale=(0,), annotators=((0,),)) for example in data.test))
    return train(RUN, data), marked


@cache
def _measured(settings: str, has_seeds: bool, adversaries: int) -> tuple[str, ...]:
    trained, data = _toy_model()
    asked = update_settings(AuditSettings.model_validate_json(settings), {"examples": 4, "shown": 0})
    comparison_models = ComparisonModels(seeds=(trained,) * has_seeds, adversaries=(trained,) * adversaries)
    with TemporaryDirectory() as folder:
        audited = audit(trained, data, _with_vectors(asked, Path(folder) / "toy.txt"), comparison_models)
    return tuple(columns_of([audited.rows]))


def _with_vectors(settings: AuditSettings, file: Path) -> AuditSettings:
    """The same audit, with word vectors for the toy's words where words give way to the nearest by their vectors."""
    options = settings.options.get("word_substitution", {})
    if options.get("synonyms") != "vectors":
        return settings
    file.write_text("negative 1 0\npositive 0.9 0.1\nfilm 0.8 0.2\nwas 0.7 0.3\n", encoding="utf-8")
    replaced = {**settings.options, "word_substitution": {**options, "vectors": str(file)}}
    return update_settings(settings, {"options": replaced})


def measured_columns(study_run: StudyRun) -> tuple[str, ...]:
    """The columns that the audit of this run measures, learned from the same audit of a toy model."""
    outcomes = () if study_run.outcome is None else tuple(f"outcome.{name}" for name in COLUMNS)
    if study_run.audit is None:
        return outcomes
    measured = _measured(study_run.audit.model_dump_json(), bool(study_run.seeds), len(study_run.adversaries))
    return (*measured, *outcomes)


def random_columns(names: tuple[str, ...], seeds: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
    """Values between 0 and 1 for each column; those that depend on others in a way that real ones could."""
    columns = {name: torch.rand(seeds, TEXTS, generator=generator, dtype=torch.float64) for name in names}
    if "prediction.predicted" in columns:
        columns["prediction.predicted"] = torch.randint(2, (seeds, TEXTS), generator=generator).double()
        columns["prediction.label"] = torch.randint(2, (TEXTS,), generator=generator).double().repeat(seeds, 1)
        columns["prediction.correct"] = (columns["prediction.correct"] < 0.9).double()
    if "adversarial_attention.cap" in columns:
        columns["adversarial_attention.cap"] = columns["adversarial_attention.js"] + 0.1
    if "gradient_agreement.tau" in columns:
        columns["gradient_agreement.tau"][:, 0] = torch.nan
    if "erase_one.delta_js_attention" in columns:
        columns["erase_one.delta_js_attention"] -= 0.3
    for what in ("fraction", "mass") if "erase_until_flip.mass_attention_x_gradient" in columns else ():
        if f"erase_until_flip.{what}_minimal" in columns:
            columns[f"erase_until_flip.{what}_minimal"] = columns[f"erase_until_flip.{what}_attention_x_gradient"] / 2
    return columns


def results_of(study: Study, scale: str = "small") -> Results:
    """Every cell of the study with the columns that its audits would measure, and random values."""
    cells: dict[tuple[str, str], list[StudyRun]] = {}
    for study_run in study.runs_at(scale):
        cells.setdefault((study_run.data, study_run.model), []).append(study_run)
    return Results(scale, tuple(_cell(members, number) for number, members in enumerate(cells.values())))


def _cell(members: list[StudyRun], number: int) -> Cell:
    generator, first = torch.Generator().manual_seed(number), members[0]
    runs = [member.run.run for member in members]
    base, labels = described(runs[0]).run, LABELS.get(first.data, ("no", "yes"))
    # Seeds of a cell are companions of each other: each is described once.
    seeds = {id(seed): seed for member in members for seed in member.seeds}
    known = {number: described(seed.run) for number, seed in seeds.items()}
    adversaries = (described(adversary_of(base, each.seed, each.changes)) for each in first.adversaries)
    return Cell(
        data=first.data,
        model=first.model,
        encoder=first.encoder,
        method=first.method,
        role=first.role,
        runs=tuple(described(run, labels) for run in runs),
        columns=random_columns(measured_columns(first), len(members), generator),
        comparison_models=ComparisonModels(
            seeds=tuple(known[id(seed)] for member in members for seed in member.seeds),
            adversaries=tuple(adversaries),
        ),
        seconds=5.0,
        tokens=tuple(token_history(run, generator) for run in runs if run.training.record_flow),
        history=tuple(training_history(run) for run in runs if METHODS[run.training.method].logs),
        words=tuple(shown_texts(member) for member in members),
    )


def known(value: Value | None) -> Value:
    """The value, which must be there."""
    assert value is not None
    return value


def near(mean: float, seeds: int = SEEDS) -> torch.Tensor:
    """[seed text]: values close to the mean."""
    wave = torch.arange(seeds * TEXTS, dtype=torch.float64).sin().reshape(seeds, TEXTS)
    return mean + 0.001 * wave


def share(of_texts: float, seeds: int = SEEDS) -> torch.Tensor:
    """[seed text]: 1 for that share of the texts, 0 for the others."""
    return (torch.arange(TEXTS) < of_texts * TEXTS).double().repeat(seeds, 1)


def made_cell(
    data: str, encoder: str, method: str = "", *, role: str = "", columns=None, tokens: tuple[pl.DataFrame, ...] = ()
) -> Cell:
    """A cell with these rows, called by its fields; a column may be given by its mean."""
    values = {name: near(value) if isinstance(value, float) else value for name, value in (columns or {}).items()}
    model = ", ".join(part for part in (encoder, method, role) if part)
    runs = tuple(described(update_settings(RUN, {"seed": seed})) for seed in range(SEEDS))
    return Cell(data, model, encoder, method, runs, values, role=role, tokens=tokens)


def made_results(*cells: Cell) -> Results:
    """Results with these cells and nothing else."""
    return Results("small", cells)


def judged_claims(study: Study, results: Results) -> dict[str, JudgedClaim]:
    """The claims of the study on these results, by id."""
    return {judged.claim.id: judged for judged in judge_claims(study, results)}


def drawn(study: Study, results: Results) -> dict[str, Figure]:
    """The figures of the study from these results, by name."""
    return {figure.name: figure for figure in study.figures(results)}


def word_on(study: Study, claim: str, results: Results) -> str:
    """The word on the claim of that id."""
    return judged_claims(study, results)[claim].word


def outcomes_of(study: Study, claim: str, results: Results) -> dict[str, str]:
    """The outcome of that claim on each dataset."""
    return {each.data: each.outcome for each in judged_claims(study, results)[claim].sets}
