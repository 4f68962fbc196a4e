"""`heedful audit`: the main job, from data or a finished run to a verdict and a report."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli import command_options
from heedful.cli.auditing import (
    DRAWN_TEXTS,
    audit_classifiers,
    audit_on,
    audit_own,
    audit_planned_runs,
    cluster_choice,
    tells_what_is_kept,
)
from heedful.cli.command_options import make_run, use_threads
from heedful.cli.output import output
from heedful.errors import SettingError
from heedful.settings import AuditSettings, Run
from heedful.settings.validation import nest_settings, validate_settings

if TYPE_CHECKING:
    from heedful.cli.output import Output
    from heedful.jobs.planning import PlannedAudit
    from heedful.store.store import Store
    from heedful.subjects.opening import NamedModel

Data = Annotated[
    str | None,
    typer.Argument(
        metavar="[DATA]",
        help="Built-in or named dataset, file, folder, or hub:NAME. Default: an honest and a deceptive "
        "BiLSTM on reviews.",
        autocompletion=command_options.names("datasets"),
    ),
]
Model = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="Instead of training: key of a finished run (or its first characters), to audit on DATA or its own; or a "
        "Hugging Face classifier, a folder or hf:NAME, to audit on DATA (several such: checkpoints of one model); or "
        "FILE.py:FUNCTION, which returns a model of your own and its batches.",
        autocompletion=command_options.runs,
    ),
]
Tests = Annotated[
    str | None,
    typer.Option(
        help="Only these tests, separated by commas; `outcome` is the answer. See `heedful list tests`.",
        autocompletion=command_options.names("tests"),
    ),
]
Examples = Annotated[
    str | None, typer.Option(metavar="N|all", help="Number of texts to audit, drawn at random, or all. Default: 500.")
]
ReplaceWith = Annotated[
    str | None,
    typer.Option(
        "--replace-with",
        metavar="word|mask",
        help="Replace words by other words, or by the mask token of a Hugging Face model. Default: word.",
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Train N models with consecutive seeds, in parallel, and answer for them together. Default: 3 where the "
        "audit trains, 1 with --model.",
    ),
]
Deep = Annotated[
    bool,
    typer.Option(
        "--deep",
        help="Also run the costly tests, and retrain: with uniform attention, and against it (--adversaries).",
    ),
]
Adversaries = Annotated[int, typer.Option(min=0, max=9, help="With --deep: how many models to train as adversaries.")]
Uniform = Annotated[
    str | None,
    typer.Option(
        "--uniform", help="Key of the same model trained with uniform attention.", autocompletion=command_options.runs
    ),
]
Search = Annotated[bool, typer.Option("--search", help="Also run the authors' search for adversarial attention.")]
NoTexts = Annotated[
    bool, typer.Option("--no-texts", help="Write a report without any text or word of the data, for confidential ones.")
]
Details = Annotated[
    bool,
    typer.Option(
        "--details",
        help="Also print the tests that explain the answer, all rankings, and the answers by other definitions of the "
        "outcome: alone_weight 1/2, k one smaller and one larger.",
    ),
]
Rankings = Annotated[
    str | None,
    typer.Option(
        help="Also test rankings by these methods, separated by commas: integrated_gradients, smoothgrad, "
        "lime, shap (the first, third and fourth need captum); of Hugging Face models rollout, value_norm."
    ),
]
Scores = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="With --model: scores of words from elsewhere (parquet, jsonl, csv: id, word or start and end, score, "
        "name), each a ranking to test beside attention.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1024,
        help="Processes that share the work here. Default: one a core, for trainings and for long audits.",
    ),
]
Out = Annotated[str, typer.Option(help="Folder for report.html, verdict.json, rows.parquet and outcomes.parquet.")]

OTHER_DATA = ("data", "text", "label", "query", "rationale")
"""Options that say on which data a finished run is audited."""

SEEDS = 3
"""Trainings behind a verdict where nobody says how many: one is one draw."""

DEMONSTRATION: dict[str, dict[str, Any]] = {
    "vanilla": {
        "data": {"source": "reviews"},
        "network": {"encoder": "bilstm", "embed_size": 300, "hidden_size": 64, "embedding_start": "normal"},
        "training": {"method": "vanilla", "epochs": 8, "patience": 0, "chosen_from": 1},
    },
    "deceptive": {
        "data": {"source": "reviews"},
        "network": {"encoder": "bilstm", "embed_size": 300, "hidden_size": 64, "embedding_start": "normal"},
        "training": {"method": "deceptive", "epochs": 16, "min_epochs": 8, "patience": 2},
    },
}
"""An honest model and a deceptive one, about equally accurate. All that decides what they show is pinned."""


def audit(
    data: Data = None,
    text: command_options.Text = None,
    label: command_options.Label = None,
    query: command_options.Query = None,
    rationale: command_options.Rationale = None,
    model: Model = None,
    site: command_options.Site = None,
    scope: command_options.Scope = None,
    encoder: command_options.Encoder = None,
    attention: command_options.Attention = None,
    method: command_options.Method = None,
    vectors: command_options.Vectors = None,
    seed: command_options.Seed = 0,
    epochs: command_options.Epochs = None,
    reference: command_options.Reference = None,
    tests: Tests = None,
    examples: Examples = None,
    seeds: Seeds = None,
    deep: Deep = False,
    adversaries: Adversaries = 3,
    uniform: Uniform = None,
    search: Search = False,
    rankings: Rankings = None,
    scores: Scores = None,
    settings: command_options.Set = None,
    replace_with: ReplaceWith = None,
    details: Details = False,
    no_texts: NoTexts = False,
    out: Out = "report",
    runs: command_options.Runs = "runs",
    audits: command_options.Audits = "audits",
    device: command_options.Device = "cpu",
    threads: command_options.Threads = 1,
    workers: Workers = None,
    scheduler: command_options.Scheduler = None,
) -> None:
    """Test whether attention points to the words that decide a model's predictions.

    Trains a model on DATA (or loads --model), audits it, prints the answer and writes the report.
    """
    arguments = locals()
    of_run, of_audit = split_audit(settings)
    _check_describes(arguments, of_run)
    from heedful.cli.auditing import print_answer, write_answer
    from heedful.jobs.planning import by_model
    from heedful.store.folders import check_writable
    from heedful.store.store import Store, audit_defect

    others = {"rankings": [name.strip() for name in rankings.split(",")]} if rankings else {}
    others |= {"outcome.replace_with": replace_with} if replace_with is not None else {}
    others |= {"deep": deep and not tests, "details": details}
    how = audit_settings(tests, examples, search, {**others, **of_audit})
    for place, option in ((runs, "--runs"), (audits, "--audits"), (out, "--out")):
        check_writable(place, option)
    printed, store, notes = output(), Store(runs), list[str]()
    cluster = cluster_choice(workers, scheduler, device, threads)
    other = {name: arguments[name] for name in OTHER_DATA}
    given = make_run(other, of_run).data if data is not None and model else None
    named = _models_named(arguments, store)
    kind = named[0].kind if named else ""
    if kind == "run":
        from heedful.subjects.opening import store_of

        store, arguments["model"] = store_of(named[0]), [named[0].name]
    console, folder = printed.progress, Path(audits)
    with tells_what_is_kept(console, folder):
        if kind == "custom":
            use_threads(threads, device)
            models = [[audit_own(console, named[0], how, folder, device, cluster)]]
        elif kind == "classifier":
            use_threads(threads, device)
            view = {"site": site or "last", "scope": scope or "row", "device": device}
            models = [audit_classifiers(console, store, named, given, how, folder, view, cluster, scores)]
        elif named and (given is not None or scores is not None):
            use_threads(threads, device)
            models = [[audit_on(console, store, named[0], given, how, folder, device, cluster, scores)]]
        else:
            notes = _note_sources(printed, [store.read(named[0].name).run] if named else [])
            known = _with_other_seeds(arguments, how, store, folder)
            if known is not None:
                models = [[known]]
            else:
                groups = by_model(_planned(arguments, of_run, how, store))
                planned = [each for group in groups for each in group]
                if any(audit_defect(folder / each.request(how).key) is not None for each in planned):
                    use_threads(threads, device)
                    audit_planned_runs(console, planned, how, store, folder, device, cluster)
                models = [[folder / each.request(how).key for each in group] for group in groups]
        pooled = [_pooled(group) for group in models]
    answer = write_answer(pooled, Path(out), notes, with_texts=not no_texts)
    print_answer(printed, answer, with_details=details)


def _models_named(arguments: dict[str, Any], store: "Store") -> "list[NamedModel]":
    """What --model names: a finished run, a model of the user's own, or checkpoints of a Hugging Face classifier."""
    from heedful.subjects.opening import find_model, store_of

    given, site, scope = arguments["model"] or [], arguments["site"], arguments["scope"]
    named = []
    if given:
        named = [find_model(name, store) for name in given]
    others = [name for name, model in zip(given, named, strict=True) if model.kind != "classifier"]
    if site or scope:
        from heedful.models.hugging_face.sites import parse_scope, parse_site

        parse_site(site or "last")
        parse_scope(scope or "row")
    if any(model.kind == "custom" for model in named):
        alone = ("scores", "seeds", "deep", "uniform", "site", "scope")
        left_out = [f"--{name}" for name in alone if arguments[name]]
        left_out += ["DATA"] if arguments["data"] is not None else []
        left_out += ["another --model"] if len(named) > 1 else []
        if left_out:
            raise SettingError(
                f"{left_out[0]} must be left out with --model {others[0]}: it is audited alone, on its own batches."
            )
    elif others and len(named) > 1:
        other = next(name for name in given if name != others[0])
        raise SettingError(
            f"--model must be given once for a finished run; it names {others[0]} and {other}. `--seeds` audits "
            "several seeds of a run; `heedful compare` compares audits."
        )
    elif (site or scope) and (others or not named):
        option = "--site" if site else "--scope"
        raise SettingError(f"{option} must be left out: it is for Hugging Face models, and --model names none.")
    if len({model.name for model in named}) < len(named):
        raise SettingError("--model must name different checkpoints; some are named twice.")
    if named and named[0].kind == "run":
        store_of(named[0]).check(named[0].name)
    return named


def _pooled(places: list[Path]) -> Path:
    """The folder of the audit of a model: of several seeds or checkpoints, that of all of them."""
    from heedful.store.store import audit_defect, pooled_key

    if len(places) == 1:
        return places[0]
    place = places[0].parent / pooled_key([each.name for each in places])
    if audit_defect(place) is not None:
        from heedful.report.pooled import ensure_pooled

        ensure_pooled(places, most=DRAWN_TEXTS)
    return place


def _with_other_seeds(arguments: dict[str, Any], how: AuditSettings, store: "Store", folder: Path) -> Path | None:
    """The finished audit of the run that --model names and of its other seeds, if nothing else was asked for."""
    if not arguments["model"] or any(arguments[name] for name in ("seeds", "deep", "uniform")):
        return None
    from heedful.jobs.request import AuditRequest
    from heedful.settings.comparison_models import ComparisonModels
    from heedful.store.store import audits_of_run, pooled_key

    key = store.find(arguments["model"][0])
    run = store.read(key).run
    for place, verdict in audits_of_run(folder, key):
        keys = [training.run for training in verdict.trainings]
        requests = [
            AuditRequest(
                run=each,
                data=run.data.fingerprint,
                settings=how,
                comparison_models=ComparisonModels(
                    seeds=tuple(other for other in keys if other != each), reference=run.reference
                ),
            )
            for each in keys
        ]
        if len(keys) > 1 and place.name == pooled_key([request.key for request in requests]):
            return place
    return None


def _planned(
    arguments: dict[str, Any], settings: list[str], how: AuditSettings, store: "Store"
) -> "list[PlannedAudit]":
    """The runs to train and audit: those of DATA, the one that --model names, or the demonstration."""
    from heedful.jobs.planning import plan_audits

    _refuse_rankings(how)
    model, uniform = arguments["model"], arguments["uniform"]
    if model:
        chosen = [store.read(store.find(model[0])).run]
    else:
        has_data = arguments["data"] is not None
        chosen = [make_run(arguments, settings)] if has_data else demonstration(arguments["seed"])
    return plan_audits(
        chosen,
        seeds=arguments["seeds"] or (1 if model else SEEDS),
        deep=arguments["deep"],
        adversaries=arguments["adversaries"],
        retrained=None if uniform is None else store.read(store.find(uniform)).run,
        store=store,
    )


def _refuse_rankings(how: AuditSettings) -> None:
    """Refuse, before anything is trained, rankings that only Hugging Face models have."""
    from heedful.schema.rankings import OF_TRANSFORMERS

    if refused := [name for name in how.rankings if name in OF_TRANSFORMERS]:
        raise SettingError(f"--rankings {refused[0]} is for Hugging Face models, named by --model; leave it out.")


def _note_sources(printed: "Output", stored: Sequence[Run]) -> list[str]:
    """Notes, now printed, on what stored runs make us read."""
    from heedful.subjects.opening import recorded_source

    notes = [note for run in stored if (note := recorded_source(run))]
    for note in notes:
        printed.note(note)
    return notes


def _check_describes(arguments: dict[str, Any], settings: list[str]) -> None:
    """Refuse options that describe a run to train where none is trained from them."""
    has_data, has_model = arguments["data"] is not None, arguments["model"] is not None
    has_scores = arguments["scores"] is not None
    if has_scores and not has_model:
        raise SettingError("--scores are of a model: name the finished run that they explain by --model.")
    if has_data and not has_model:
        return
    of_data = OTHER_DATA if has_data else ()
    idle = [
        f"--{name}"
        for name in command_options.PLACES
        if name not in ("data", "seed", *of_data) and arguments[name] is not None
    ]
    idle += [f"--set {setting}" for setting in settings if not (has_data and setting.startswith("data."))]
    if idle and has_model:
        raise SettingError(f"{idle[0]} says how to train a model, but --model names one that is trained; leave it out.")
    if idle:
        raise SettingError(
            f"{idle[0]} says how to train a model, but there is no DATA to train it on; give DATA first."
        )
    retrains = [name for name in ("seeds", "deep", "uniform") if (has_data or has_scores) and arguments[name]]
    if retrains:
        raise SettingError(
            f"--{retrains[0]} must be left out: {'on other data' if has_data else 'with --scores'} --model is audited "
            "alone, and nothing is trained."
        )


def demonstration(seed: int) -> list[Run]:
    """Two small BiLSTMs on hotel and restaurant reviews: one trained honestly, one to hide the words that decide."""
    return [validate_settings(Run, {**settings, "seed": seed}) for settings in DEMONSTRATION.values()]


def split_audit(settings: list[str] | None) -> tuple[list[str], dict[str, Any]]:
    """The settings of a run, and those of the audit, whose `outcome` and `verdict` need no "audit." first.

    >>> split_audit(["audit.shown=3", "seed=1", "outcome.most=4"])
    (['seed=1'], {'shown': 3, 'outcome.most': 4})
    """
    parts = ("outcome.", "verdict.")
    whole = [f"audit.{setting}" if setting.startswith(parts) else setting for setting in settings or []]
    return command_options.split_settings(whole, "audit")


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
    flat = {"tests": names, **_examples(examples), **fields, **of_tests}
    if misplaced := [name for name in own if name not in fields and "." not in name]:
        known = ", ".join(AuditSettings.model_fields)
        raise SettingError(
            f"unknown setting 'audit.{misplaced[0]}'. Known: {known}; a test's option is audit.TEST.OPTION."
        )
    how = validate_settings(AuditSettings, nest_settings(flat), "audit.")
    if how.tests or how.options or how.rankings:
        from heedful.auditing.rows import check_names

        check_names(how)
    return how


def _examples(given: str | None) -> dict[str, int | None]:
    """How many texts are audited, as a setting."""
    if given is None or given == "all":
        return {} if given is None else {"examples": None}
    if not given.isdecimal() or int(given) < 1:
        raise SettingError(f"--examples must be a number of texts, 1 or more, or 'all'; it was '{given}'.")
    return {"examples": int(given)}
