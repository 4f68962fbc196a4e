"""`heedful audit`: the main job, from data or a finished run to a verdict and a report."""

from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from heedful.cli import command_options
from heedful.cli.command_options import argument, flag, make_run, open_store, option, split_audit, use_threads
from heedful.cli.data_commands import show_vectors_download
from heedful.cli.output import Output, output
from heedful.errors import SettingError, lookup
from heedful.formatting import printable
from heedful.settings import AuditSettings, Run
from heedful.settings.validation import nest_settings, validate_settings
from heedful.verdict.requirement import REQUIRED, Required, unmet_requirement

if TYPE_CHECKING:
    from heedful.cli.auditing import AuditOutput
    from heedful.jobs.planning import Plan
    from heedful.store.store import Store
    from heedful.subjects.opening import NamedModel


FEW_TRAINING_TEXTS = 20_000
"""With fewer training texts, pretrained word vectors are recommended."""
QUICK_TEXTS = 150
"""Texts of `--quick`."""


@dataclass(frozen=True, kw_only=True)
class _HowToAudit:
    """The tests, the number of texts, the comparison models, and the output."""

    tests: str | None = option(
        "Run only these tests, separated by commas; `outcome` is the answer. See `heedful list tests`.",
        autocompletion=command_options.names("tests"),
    )
    examples: str | None = option("Number of texts to audit, drawn at random, or all. Default: 500.", metavar="N|all")
    seeds: int | None = option(
        "Train N models with consecutive seeds and answer for them together. Default: 3; with --model 1.", min=1
    )
    quick: bool = flag(f"Audit one seed on {QUICK_TEXTS} texts: faster, and less certain.", "--quick")
    require: str | None = option(
        "For CI: exit with code 3 if the answer of any class is below yes, or below some (For some texts).",
        metavar="yes|some",
    )
    deep: bool = flag(
        "Also run the costly tests, and train comparison models: with uniform attention, and adversarial ones.",
        "--deep",
    )
    adversaries: int = option("With --deep: number of adversarial models to train.", default=3, min=0, max=9)
    uniform: str | None = option(
        "Key of the same model trained with uniform attention.", autocompletion=command_options.runs
    )
    search: bool = flag("Also run the authors' search for adversarial attention.", "--search")
    rankings: str | None = option(
        "Also test these rankings, separated by commas: integrated_gradients, smoothgrad, lime, shap (all but "
        "smoothgrad need captum); for Hugging Face models also rollout, value_norm."
    )
    scores: str | None = option(
        "With --model: external scores of words to test as rankings (parquet, jsonl, csv: id, word or start and end, "
        "score, name).",
        metavar="FILE",
    )
    replace_with: str | None = option(
        "Replace words by other words, or by the mask token of a Hugging Face model. Default: word.",
        metavar="word|mask",
    )
    details: bool = flag(
        "Also print the tests that explain the answer, all rankings, and the answers by other definitions of the "
        "outcome: alone_weight 1/2, k one smaller and one larger.",
        "--details",
    )
    no_texts: bool = flag("For confidential data: write a report without any text or word.", "--no-texts")
    out: str = option("Folder for report.html, verdict.json and tables, which `heedful.load` reads.", default="report")


@dataclass(frozen=True, kw_only=True)
class AuditOptions(
    command_options.FolderOptions,
    _HowToAudit,
    command_options.TrainingOptions,
    command_options.SiteOptions,
    command_options.ColumnOptions,
):
    """The options of `heedful audit`."""

    data: str | None = argument(
        "Built-in or named dataset, file, folder, or hub:NAME. Default: an honest and a deceptive BiLSTM on reviews.",
        "[DATA]",
        default=None,
        autocompletion=command_options.names("datasets"),
    )
    model: list[str] | None = option(
        "Audit this model instead of training one: a run key or unique prefix (DATA defaults to the run's own), a "
        "Hugging Face folder or hf:NAME (repeat for checkpoints of one model), or FILE.py:FUNCTION, which returns your "
        "model and its batches.",
        "--model",
        autocompletion=command_options.runs,
    )
    threads: command_options.Threads = 1
    workers: int | None = option(
        "Number of processes that share the work. Default: one per core for training and for long audits.",
        min=1,
        max=1024,
    )
    scheduler: command_options.Scheduler = None

    panels: ClassVar[command_options.Panels] = {
        "Options": (
            *("text", "label", "model", "encoder", "vectors", "seeds", "examples", "quick", "require", "details"),
            "out",
        ),
        "More: data": ("query", "rationale", "no_texts"),
        "More: training": ("attention", "method", "seed", "epochs", "reference", "settings"),
        "More: tests": ("tests", "rankings", "scores", "search", "replace_with"),
        "More: comparison models (--deep)": ("deep", "adversaries", "uniform"),
        "More: Hugging Face models": ("site", "scope"),
        "More: folders and processes": ("runs", "audits", "device", "threads", "workers", "scheduler"),
    }


OTHER_DATA = ("data", "text", "label", "query", "rationale")
"""Options that name the data on which a finished run is audited."""

SEEDS = 3
"""Default number of seeds."""

SMALL: dict[str, Any] = {
    "data": {"source": "reviews"},
    "network": {"encoder": "bilstm", "embed_size": 300, "hidden_size": 64, "embedding_start": "normal"},
}
DEMONSTRATION: dict[str, dict[str, Any]] = {
    "vanilla": {**SMALL, "training": {"method": "vanilla", "epochs": 8, "patience": 0, "chosen_from": 1}},
    "deceptive": {**SMALL, "training": {"method": "deceptive", "epochs": 16, "min_epochs": 8, "patience": 2}},
}
"""An honest model and a deceptive one, about equally accurate. All of their settings are fixed."""


def audit(options: AuditOptions) -> None:
    """Test whether attention points to the words that decide a model's predictions.

    Trains a model on DATA (or loads --model), audits it, prints the answer and writes the report.
    """
    of_run, of_audit = split_audit(options.settings)
    _check_describes(options, of_run)
    required = None if options.require is None else lookup("--require", options.require, REQUIRED)
    if options.quick:
        options = _quick(options)
    from heedful.cli.auditing import make_audits, print_answer, print_estimate, write_answer

    others = {"rankings": [name.strip() for name in options.rankings.split(",")]} if options.rankings else {}
    others |= {"outcome.replace_with": options.replace_with} if options.replace_with is not None else {}
    others |= {"deep": options.deep and not options.tests, "details": options.details}
    how = audit_settings(options.tests, options.examples, options.search, {**others, **of_audit})
    if required and not how.has_answer:
        raise SettingError("--require needs the answer. Add `outcome` to --tests, or remove --tests.")
    printed, store = output(), open_store(options, "runs", "audits", "out")
    show_vectors_download(options.vectors)
    device, threads, scheduler = options.device, options.threads, options.scheduler
    workers = workers_of(options.workers, scheduler, device, threads)
    named = _models_named(options, store)
    run = named[0].name if named and named[0].kind == "run" else None
    if run is not None:
        from heedful.store.store import Store
        from heedful.subjects.opening import store_of

        store = Store(store_of(named[0]).folder, options.audits)
    plan = _plan_of(options, of_run, how, store, named)
    if plan.missing(store):
        if run is not None and plan.runs:
            from heedful.subjects.opening import recorded_source

            if note := recorded_source(store.read(run).run):
                printed.note(note)
        use_threads(threads, device)
        if options.data is not None and run is None:
            _note_vectors(printed, plan)
        if scheduler is None and not printed.is_quiet:
            is_usual = not (options.quick or options.seeds or options.examples or options.tests)
            quick = QUICK_TEXTS if is_usual else 0
            print_estimate(printed.progress, plan, store, quick_texts=quick, device=device, workers=workers)
        make_audits(printed.progress, plan, store, device=device, workers=workers, scheduler=scheduler)
    folders = [store.audits / key for key in plan.wanted]
    answer = write_answer(folders, Path(options.out), with_texts=not options.no_texts)
    if options.quick:
        printed.note(_cost_of_quick(has_seeds=not options.model))
    print_answer(printed, answer, with_details=options.details)
    _check_required(answer, required)


def _quick(options: AuditOptions) -> AuditOptions:
    """The options with one seed and few texts."""
    if given := [name for name in ("seeds", "examples") if getattr(options, name) is not None]:
        raise SettingError(f"--quick cannot be combined with --{given[0]}, which it sets. Remove one of them.")
    return replace(options, examples=str(QUICK_TEXTS), seeds=None if options.model else 1)


def _note_vectors(printed: "Output", plan: "Plan") -> None:
    """Say how to get word vectors if models are trained on few texts without them."""
    from heedful.data import DATASETS
    from heedful.jobs.work import dataset_of

    if (run := next(iter(plan.runs.values()), None)) is None:
        return
    is_plain = run.network.vectors is None and run.finetune is None and not run.network.encoder.startswith("hf:")
    if is_plain and run.data.source not in DATASETS and (count := len(dataset_of(run).train)) < FEW_TRAINING_TEXTS:
        printed.note(f"{count:,} training texts, no word vectors: try --vectors glove-100 (128 MB).")


def _cost_of_quick(*, has_seeds: bool) -> str:
    """What an answer from few texts leaves open.

    Args:
        has_seeds: whether other seeds could have been trained.
    """
    usual = AuditSettings().examples or QUICK_TEXTS
    few, more = (f"{98 / sqrt(texts):.0f}" for texts in (QUICK_TEXTS, usual))
    seeds = f" Other seeds can give a different answer; without --quick, {SEEDS} are trained." if has_seeds else ""
    return (
        f"--quick audits {QUICK_TEXTS} texts: the 95% interval of a share near one half is about {few} percentage "
        f"points wide on each side, with {usual} texts {more}. Classes have fewer texts and wider intervals.{seeds}"
    )


def _check_required(answer: "AuditOutput", required: "Required | None") -> None:
    """Exit with code 3 if the answer of a model is below what is required, with the reason."""
    if required is None:
        return
    reasons = {
        name: unmet_requirement(verdict.answer, required)
        for name, verdict in zip(answer.names, answer.verdicts, strict=True)
        if verdict.answer is not None
    }
    for name, reason in reasons.items():
        if reason:
            typer.secho(f"--require {required} is not met. {printable(f'{name}: {reason}')}", fg="red", err=True)
    if any(reasons.values()):
        raise typer.Exit(3)


def workers_of(workers: int | None, scheduler: str | None, device: str, threads: int) -> int | None:
    """Number of processes that share the work; one if it has several threads or another device than the CPU."""
    asked = "--workers" if (workers or 1) > 1 else "--scheduler" if scheduler is not None else ""
    if threads > 1 and asked:
        raise SettingError(
            f"--threads cannot be combined with {asked}: every worker has one thread. Remove one of them."
        )
    return 1 if threads > 1 or (device != "cpu" and not asked) else workers


def _models_named(options: AuditOptions, store: "Store") -> "list[NamedModel]":
    """Models that --model names: a finished run, a custom model, or checkpoints of a Hugging Face classifier."""
    from heedful.subjects.opening import find_model, store_of

    given, site, scope = options.model or [], options.site, options.scope
    named = [find_model(name, store) for name in given]
    others = [name for name, model in zip(given, named, strict=True) if model.kind != "classifier"]
    if site or scope:
        from heedful.models.hugging_face.sites import parse_scope, parse_site

        parse_site(site or "last")
        parse_scope(scope or "row")
    if any(model.kind == "custom" for model in named):
        alone = ("scores", "seeds", "deep", "uniform", "site", "scope")
        left_out = [f"--{name}" for name in alone if getattr(options, name)]
        left_out += ["DATA"] if options.data is not None else []
        left_out += ["another --model"] if len(named) > 1 else []
        if left_out:
            raise SettingError(
                f"{left_out[0]} cannot be combined with --model {others[0]}, which is audited alone on its batches. "
                f"Remove {left_out[0]}."
            )
    elif others and len(named) > 1:
        other = next(name for name in given if name != others[0])
        raise SettingError(
            f"--model must be given once for a finished run; it names {others[0]} and {other}. `--seeds` audits "
            "several seeds of a run; `heedful compare` compares audits."
        )
    elif (site or scope) and (others or not named):
        option = "--site" if site else "--scope"
        raise SettingError(f"{option} is for Hugging Face models, and --model names none. Remove {option}.")
    if len({model.name for model in named}) < len(named):
        raise SettingError("--model must name different checkpoints; some are named twice.")
    if named and named[0].kind == "run":
        store_of(named[0]).check(named[0].name)
    return named


def _plan_of(
    options: AuditOptions, settings: list[str], how: AuditSettings, store: "Store", named: "list[NamedModel]"
) -> "Plan":
    """Plan of the audit: of models that are opened for it, or of runs on their own data, which needs no torch.

    The runs are those to train on DATA, the one that --model names, or the demonstration.
    """
    data, scores, uniform = options.data, options.scores, options.uniform
    run = named[0].name if named and named[0].kind == "run" else None
    if named and (run is None or data is not None or scores is not None):
        use_threads(options.threads, options.device)
        from heedful.jobs.named_models import plan_named

        other = {name: getattr(options, name) for name in OTHER_DATA}
        given = make_run(other, settings).data if data is not None else None
        view = {"site": options.site or "", "scope": options.scope or "", "device": options.device}
        return plan_named(named, given, how, store, **view, scores=scores)
    from heedful.jobs.planning import Plan, audit_with_other_seeds, plan_audits
    from heedful.schema.rankings import OF_TRANSFORMERS

    if refused := [name for name in how.rankings if name in OF_TRANSFORMERS]:
        raise SettingError(f"--rankings {refused[0]} is for Hugging Face models. Name one with --model, or remove it.")
    if run is not None:
        is_alone = not (options.seeds or options.deep or uniform)
        if is_alone and (pooled := audit_with_other_seeds(run, how, store)) is not None:
            return Plan((pooled,))
        chosen = [store.read(run).run]
    else:
        chosen = [make_run(vars(options), settings)] if data is not None else demonstration(options.seed)
    return plan_audits(
        chosen,
        how,
        store,
        seeds=options.seeds or (1 if run else SEEDS),
        deep=options.deep,
        adversaries=options.adversaries,
        retrained=None if uniform is None else store.read(store.find(uniform)).run,
    )


def _check_describes(options: AuditOptions, settings: list[str]) -> None:
    """Refuse options that describe a run to train if none is trained."""
    has_data, has_model = options.data is not None, options.model is not None
    has_scores = options.scores is not None
    if has_scores and not has_model:
        raise SettingError("--scores needs --model: name the finished run that the scores explain.")
    if has_data and not has_model:
        return
    of_data = OTHER_DATA if has_data else ()
    idle = [
        f"--{name}"
        for name in command_options.PLACES
        if name not in ("data", "seed", *of_data) and getattr(options, name) is not None
    ]
    idle += [f"--set {setting}" for setting in settings if not (has_data and setting.startswith("data."))]
    if idle and has_model:
        raise SettingError(f"{idle[0]} cannot be combined with --model, which names a trained model. Remove {idle[0]}.")
    if idle:
        raise SettingError(
            f"{idle[0]} describes a model to train, and there is no DATA to train it on. Give DATA first."
        )
    retrains = [name for name in ("seeds", "deep", "uniform") if (has_data or has_scores) and getattr(options, name)]
    if retrains:
        raise SettingError(
            f"--{retrains[0]} cannot be combined with {'other data' if has_data else '--scores'}: nothing is trained. "
            f"Remove --{retrains[0]}."
        )


def demonstration(seed: int) -> list[Run]:
    """Two small BiLSTMs on hotel and restaurant reviews: one trained honestly, one to hide the words that decide."""
    return [validate_settings(Run, {**settings, "seed": seed}) for settings in DEMONSTRATION.values()]


def audit_settings(tests: str | None, examples: str | None, search: bool, own: dict[str, Any]) -> AuditSettings:
    """The audit's settings from its options and from `--set audit.NAME=VALUE` or `--set audit.TEST.OPTION=VALUE`.

    Args:
        examples: a number of texts, or "all"; None: the default.
    """
    names = tuple(name.strip() for name in tests.split(",")) if tests else ()
    fields = {name: value for name, value in own.items() if name.split(".")[0] in AuditSettings.model_fields}
    of_tests = {f"options.{name}": value for name, value in own.items() if name not in fields}
    if search:
        of_tests["options.adversarial_attention.search"] = True
    if examples is not None and examples != "all" and (not examples.isdecimal() or int(examples) < 1):
        raise SettingError(f"--examples must be a number of texts, 1 or more, or 'all'; it was '{examples}'.")
    texts = {} if examples is None else {"examples": None if examples == "all" else int(examples)}
    flat = {"tests": names, **texts, **fields, **of_tests}
    if misplaced := [name for name in own if name not in fields and "." not in name]:
        known = ", ".join(AuditSettings.model_fields)
        raise SettingError(
            f"unknown setting 'audit.{misplaced[0]}'. Known: {known}; a test's option is audit.TEST.OPTION."
        )
    return validate_settings(AuditSettings, nest_settings(flat), "audit.")
