"""How well the models of the papers predict, each with the accuracy we hold ourselves to. Needs HEEDFUL_DATA.

    OMP_WAIT_POLICY=PASSIVE python benchmarks/accuracy.py [NAME ...]

Finished runs are kept in `runs/`, so a second call prints the table at once. Seed 0 throughout.
"""

import sys

import torch
from rich.console import Console
from rich.table import Table

from heedful.jobs.work import ensure
from heedful.papers.reproduction import NEVER_EARLY, NORMAL_START
from heedful.papers.sun_lu.study import ADAGRAD, DROPOUT, NETWORK
from heedful.settings import DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings
from heedful.settings.validation import update_settings
from heedful.store.store import Store

JAIN_WALLACE = TextSettings(words="alphanumeric", start_end=True)
SST = update_settings(JAIN_WALLACE, {"longer_than": 5})
GLOVE = NetworkSettings(vectors="glove_6b_100d", missing="zero", **NORMAL_START)  # as their code; the paper says normal
BABI = NetworkSettings(embed_size=50, hidden_size=30, **NORMAL_START)
SHORT = TextSettings(min_count=5, max_tokens=400)
SERRANO_SMITH = NetworkSettings(encoder="bigru", embed_size=200, hidden_size=50, embedding_dropout=0.4, **NORMAL_START)
SUN_LU = update_settings(NETWORK, DROPOUT)


def plan() -> dict[str, tuple[Run, dict[str, float]]]:
    """Each run with the least that its test scores must reach."""
    average = {"encoder": "average", "hidden_size": 256}  # and ReLU, as in their paper
    always = TrainingSettings(**NEVER_EARLY)
    six = update_settings(always, {"metric": "accuracy", "epochs": 6})
    snli = Run(data=DataSettings(source="snli"), network=GLOVE, training=six)
    hypothesis = DataSettings(source="snli", text="hypothesis", task="classification")
    babi = update_settings(always, {"epochs": 40, "metric": "accuracy", "class_weights": False, "patience": 12})
    news = update_settings(
        always, {"epochs": 4, "metric": "accuracy", "class_weights": False, "batch_size": 32, "learning_rate": 2e-3}
    )
    twenty = Run(data=DataSettings(source="newsgroups_20"), text=SHORT, network=SERRANO_SMITH, training=news)
    han = update_settings(SERRANO_SMITH, {"encoder": "hierarchical", "words": "bigru", "sentences": "bigru"})
    sst = Run(data=DataSettings(source="sst2"), text=SST, network=GLOVE, training=always)
    mock = Run(data=DataSettings(source="mock-1"), training=TrainingSettings(epochs=2))
    dot = Run(
        data=DataSettings(source="sst2"), text=TextSettings(words="alphanumeric"), network=SUN_LU, training=ADAGRAD
    )
    return {
        "sst2 bilstm": (sst, {"accuracy": 0.82, "roc_auc": 0.90}),
        "sst2 average": (
            update_settings(sst, {"network": update_settings(GLOVE, average)}),
            {"accuracy": 0.81, "roc_auc": 0.89},
        ),
        "mock-1 bilstm": (mock, {"f1": 0.98}),
        "mock-1 average": (update_settings(mock, {"network": NetworkSettings(encoder="average")}), {"f1": 0.98}),
        "babi_task1": (Run(data=DataSettings(source="babi_task1"), network=BABI, training=babi), {"accuracy": 0.95}),
        "babi_task2": (Run(data=DataSettings(source="babi_task2"), network=BABI, training=babi), {"accuracy": 0.45}),
        "snli": (snli, {"accuracy": 0.62}),
        "snli hypothesis only": (update_settings(snli, {"data": hypothesis}), {}),
        "sst2 dot, lambda 10": (dot, {"accuracy": 0.80}),
        "sst2 dot, lambda .001": (update_settings(dot, {"network": update_settings(SUN_LU, {"scale": 0.001})}), {}),
        "newsgroups_20 flan": (twenty, {}),
        "newsgroups_20 han": (update_settings(twenty, {"network": han}), {}),
    }


def main() -> None:
    torch.set_num_threads(1)
    console = Console(highlight=False)
    chosen = sys.argv[1:]
    table = Table("run", "accuracy", "f1", "roc_auc", "epoch", "seconds", "aim", "reached")
    accuracy = {}
    for name, (run, aims) in plan().items():
        if chosen and not any(name.startswith(prefix) for prefix in chosen):
            continue
        _, trained, _ = ensure(run, Store("runs"))
        scores = trained.scores["test"]
        accuracy[name] = scores["accuracy"]
        aim = ", ".join(f"{metric} {least}" for metric, least in aims.items())
        reached = "yes" if all(scores[metric] >= least for metric, least in aims.items()) else "NO"
        shown = (f"{scores[metric]:.3f}" for metric in ("accuracy", "f1", "roc_auc"))
        table.add_row(name, *shown, str(trained.chosen_epoch), f"{trained.seconds:.0f}", aim, reached if aims else "")
        console.print(f"{name}: accuracy {scores['accuracy']:.3f}")
    console.print(table)
    if "sst2 dot, lambda .001" in accuracy:
        console.print(
            f"lambda .001: accuracy {accuracy['sst2 dot, lambda .001']:.3f} (aim: below .70, as in the paper)"
        )
    if {"snli", "snli hypothesis only"} <= set(accuracy):
        gain = accuracy["snli"] - accuracy["snli hypothesis only"]
        console.print(f"snli: {gain:+.3f} accuracy over the model that sees the hypothesis only (aim: +0.02 or more)")


if __name__ == "__main__":
    main()
