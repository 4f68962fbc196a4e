"""Sun and Lu (2020), Understanding Attention for Text Classification: which words training makes attention look at."""

from collections.abc import Iterator
from math import nan

from heedful.battery.questions import Values
from heedful.measures import Estimate
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, Run, TextSettings, TrainingSettings
from heedful.studies.claims import entry, judge, paired, score_estimate
from heedful.studies.published import number
from heedful.studies.study import Cell, Claim, Entry, Results, Study, Table, Wanted
from heedful.studies.sun_lu.figures import (
    AD,
    DP,
    HUGE,
    KEPT_SMALL,
    LARGE,
    MODERATE,
    PLANTED,
    RATIOS,
    TINY,
    figures,
    named,
)
from heedful.studies.sun_lu.token_history import last_scores, neutral, polar, shares, split_shares, sunken_shares

NAME = "sun_lu"
SETS = ("sst2", "imdb", "newsgroups_sports", "newsgroups_topics3")
LAMBDAS = (TINY, 1.0, MODERATE, 20.0, 50.0, LARGE, HUGE)
DP_A, DP_L = "dp-a", "dp-l"
FEW = (TINY, MODERATE, HUGE)
FACTORS = {
    "small": {DP: (TINY, 1.0, MODERATE, LARGE, HUGE), DP_A: FEW, AD: FEW, DP_L: (TINY, MODERATE)},
    "medium": {DP: LAMBDAS, DP_A: FEW, AD: FEW, DP_L: FEW},
    "paper": dict.fromkeys((DP, DP_A, AD, DP_L), LAMBDAS),
}
WITH_LSTM = {"small": ("sst2",), "medium": ("sst2", "newsgroups_sports"), "paper": SETS}
"""Where the LSTM is trained, which takes ten times as long as all others."""

CORRECT, ABOVE = "prediction.correct", "token_scores.polar_above_neutral"
NOTHING_LOST = 0.03
"""Accuracy that may be lost and still count as little."""

NETWORK = NetworkSettings(
    encoder="identity",
    embed_size=100,
    hidden_size=100,
    attention="dot",
    embedding_start="uniform",
    attention_start="normal",
    head_bias=False,
)
DROPOUT = {"embedding_dropout": 0.5, "context_dropout": 0.5}
ADAGRAD = TrainingSettings(
    epochs=40,
    batch_size=100,
    optimizer="adagrad",
    learning_rate=0.02,
    learning_rate_decay=0.001,
    weight_decay=0.0,
    loss_sum="mean",
    class_weights=False,
    metric="accuracy",
)
AUDIT = AuditSettings(tests=("token_scores",), shown=0)


def wanted(scale: str) -> list[Wanted]:
    """Every model by its scaling factor, V . W kept small at a large one, and the planted sets."""
    found = []
    for seed in range(3 if scale == "paper" else 1):
        for source, model, scaling in _cells(scale):
            audit = AUDIT.model_copy(update={"examples": None if scale == "paper" else 1_000})
            found.append(Wanted(source, named(model, scaling), _run(source, scale, model, scaling, seed), audit=audit))
    return found + list(_planted(scale))


def _cells(scale: str) -> Iterator[tuple[str, str, float]]:
    """Each set, model and scaling factor."""
    for source in SETS:
        if source == "imdb" and scale == "small":
            continue
        yield source, KEPT_SMALL, LARGE
        for model, factors in FACTORS[scale].items():
            if model != DP_L or source in WITH_LSTM[scale]:
                yield from ((source, model, scaling) for scaling in factors)


def _network(model: str, scaling: float) -> NetworkSettings:
    changes: dict[str, object] = {"scale": scaling}
    if model == AD:  # whose scores lambda divides just before softmax, as a temperature does
        changes = {"attention": "additive", "attention_size": 100, "temperature": scaling}
    elif model in (DP_A, DP_L):
        changes |= {"encoder": "affine"} if model == DP_A else {"encoder": "bilstm", "hidden_size": 50}
    return NETWORK.model_copy(update=changes)


def _run(source: str, scale: str, model: str, scaling: float, seed: int) -> Run:
    full = scale == "paper"
    limit = {"small": 2_000, "medium": 4_000, "paper": None}[scale]
    name = "imdb_small" if source == "imdb" and not full else source
    changes: dict[str, object] = {"epochs": 15 if model == DP_L and not full else 40}
    if (model in (DP, AD) and scaling == MODERATE) or (model in (DP, KEPT_SMALL) and scaling == LARGE):
        changes["record_flow"] = (changes["epochs"],)
    elif not full:
        changes["patience"] = 8
    if model == KEPT_SMALL:
        changes |= {"method": "alignment", "options": {"strength": 1e-4}}
    return Run(
        data=DataSettings(source=name, train_limit=limit, test_limit=None if full else 1_000),
        text=TextSettings(words="alphanumeric", max_tokens=None if full else 100),
        network=_network(model, scaling).model_copy(update=DROPOUT),
        training=ADAGRAD.model_copy(update=changes),
        seed=seed,
    )


def _planted(scale: str) -> Iterator[Wanted]:
    """Trajectories by plain gradient descent without dropout, as the analysis has it."""
    epochs = 500 if scale == "paper" else 150
    at = tuple(epoch for epoch in (0, 1, 2, 5, 10, 20, 50, 100, 150, 200, 300, 400, 500) if epoch <= epochs)
    training = TrainingSettings(
        epochs=epochs,
        batch_size=200,
        optimizer="sgd",
        # so many times larger as there are fewer texts in an epoch
        learning_rate=0.015 if scale == "paper" else 0.1,
        weight_decay=0.0,
        loss_sum="mean",
        class_weights=False,
        metric="accuracy",
        record_flow=at,
    )
    models = [(source, DP) for source in PLANTED]
    if scale != "small":
        models += [("planted", DP_A), ("planted", AD), *((source, DP) for source in RATIOS if source not in PLANTED)]
    train_limit, test_limit = (None, None) if scale == "paper" else (2_000, 200)
    for source, model in models:
        for seed in range(4 if scale == "paper" else 1 if scale == "small" or source not in RATIOS else 2):
            network = _network(model, MODERATE).model_copy(update={"head_start": "uniform"})
            data = DataSettings(source=source, train_limit=train_limit, test_limit=test_limit)
            run = Run(data=data, network=network, training=training, seed=seed)
            yield Wanted(source, named(model, MODERATE), run)


def tables(results: Results) -> list[Table]:
    """Table 2, how attention scores tell words apart, and how many words of each kind there are."""
    return [_accuracy(results), _standing(results), _tokens(results)]


def _accuracy(results: Results) -> Table:
    rows = []
    for source in results.datasets:
        for model in (DP, DP_L, DP_A, AD):
            cells = [results.cells.get((source, named(model, scaling))) for scaling in LAMBDAS]
            if source in SETS and any(cells):
                entries = (_accuracy_entry(cell, model, at) for cell, at in zip(cells, LAMBDAS, strict=True))
                rows.append(((source, model), tuple(entries)))
    note = "Accuracy on test: ours the mean and range over seeds, beside the paper's one run on the whole sets."
    titles = tuple(f"lambda {scaling:g}" for scaling in LAMBDAS)
    return Table("Table 2", "Accuracy by scaling factor", note, ("data", "model"), titles, tuple(rows))


def _accuracy_entry(cell: Cell | None, model: str, scaling: float) -> Entry:
    if cell is None:
        return Entry(None)
    printed = number(NAME, item="Table 2", data=cell.data, model=model, measure=f"accuracy lambda={scaling:g}")
    return Entry(score_estimate(cell, "accuracy"), printed)


def _standing(results: Results) -> Table:
    rows = []
    for cell in _recorded(results):
        two = len(cell.runs[0].labels) == 2
        entries = (
            entry(shares(cell, polar, neutral), f"{cell.data} {cell.model} polar"),
            entry(split_shares(cell) if two else None, f"{cell.data} {cell.model} split"),
            entry(cell.columns.get(ABOVE), f"{cell.data} {cell.model} weights"),
        )
        rows.append(((cell.data, cell.model), entries))
    titles = ("telling above neutral, scores", "favoured by V.W above the other", "telling above neutral, in a text")
    note = (
        "The chance that a word of the first kind has the larger attention score (AUROC; .5: none). The first two over "
        "the words of the training texts, resampled; the last by weights within each test text."
    )
    return Table("Scores", "Do attention scores tell words apart?", note, ("data", "model"), titles, tuple(rows))


def _tokens(results: Results) -> Table:
    rows = []
    for source in results.datasets:
        cell = results.cells.get((source, named(DP, MODERATE)))
        if source in SETS and cell is not None and cell.tokens:
            counts = dict(last_scores(cell.tokens[0])["class"].value_counts().iter_rows())
            kinds = {"class 0": 0, "class 1": 1, "class 2": 2, "neutral": -1}
            labels = len(cell.runs[0].labels)
            found = (_count(counts.get(one, 0)) if one < labels else None for one in kinds.values())
            printed = (number(NAME, item="supplement", data=source, measure=f"tokens {kind}") for kind in kinds)
            rows.append(((source,), tuple(Entry(*pair) for pair in zip(found, printed, strict=True))))
    titles = ("of label 0", "of label 1", "of label 2", "neutral")
    note = "Ours in the training texts that were used, below paper scale a sample; the paper's in all."
    return Table("Words", "How many words speak for a label", note, ("data",), titles, tuple(rows))


def _count(number_of: int) -> Estimate:
    return Estimate(float(number_of), nan, nan, 1)


def _recorded(results: Results, model: str | None = None) -> list[Cell]:
    """The cells (of one model) whose tokens were recorded, on real texts."""
    cells = results.having(model=model)
    return [cell for cell in cells if cell.tokens and cell.data in SETS]


def claims(results: Results) -> list[Claim]:
    """What the paper says of its results, each as a number above a threshold."""
    moderate, large, small = (named(model, at) for model, at in ((DP, MODERATE), (DP, LARGE), (KEPT_SMALL, LARGE)))

    def gains(model: str, other: str) -> dict[str, Values]:
        both = {s: [results.cells.get((s, name)) for name in (model, other)] for s in results.datasets if s in SETS}
        found = {
            s: [one.columns[CORRECT] for one in pair if one and CORRECT in one.columns] for s, pair in both.items()
        }
        return {source: paired(*pair) for source, pair in found.items() if len(pair) == 2}

    def of(model: str, *, labels: int | None = None) -> dict[str, Cell]:
        return {one.data: one for one in _recorded(results, model) if labels in (None, len(one.runs[0].labels))}

    additive = {f"{source}, ad": one for source, one in of(named(AD, MODERATE)).items()}
    with_small = {source: (one, of(small)[source]) for source, one in of(large).items() if source in of(small)}
    planted = {s: results.cells[s, moderate] for s in PLANTED if (s, moderate) in results.cells}
    weights = {one.data: one.columns[ABOVE] for one in results.having(ABOVE, model=moderate)}
    auroc = "the chance that a telling word has a larger attention score than a neutral one"
    return [
        judge(
            "A small scaling factor hurts accuracy.",
            "section 5, Table 2",
            f"accuracy with lambda {MODERATE:g}, less with {TINY:g}",
            gains(moderate, named(DP, TINY)),
        ),
        judge(
            "With a moderate one, words that speak for a label have larger attention scores than neutral ones.",
            "section 5, Figures 2 to 4",
            auroc,
            {name: shares(one, polar, neutral) for name, one in (of(moderate) | additive).items()},
            threshold=0.5,
        ),
        judge(
            "So they do on synthetic texts trained by plain gradient descent.",
            "supplementary material",
            auroc,
            {name: shares(one, polar, neutral) for name, one in planted.items() if one.tokens},
            threshold=0.5,
        ),
        judge(
            "In a text they have the larger weights.",
            "section 5, Figure 5",
            "the share of pairs of a telling and a neutral word in which the first has the larger weight",
            weights,
            threshold=0.5,
        ),
        judge(
            "With a large one, words of the label that V.W favours have larger scores than those of the other.",
            "section 4.2, Figure 3",
            "the chance that a word of the favoured label has the larger score",
            {name: split_shares(one) for name, one in of(large, labels=2).items()},
            threshold=0.5,
        ),
        judge(
            "Those of the other label fall below the neutral words.",
            "section 5, Figure 3",
            "the chance that a neutral word has a larger score than one of the label that V.W disfavours",
            {name: sunken_shares(one) for name, one in of(large, labels=2).items()},
            threshold=0.5,
        ),
        judge(
            "Accuracy holds all the same.",
            "section 5, Table 2",
            f"{NOTHING_LOST} less the accuracy lost with lambda {LARGE:g} instead of {MODERATE:g}",
            {source: NOTHING_LOST + values for source, values in gains(large, moderate).items()},
        ),
        judge(
            "Keeping V.W small in training brings the words that speak for a label back above the neutral ones.",
            "section 5, supplementary material",
            f"that chance with |V.W| in the loss, less without, at lambda {LARGE:g}",
            {s: shares(kept, polar, neutral) - shares(one, polar, neutral) for s, (one, kept) in with_small.items()},
        ),
        judge(
            "It costs no accuracy.",
            "section 5",
            f"{NOTHING_LOST} less the accuracy lost with |V.W| in the loss",
            {source: NOTHING_LOST + values for source, values in gains(small, large).items()},
        ),
    ]


STUDY = Study(
    name="sun-lu",
    title="Understanding Attention for Text Classification",
    paper="Sun and Lu (2020), Understanding Attention for Text Classification, ACL, aclanthology.org/2020.acl-main.312",
    scales={
        "small": "SST, 20 News I and II; 2,000 training texts of at most 100 words; five scaling factors for dot "
        "attention, three for the other models, the LSTM on SST alone; two planted sets of 2,000 texts; 1 seed",
        "medium": "IMDB as well; 4,000 training texts of at most 100 words; seven scaling factors for dot attention, "
        "three for the other models, the LSTM on SST and 20 News I; six planted sets of 2,000 texts, 2 seeds",
        "paper": "all sets whole, all models with all scaling factors, 3 seeds; planted sets of 12,000 texts, 4 seeds",
    },
    wanted=wanted,
    tables=tables,
    claims=claims,
    figures=figures,
)
