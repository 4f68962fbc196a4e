"""`heedful train`: one run, from data to a stored model and its scores."""

from dataclasses import dataclass

from heedful.cli import command_options
from heedful.cli.command_options import make_run, open_store, option, use_threads
from heedful.cli.data_commands import show_vectors_download
from heedful.cli.output import make_table, output


@dataclass(frozen=True, kw_only=True)
class TrainOptions(command_options.TrainingOptions, command_options.SourceOptions):
    """The options of `heedful train`."""

    finetune: str | None = option(
        "Fine-tune this Hugging Face encoder, for 3 epochs by default; its settings: --set finetune.NAME=VALUE.",
        metavar="FOLDER_OR_NAME",
    )
    record_flow: str | None = option(
        "Record scores and flow of every token after these epochs: 0,1,5.", metavar="EPOCHS"
    )
    runs: command_options.Runs = "runs"
    device: command_options.Device = "cpu"
    threads: command_options.Threads = 1


def train(options: TrainOptions) -> None:
    """Train one model on DATA, or fine-tune one; store it, and print how well it predicts."""
    recorded = [f"training.record_flow=[{options.record_flow}]"] if options.record_flow else []
    run = make_run(vars(options), [*(options.settings or []), *recorded])
    show_vectors_download(options.vectors)
    use_threads(options.threads, options.device)
    from heedful.cli.progress import Bars, training_reporter
    from heedful.jobs.work import ensure, ensure_finetuned
    from heedful.training.trained import pretrained_name, read_scores

    printed, store, more = output(), open_store(options, "runs"), list[str]()
    with Bars(printed.progress) as bars:
        how = {"device": options.device, "report": training_reporter(bars)}
        if run.finetune is not None:
            key, trained, is_cached = ensure_finetuned(run, store, **how)
            scores = read_scores(trained)
        else:
            key, trained, is_cached = ensure(run, store, **how)
            scores = trained.scores
            if trained.coverage is not None:
                more.append(f"{trained.coverage:.1%} of the vocabulary has a pretrained vector")
            if trained.tokens is not None:
                after = ", ".join(str(epoch) for epoch in trained.tokens["epoch"].unique().sort())
                more.append(f"scores of tokens after epochs {after}: {options.runs}/{key}/tokens.parquet")
    for note in trained.notes:
        printed.note(note)
    own = f"{run.network.encoder}, {run.network.attention} attention"
    model = f"{pretrained_name(trained.run)}, fine-tuned" if run.finetune else own
    rows = [[split, *(f"{value:.3f}" for value in values.values())] for split, values in scores.items()]
    title = f"{trained.run.data.source}: {model}, epoch {trained.chosen_epoch}"
    printed.console.print(make_table(("split", *scores["test"]), rows, title=title))
    where = f"{options.runs}/{key}"
    ended = f"cached in {where}" if is_cached else f"trained in {trained.seconds:.1f} s, stored in {where}"
    printed.say(*more, ended)
    document = {"key": key, "folder": where, "is_cached": is_cached, "seconds": trained.seconds, "scores": scores}
    printed.end({**document, "notes": trained.notes, "labels": trained.labels}, result=key)
