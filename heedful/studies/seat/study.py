"""Hu et al. (2023), SEAT: stable attention, its six baselines, stability and interpretability."""

from collections.abc import Callable, Mapping
from functools import partial

from heedful.battery.questions import Values
from heedful.runs.grid import Planned
from heedful.settings import AuditSettings, DataSettings, Run, TextSettings, TrainingSettings
from heedful.studies.claims import judge, paired
from heedful.studies.jain_wallace.preprocessing import MOST_WORDS, TRAIN_LIMIT, VECTORS
from heedful.studies.seat.figures import figures
from heedful.studies.seat.tables import AGAINST, RADII, SENSITIVE, WORDS, evenness, tables
from heedful.studies.study import Cell, Claim, Results, Study, Wanted

SETS: dict[str, tuple[str, ...]] = {
    "sst2": (),
    "rotten_tomatoes": (),
    "tweeteval_emotion": ("anger", "joy"),
    "tweeteval_hate": (),
}
"""Each set, and the labels that are kept; none named: all."""

BASELINES = ("word_at", "word_iat", "attention_rp", "attention_at", "attention_iat", "seat_code")
FOLLOWERS: dict[str, tuple[str, dict[str, float]]] = {
    "seat": ("seat", {}),
    "seat_all": ("seat_all", {}),
    "seat without stability": ("seat", {"lambda1": 0.0}),
    "seat without topk": ("seat", {"lambda2": 0.0}),
}
"""Methods that start from the vanilla run, with their options."""
LOOKED_AT = ("vanilla", "seat", "seat_all", "seat_code")
"""Methods whose attention stands beside that of other seeds, and is drawn under the three perturbations."""
SHOWN = 50

KEPT, OVERLAP, MAGNITUDE, TELLING = 0.01, 0.8, 1.0, 1.5
"""Accuracy that may be lost; top words that must be kept; powers of ten; largest weight that tells words apart."""
LEAST_JSD = 1e-12
"""Below it, rounding."""


def wanted(scale: str) -> list[Wanted]:
    """Every method on every set, each beside the vanilla run of its seed; four beside other seeds, too."""
    sets = ("sst2", "rotten_tomatoes") if scale == "small" else tuple(SETS)
    encoders = ("bilstm",) if scale == "small" else ("rnn", "bilstm")
    seeds = range(5 if scale == "paper" else 3)
    tests = ("embedding_noise", "embedding_attack", "word_substitution", "rationale", "certificate")
    examples, few = (500, 500) if scale == "paper" else (100, 50)
    audit = AuditSettings(tests=tests, radii=RADII, substitutions=WORDS, examples=examples, shown=0)
    search = AuditSettings(tests=("sensitivity",), examples=few, shown=0)
    look = AuditSettings(tests=("embedding_noise", "word_substitution"), radii=RADII[-1:], shown=SHOWN)
    found = []
    for source in sets:
        for encoder in encoders:
            run = partial(_run, source, encoder, scale)
            vanilla = [run(seed, "vanilla", {}) for seed in seeds]
            runs: dict[str, list[Planned]] = {"vanilla": [Planned(one, None) for one in vanilla]}
            runs |= {method: [Planned(run(seed, method, {}), None) for seed in seeds] for method in BASELINES}
            for name, (method, options) in FOLLOWERS.items():
                runs[name] = [Planned(run(seed, method, options), base) for seed, base in enumerate(vanilla)]
            for name, planned in runs.items():
                for seed, one in enumerate(planned):
                    beside = () if name == "vanilla" else (vanilla[seed],)
                    found.append(Wanted(source, f"{encoder} {name}", one.run, one.base, audit, seeds=beside))
                sensitive = SENSITIVE(f"{encoder} {name}")
                found.append(Wanted(source, sensitive, planned[0].run, planned[0].base, search))
            for name in LOOKED_AT:
                first, *others = runs[name]
                model = AGAINST(f"{encoder} {name}")
                found.append(Wanted(source, model, first.run, first.base, look, seeds=tuple(others)))
    return found


def _run(source: str, encoder: str, scale: str, seed: int, method: str, options: Mapping[str, float]) -> Run:
    full = scale == "paper"
    data = DataSettings(
        source=source,
        only_labels=SETS[source],
        train_limit=TRAIN_LIMIT[scale],
        test_limit=None if full else 1_000,
    )
    follows = method in {name for name, _ in FOLLOWERS.values()}
    training = TrainingSettings(
        method=method,
        options=dict(options),
        epochs=20 if full else 10 if follows else 4,
        learning_rate=1e-3,
        metric="f1",
        selection="paper" if full else "clean",
    )
    network = VECTORS.model_copy(update={"encoder": encoder, "hidden_size": 128 if full else 64})
    text = TextSettings(start_end=True, max_tokens=MOST_WORDS[scale])
    return Run(data=data, text=text, network=network, training=training, seed=seed)


Compared = Callable[[Values, Values], Values]
"""From vanilla's values and a method's on the same texts to what a claim is about."""


def _compared(results: Results, column: str, method: str, compare: Compared) -> dict[str, Values]:
    """Vanilla and the method, compared text by text, wherever both were measured."""
    found = {}
    for cell in results.having(column):
        encoder, _, name = cell.model.partition(" ")
        other = results.cells.get((cell.data, f"{encoder} {method}"))
        if name == "vanilla" and other is not None and column in other.columns:
            found[f"{cell.data}, {encoder}"] = compare(cell.columns[column], other.columns[column])
    return found


def _of(results: Results, method: str, column: str, measure: Callable[[Cell], Values]) -> dict[str, Values]:
    """A measure of the method, wherever the column was measured."""
    cells = [one for one in results.having(column) if one.model.partition(" ")[2] == method]
    return {f"{one.data}, {one.model.split()[0]}": measure(one) for one in cells}


def _magnitudes(vanilla: Values, other: Values) -> Values:
    """How many powers of ten the other's divergence is smaller."""
    return paired(vanilla.clamp_min(LEAST_JSD).log10(), other.clamp_min(LEAST_JSD).log10())


def claims(results: Results) -> list[Claim]:
    """What the paper says of its method, each as a number above a threshold; of the method as defined and as coded."""
    attack, table_1 = "embedding_attack.js_answer", "section 5.2, Table 1"
    gains = partial(_compared, results, compare=paired)
    steadier = "JSD of attention under the attack on embeddings, vanilla less "
    magnitudes = "how many powers of ten the JSD of attention under that attack is smaller than vanilla's"
    overlap, telling = "share of the top seven words that vanilla's attention has too", "largest weight, in even shares"
    return [
        judge(
            "Stable attention predicts as well as vanilla.",
            table_1,
            f"{KEPT} less the accuracy lost",
            {name: KEPT - values for name, values in gains("prediction.correct", "seat").items()},
        ),
        *(
            judge(
                f"It keeps the most attended words ({said}).",
                "section 4, equation 5",
                overlap,
                _of(results, method, "seeds.overlap", lambda cell: cell.columns["seeds.overlap"]),
                threshold=OVERLAP,
            )
            for method, said in AS.items()
        ),
        judge(
            "It is steadier under noise on the embeddings (attention alone trained, as defined).",
            table_1,
            f"{steadier}seat",
            gains(attack, "seat"),
        ),
        judge(
            "It is steadier under noise on the embeddings (everything trained).",
            table_1,
            f"{steadier}seat_all",
            gains(attack, "seat_all"),
        ),
        *(
            judge(
                f"It is steadier by orders of magnitude ({said}).",
                table_1,
                magnitudes,
                _compared(results, attack, method, _magnitudes),
                threshold=MAGNITUDE,
            )
            for method, said in AS.items()
        ),
        *(
            judge(
                f"It is attention that tells words apart ({said}).",
                "section 4",
                telling,
                _of(results, method, "prediction.items", evenness),
                threshold=TELLING,
            )
            for method, said in AS.items()
        ),
        judge(
            "Its answers are steadier, too.",
            table_1,
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


AS = {"seat": "as defined", "seat_code": "as the authors' code trains it"}

STUDY = Study(
    name="seat",
    title="SEAT: Stable and Explainable Attention",
    paper="Hu et al. (2023), SEAT: Stable and Explainable Attention, AAAI, arXiv:2211.12290",
    scales={
        "small": "SST and Rotten Tomatoes; BiLSTM; vanilla, six baselines, SEAT as defined (attention alone, and all), "
        "its two ablations, SEAT as published; 3 seeds; 2,000 training texts of at most 100 words; 100 test "
        "texts, 50 for sensitivity (one seed)",
        "medium": "Emotion and Hate as well; RNN as well; 3,000 training texts of at most 120 words",
        "paper": "all four sets, whole; RNN and BiLSTM; 20 epochs, 5 seeds; 500 test texts (sensitivity: one seed)",
    },
    wanted=wanted,
    tables=tables,
    claims=claims,
    figures=lambda results: figures(results, claims(results)),
)
