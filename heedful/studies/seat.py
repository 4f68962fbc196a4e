"""Hu et al. (2023), SEAT: stable attention, its six baselines, stability and interpretability."""

from collections.abc import Mapping

from heedful.plan import Planned
from heedful.questions import Values
from heedful.report.figure import Figure
from heedful.settings import AuditSettings, DataSettings, Run, TextSettings, TrainingSettings
from heedful.studies.contract import Cell, Claim, Entry, Results, Study, Table, Wanted
from heedful.studies.estimates import entry, judge, paired, score_estimate
from heedful.studies.figures import by_largest_figure, claims_figure, measures_figure
from heedful.studies.lineage import MOST_WORDS, TRAIN_LIMIT, VECTORS
from heedful.studies.published import number

NAME = "seat"
SETS: dict[str, tuple[str, ...]] = {
    "sst2": (),
    "rotten_tomatoes": (),
    "tweeteval_emotion": ("anger", "joy"),
    "tweeteval_hate": (),
}
"""Each set, and the labels that are kept; none named: all."""

BASELINES = ("word_at", "word_iat", "attention_rp", "attention_at", "attention_iat", "seat_code")
ABLATIONS: dict[str, tuple[str, dict[str, float]]] = {
    "seat": ("seat", {}),
    "seat_all": ("seat_all", {}),
    "seat without stability": ("seat", {"lambda1": 0.0}),
    "seat without topk": ("seat", {"lambda2": 0.0}),
}
"""Methods that start from the vanilla run, with their options."""

RADII = (0.001, 0.005, 0.01, 0.05)
WORDS = (1, 2, 3)
AGAINST = "{}, against other seeds".format
KEPT, OVERLAP = 0.01, 0.8
"""Accuracy that stable attention may lose, and the least share of the top seven words that it must keep."""


def wanted(scale: str) -> list[Wanted]:
    """Every method on every set; each that starts from vanilla beside the vanilla run of its seed."""
    sets = ("sst2", "rotten_tomatoes") if scale == "small" else tuple(SETS)
    encoders = ("rnn", "bilstm") if scale == "paper" else ("bilstm",)
    seeds = {"small": 3, "medium": 3, "paper": 5}[scale]
    tests = ("embedding_noise", "embedding_attack", "word_substitution", "rationale", "certificate")
    tests += ("sensitivity",) if scale == "paper" else ()
    examples = {"small": 100, "medium": 100, "paper": 500}[scale]
    audit = AuditSettings(tests=tests, radii=RADII, substitutions=WORDS, examples=examples, shown=0)
    found = []
    for source in sets:
        for encoder in encoders:
            vanilla = [_run(source, encoder, scale, seed, "vanilla", {}) for seed in range(seeds)]
            found += [Wanted(source, f"{encoder} vanilla", run, audit=audit) for run in vanilla]
            for method in BASELINES:
                runs = [_run(source, encoder, scale, seed, method, {}) for seed in range(seeds)]
                found += [Wanted(source, f"{encoder} {method}", run, audit=audit) for run in runs]
            for name, (method, options) in ABLATIONS.items():
                for seed, base in enumerate(vanilla):
                    run = _run(source, encoder, scale, seed, method, options)
                    found.append(Wanted(source, f"{encoder} {name}", run, base, audit, seeds=(base,)))
            stable = [Planned(_run(source, encoder, scale, s, "seat", {}), base) for s, base in enumerate(vanilla)]
            only = AuditSettings(tests=("prediction",), shown=0)
            first, others = vanilla[0], tuple(vanilla[1:])
            found.append(Wanted(source, AGAINST(f"{encoder} vanilla"), first, audit=only, seeds=others))
            name = AGAINST(f"{encoder} seat")
            found.append(Wanted(source, name, stable[0].run, first, only, seeds=tuple(stable[1:])))
    return found


def _run(source: str, encoder: str, scale: str, seed: int, method: str, options: Mapping[str, float]) -> Run:
    full = scale == "paper"
    data = DataSettings(
        source=source,
        only_labels=SETS[source],
        train_limit=TRAIN_LIMIT[scale],
        test_limit=None if full else 1_000,
    )
    training = TrainingSettings(
        method=method,
        options=dict(options),
        epochs=20 if full else 4,
        learning_rate=1e-3,
        metric="f1",
        selection="paper" if full else "clean",
    )
    network = VECTORS.model_copy(update={"encoder": encoder, "hidden_size": 128 if full else 64})
    text = TextSettings(start_end=True, max_tokens=MOST_WORDS[scale])
    return Run(data=data, text=text, network=network, training=training, seed=seed)


def tables(results: Results) -> list[Table]:
    """Tables 1, 8, 9 (embeddings), 2 (interpretability), 3, 10 (words), and the certificates that the paper lacks."""
    return [_embeddings(results), _interpretability(results), _words(results), _certificates(results)]


def _cells(results: Results, *columns: str) -> list[Cell]:
    return [cell for cell in results.having(*columns) if "against" not in cell.model]


def _ending(first: int | float, one: int | float) -> str:
    return "" if one == first else f"_{one:g}"


def _embeddings(results: Results) -> Table:
    rows = []
    for cell in _cells(results, "embedding_attack.js_answer", "embedding_noise.js"):
        for radius in RADII:
            end, printed = _ending(RADII[0], radius), _embedding_numbers(cell, radius)
            name = f"{cell.data} {cell.model} {radius:g}"
            entries = (
                entry(cell.columns[f"embedding_noise.js{end}"], f"{name} noise js"),
                entry(cell.columns[f"embedding_attack.js_answer{end}"], f"{name} js", printed.get("embedding_jsd")),
                entry(cell.columns[f"embedding_attack.tvd_answer{end}"], f"{name} tvd"),
                Entry(None, printed.get("embedding_tvd")),
                Entry(score_estimate(cell, "f1"), printed.get("f1")),
            )
            rows.append(((cell.data, cell.model, f"{radius:g}"), entries))
    note = (
        "JSD of attention and TVD of the answer under Gaussian noise on one word, and under the worst noise on all "
        "that ascent finds. The paper's TVD is a sum over a batch, and of another quantity for vanilla: not comparable."
    )
    columns = ("JSD, one word", "JSD, attack", "TVD, attack", "TVD as printed", "F1")
    return Table("Tables 1, 8 and 9", "Noise on embeddings", note, ("data", "model", "radius"), columns, tuple(rows))


def _embedding_numbers(cell: Cell, radius: float) -> dict[str, float]:
    """What the paper prints of this model at this radius, wherever it does."""
    found = {}
    for measure in ("embedding_jsd", "embedding_tvd", "f1"):
        for item in ("Table 1", "Table 8", "Table 6"):
            said = number(NAME, item=item, data=cell.data, model=cell.model, measure=f"{measure} radius={radius:g}")
            if said is not None:
                found.setdefault(measure, said)
    return found


def _interpretability(results: Results) -> Table:
    rows = []
    for cell in _cells(results, "rationale.comprehensiveness_attention"):
        measured = {
            "comprehensiveness": "rationale.comprehensiveness_attention",
            "its floor": "rationale.comprehensiveness_random",
            "sufficiency": "rationale.sufficiency_attention",
            "its floor (sufficiency)": "rationale.sufficiency_random",
            "sensitivity": "sensitivity.auc_attention",
        }
        entries = tuple(
            entry(
                cell.columns.get(column),
                f"{cell.data} {cell.model} {name}",
                number(NAME, item="Table 2", data=cell.data, model=cell.model, measure=name),
            )
            for name, column in measured.items()
        )
        rows.append(((cell.data, cell.model), entries))
    note = (
        "Ours: means over texts and over rationales of 1, 3, 5, 10 words and a fifth of the text, deleted. The paper's "
        "code empties all texts of a batch at the top words of any, so its sufficiency is near 0 by construction."
    )
    columns = ("comprehensiveness", "random words", "sufficiency", "random words", "sensitivity")
    return Table("Tables 2, 4 and 7", "Interpretability", note, ("data", "model"), columns, tuple(rows))


def _words(results: Results) -> Table:
    rows = []
    for cell in _cells(results, "word_substitution.js"):
        for count in WORDS:
            end = _ending(WORDS[0], count)
            names = ("js", "tvd", "flips", "overlap")
            entries = tuple(
                entry(cell.columns[f"word_substitution.{name}{end}"], f"{cell.data} {cell.model} words {count} {name}")
                for name in names
            )
            rows.append(((cell.data, cell.model, str(count)), entries))
    note = "The paper's tables are for BERT and repeat, but for vanilla, its numbers of another table: none stand here."
    columns = ("JSD", "TVD", "decisions changed", "top-7 overlap")
    return Table("Tables 3 and 10", "Words replaced", note, ("data", "model", "words"), columns, tuple(rows))


def _certificates(results: Results) -> Table:
    rows = []
    for cell in _cells(results, "certificate.linf_zero_sum"):
        radius = cell.columns["certificate.linf_zero_sum"]
        measured = {"l1": cell.columns["certificate.l1_zero_sum"], "l2": cell.columns["certificate.l2_zero_sum"]}
        measured |= {"linf": radius, "share at .01": (radius > 0.01).double(), "share at .05": (radius > 0.05).double()}
        entries = tuple(entry(values, f"{cell.data} {cell.model} {name}") for name, values in measured.items())
        rows.append(((cell.data, cell.model), entries))
    columns = ("radius, l1", "l2", "linf", "certified at .01 (linf)", "certified at .05 (linf)")
    note = "How far weights that keep their sum may be off before the decision can change: exact, text by text."
    return Table(
        "Certificates", "What no perturbation of the weights can change", note, ("data", "model"), columns, tuple(rows)
    )


def claims(results: Results) -> list[Claim]:
    """What the paper says of its method, each as a number above a threshold."""

    def gains(column: str, method: str) -> dict[str, Values]:
        """Vanilla less the method, text by text, wherever both were measured."""
        found = {}
        for cell in results.having(column):
            encoder, _, name = cell.model.partition(" ")
            other = results.cells.get((cell.data, f"{encoder} {method}"))
            if name == "vanilla" and other is not None and column in other.columns:
                found[f"{cell.data}, {encoder}"] = paired(cell.columns[column], other.columns[column])
        return found

    attack = "embedding_attack.js_answer"
    overlaps = {
        f"{cell.data}, {cell.model.split()[0]}": cell.columns["seeds.overlap"]
        for cell in results.having("seeds.overlap")
        if cell.model.endswith(" seat")
    }
    steadier = "JSD of attention under the attack on embeddings, vanilla less "
    return [
        judge(
            "Stable attention predicts as well as vanilla.",
            "section 5.2, Table 1",
            f"{KEPT} less the accuracy lost",
            {name: KEPT - values for name, values in gains("prediction.correct", "seat").items()},
        ),
        judge(
            "It keeps the most attended words.",
            "section 4, equation 5",
            "share of the top seven words that vanilla's attention has too",
            overlaps,
            threshold=OVERLAP,
        ),
        judge(
            "It is steadier under noise on the embeddings (attention alone trained, as defined).",
            "section 5.2, Table 1",
            f"{steadier}seat",
            gains(attack, "seat"),
        ),
        judge(
            "It is steadier under noise on the embeddings (everything trained).",
            "section 5.2, Table 1",
            f"{steadier}seat_all",
            gains(attack, "seat_all"),
        ),
        judge(
            "Its answers are steadier, too.",
            "section 5.2, Table 1",
            "TVD of the answer under that attack, vanilla less seat",
            gains("embedding_attack.tvd_answer", "seat"),
        ),
        judge(
            "It is steadier where words are replaced.",
            "section 5.2, Table 3",
            "JSD of attention with one word replaced, vanilla less seat",
            gains("word_substitution.js", "seat"),
        ),
        judge(
            "Its top words are more necessary.",
            "section 5.3, Table 2",
            "comprehensiveness, seat less vanilla",
            {name: -values for name, values in gains("rationale.comprehensiveness_attention", "seat").items()},
        ),
        judge(
            "Its top words suffice better.",
            "section 5.3, Table 2",
            "sufficiency, vanilla less seat",
            gains("rationale.sufficiency_attention", "seat"),
        ),
    ]


def figures(results: Results) -> list[Figure]:
    """Figure 2 (seeds), and what the tables show of stability."""
    paper = "Hu et al. 2023, {}".format
    seeds = Results(results.scale, {key: c for key, c in results.cells.items() if "against" in key[1]}, {})
    axis = "largest JSD to another seed"
    return [
        *by_largest_figure(seeds, "seeds.max_js", axis, name="figure_2", title="Seeds", source=paper("Figure 2")),
        *measures_figure(
            results,
            {f"embedding_attack.js_answer{_ending(RADII[0], radius)}": f"{radius:g}" for radius in RADII},
            "JSD of attention under the attack, by its radius",
            name="noise",
            title="Noise on embeddings",
            source=paper("Tables 1, 8 and 9"),
        ),
        *claims_figure(
            claims(results)[2:6],
            "steadier than vanilla by",
            name="steadier",
            title="Stable attention less vanilla",
            source=paper("Tables 1 and 3"),
        ),
    ]


STUDY = Study(
    name="seat",
    title="SEAT: Stable and Explainable Attention",
    paper="Hu et al. (2023), SEAT: Stable and Explainable Attention, AAAI, arXiv:2211.12290",
    scales={
        "small": "SST and Rotten Tomatoes; BiLSTM; vanilla, six baselines, SEAT as defined (attention alone, and all), "
        "its two ablations, SEAT as published; 3 seeds; 2,000 training texts of at most 100 words; 100 test texts",
        "medium": "Emotion and Hate as well; 3,000 training texts of at most 120 words",
        "paper": "all four sets, whole; RNN and BiLSTM; 20 epochs, 5 seeds; 500 test texts; and sensitivity",
    },
    wanted=wanted,
    tables=tables,
    claims=claims,
    figures=figures,
)
