"""The tables of Hu et al. (2023): ours next to the paper's, on the scale that the paper prints."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import nan

from heedful.battery.question import Values
from heedful.measures import Estimate
from heedful.papers.claim_rule import entry, score_estimate
from heedful.papers.published import number
from heedful.papers.reproduction import MINILM, Cell, Entry, Results, Table
from heedful.papers.seat.claims import (
    ALL_TEXTS,
    ATTACK,
    BASELINES,
    CERTIFICATE,
    CLAMPED,
    CODE_RADIUS,
    COMPREHENSIVENESS,
    DEFINITION,
    DROP,
    ITEMS,
    LARGEST,
    NAME,
    NOISE,
    OTHER_SEEDS,
    OVERLAP,
    RADII,
    SEAT,
    SEAT_ALL,
    SEAT_CODE,
    SENSITIVITY,
    SENSITIVITY_AREA,
    SUFFICIENCY,
    TO_COMPANION,
    TRAINING_RADIUS,
    VANILLA,
    WITHOUT_STABILITY,
    WITHOUT_TOPK,
    WORDS,
    clamped_radii,
    largest_relative_to_uniform,
    printed_comprehensiveness,
    printed_tvd,
    suffix,
    trained_at,
)

SETS = ("tweeteval_emotion", "sst2", "tweeteval_hate", "rotten_tomatoes")
ENCODERS = {"rnn": "rnn", "bilstm": "bilstm", MINILM: "bert"}
"""Ours, and the paper's next to it."""
METHODS = {**{method: method for method in (VANILLA, *BASELINES)}, SEAT_CODE: "seat", SEAT: "", SEAT_ALL: ""}
"""Ours, and whose printed numbers stand next to it: the paper's SEAT next to what its code trains."""
ABLATED = {
    VANILLA: "vanilla",
    WITHOUT_TOPK: "seat without topk",
    WITHOUT_STABILITY: "seat without stability",
    SEAT_CODE: "seat",
}
MODEL = ("data", "encoder", "method")


def tables(results: Results) -> list[Table]:
    """Tables 1 to 10 in order, statements with a number, and what the paper lacks."""
    return [
        _noise(results, "Table 1", RADII[:1]),
        _interpretability(results),
        _words(results, "Table 3", WORDS[:1]),
        *(_ablation(results, name) for name in ("Table 4",)),
        _data(results),
        *(_ablation(results, name) for name in ("Table 6", "Table 7")),
        _noise(results, "Table 8", tuple(radius for radius in RADII[1:] if radius != CODE_RADIUS)),
        _interpretability_by_radius(results),
        _words(results, "Table 10", WORDS[1:]),
        _statements(results),
        _definition(results),
        _concentration(results),
        _certificates(results),
    ]


@dataclass(frozen=True)
class _Model:
    """One row of a table: what was measured of a model, by role, and what the paper prints of it."""

    results: Results
    data: str
    encoder: str
    method: str
    printed: str

    def cell(self, role: str = "") -> Cell | None:
        return self.results.find(data=self.data, encoder=self.encoder, method=self.method, role=role)

    def values(self, column: str, role: str = "") -> Values | None:
        cell = self.cell(role)
        return cell.columns.get(column) if cell else None

    def paper(self, item: str, measure: str) -> float | None:
        model = f"{ENCODERS[self.encoder]} {self.printed}"
        return number(NAME, item=item, data=self.data, model=model, measure=measure)

    def attacked(self, radius: float, *, clamp: bool = False) -> tuple[Values | None, Values | None]:
        """JSD of attention and the printed TVD under the attack, of the model trained at it if there is one."""
        clamped, trained = {CLAMPED: clamped_radii(self.method)}, {trained_at(radius): (radius,), "": RADII}
        for role, radii in (clamped if clamp else trained).items():
            if (cell := self.cell(role)) is not None and radius in radii:
                ending = suffix(radii, radius)
                return cell.columns.get(f"{ATTACK}{ending}"), printed_tvd(cell, f"{DROP}{ending}")
        return None, None

    def f1(self, paper: float | None) -> Entry:
        cell = self.cell()
        return Entry(score_estimate(cell, "macro_f1") if cell else None, paper)


def _rows(
    results: Results,
    entries: Callable[[_Model], tuple[Entry, ...]],
    *,
    head: tuple[str, ...] = (),
    sets: Sequence[str] = SETS,
    methods: Mapping[str, str] = METHODS,
) -> list[tuple[tuple[str, ...], tuple[Entry, ...]]]:
    """A row for every model that we measured or the paper prints, in the paper's order."""
    rows = []
    for data, encoder, (method, printed) in product(sets, ENCODERS, methods.items()):
        numbers = entries(_Model(results, data, encoder, method, printed))
        if any(each.ours is not None or each.paper is not None for each in numbers):
            stands_for = "" if encoder == ENCODERS[encoder] else f" (paper: {ENCODERS[encoder]})"
            rows.append(((*head, data, f"{encoder}{stands_for}", method), numbers))
    return rows


NOISE_COLUMNS = (
    "JSD",
    f"JSD at {CODE_RADIUS:g}",
    "JSD, as the code attacks",
    "JSD, one noisy word",
    "TVD, batch sum",
    f"TVD at {CODE_RADIUS:g}, batch sum",
    "TVD, as the code attacks, batch sum",
    "TVD, one noisy word, batch sum",
    "macro F1",
)


def _noise(results: Results, name: str, radii: Sequence[float]) -> Table:
    note = (
        "JSD of attention and TVD of the prediction. Ours are under the worst noise on all words that ascent finds, at "
        "the printed radius; at the radius at which the published code, as far as it shows, attacks all methods but "
        "vanilla; at that radius (vanilla: the printed one) with each coordinate clamped to [0, 1], as the code does; "
        "and under Gaussian noise on one word, as the paper's text says. The paper's number is the same in each. TVD "
        "is on the paper's scale, a sum over a batch (32 texts, BERT 8), and for vanilla it is another quantity, which "
        "is 16 where nothing moves: vanilla's rows cannot be compared with the others. The paper's SEAT is shown next "
        "to what its code trains (seat_code); seat and seat_all are the definition. F1 is a mean over both classes, as "
        "in the paper's code, on the whole test set."
    )
    rows = [
        row
        for radius in radii
        for row in _rows(results, lambda model, at=radius: _noise_entries(model, name, at), head=(f"{radius:g}",))
    ]
    return Table(name, "Noise on embeddings", note, ("radius", *MODEL), NOISE_COLUMNS, tuple(rows))


def _noise_entries(model: _Model, item: str, radius: float) -> tuple[Entry, ...]:
    jsd, tvd, f1 = (model.paper(item, f"{name} radius={radius:g}") for name in ("embedding_jsd", "embedding_tvd", "f1"))
    is_vanilla, cell = model.method == VANILLA, model.cell()
    printed, at_code = model.attacked(radius), model.attacked(CODE_RADIUS)
    as_code = model.attacked(radius if is_vanilla else CODE_RADIUS, clamp=True)
    ending = suffix(RADII, radius)
    one_word = (model.values(f"{NOISE}{ending}"), cell and printed_tvd(cell, f"embedding_noise.drop{ending}"))
    papers = ((jsd, tvd), (None, None) if is_vanilla else (jsd, tvd), (jsd, tvd), (jsd, tvd))
    pairs = list(zip((printed, at_code, as_code, one_word), papers, strict=True))
    return (
        *(entry(ours[0], paper[0]) for ours, paper in pairs),
        *(entry(ours[1], paper[1]) for ours, paper in pairs),
        model.f1(f1),
    )


INTERPRETABILITY = (
    "comprehensiveness, batch sum",
    "sufficiency",
    "sensitivity",
    "comprehensiveness",
    "comprehensiveness, random words",
    "sufficiency, random words",
    "sensitivity, random words",
)


def _interpretability(results: Results) -> Table:
    note = (
        "Ours: means over texts and over rationales of 1, 3, 5, 10 words and a fifth of the text, deleted. The paper's "
        "code empties all texts of a batch at the top words of any of them, which is all words: its comprehensiveness "
        "is the effect of all words, summed over the batch, and its sufficiency is near 0 by construction. Its "
        "sensitivity measures something else, too. The paper heads the column of Emotion IMDB."
    )
    rows = _rows(results, lambda model: _interpretability_entries(model, "Table 2"))
    return Table("Table 2", "Interpretability", note, MODEL, INTERPRETABILITY, tuple(rows))


def _interpretability_by_radius(results: Results) -> Table:
    note = (
        "The radius is that of training: Word-AT, Word-iAT and SEAT are trained once for each in the paper, and ours "
        f"at {TRAINING_RADIUS:g} alone, so ours stand there; see Table 2."
    )
    rows = [
        row
        for radius in (0.005, TRAINING_RADIUS, 0.05)
        for row in _rows(
            results,
            lambda model, at=radius: _interpretability_entries(model, "Table 9", at)[:3],
            head=(f"{radius:g}",),
        )
    ]
    return Table("Table 9", "Interpretability, by radius", note, ("radius", *MODEL), INTERPRETABILITY[:3], tuple(rows))


def _interpretability_entries(model: _Model, item: str, radius: float | None = None) -> tuple[Entry, ...]:
    at, shown = ("", True) if radius is None else (f" radius={radius:g}", radius == TRAINING_RADIUS)
    cell = model.cell()
    ours = (
        cell and printed_comprehensiveness(cell),
        model.values(SUFFICIENCY("attention")),
        model.values(SENSITIVITY_AREA("attention"), SENSITIVITY),
    )
    names = ("comprehensiveness", "sufficiency", "sensitivity")
    others = (
        model.values(COMPREHENSIVENESS("attention")),
        model.values(COMPREHENSIVENESS("random")),
        model.values(SUFFICIENCY("random")),
        model.values(SENSITIVITY_AREA("random"), SENSITIVITY),
    )
    return (
        *(
            entry(each if shown else None, model.paper(item, f"{name}{at}"))
            for each, name in zip(ours, names, strict=True)
        ),
        *map(entry, others),
    )


def _words(results: Results, name: str, counts: Sequence[int]) -> Table:
    note = (
        "The paper's tables are of BERT, next to which stands our MiniLM, where it is at hand. Except for vanilla they "
        "repeat the numbers of Table 8 at radius .05, so they cannot be measurements of replaced words. TVD is a mean "
        "over texts, and a sum over a batch on the paper's scale; F1 is that of the texts as they are."
    )
    columns = ("JSD", "TVD, batch sum", "macro F1", "TVD", "decisions changed", "top-7 overlap")
    rows = [
        row
        for count in counts
        for row in _rows(results, lambda model, n=count: _word_entries(model, name, n), head=(str(count),))
    ]
    return Table(name, "Words replaced", note, ("words", *MODEL), columns, tuple(rows))


def _word_entries(model: _Model, item: str, count: int) -> tuple[Entry, ...]:
    cell, ending = model.cell(), suffix(WORDS, count)
    js, tvd, flips, overlap, drop = (
        f"word_substitution.{measure}{ending}" for measure in ("js", "tvd", "flips", "overlap", "drop")
    )
    printed = [model.paper(item, f"{measure} words={count}") for measure in ("word_jsd", "word_tvd", "f1")]
    return (
        entry(model.values(js), printed[0]),
        entry(cell and printed_tvd(cell, drop), printed[1]),
        model.f1(printed[2]),
        *(entry(model.values(column)) for column in (tvd, flips, overlap)),
    )


ABLATIONS: dict[str, tuple[str, ...]] = {
    "Table 4": ("sufficiency", "embedding_tvd", "f1"),
    "Table 6": ("embedding_jsd", "embedding_tvd", "f1"),
    "Table 7": ("comprehensiveness", "sufficiency", "sensitivity"),
}
ABLATION_COLUMNS = {
    "embedding_jsd": "JSD",
    "embedding_tvd": "TVD, batch sum",
    "f1": "macro F1",
    "comprehensiveness": "comprehensiveness, batch sum",
}


def _ablation(results: Results, name: str) -> Table:
    note = (
        f"What the repository trains, ablated, at radius {TRAINING_RADIUS:g}. Without its top-k term it is Word-AT; "
        "without its stability term the label is predicted on the texts as they are alone. Most of the rows that the "
        "paper prints for one term are rows of its other tables: see the list of copies."
    )
    measures = ABLATIONS[name]

    def entries(model: _Model) -> tuple[Entry, ...]:
        at, interpretability = (
            f" radius={TRAINING_RADIUS:g}",
            _interpretability_entries(model, "Table 7", TRAINING_RADIUS),
        )
        jsd, tvd = model.attacked(TRAINING_RADIUS)
        ours = {
            "embedding_jsd": entry(jsd),
            "embedding_tvd": entry(tvd),
            "f1": model.f1(None),
            **dict(zip(ABLATIONS["Table 7"], interpretability, strict=False)),
        }
        return tuple(Entry(ours[measure].ours, model.paper(name, f"{measure}{at}")) for measure in measures)

    columns = tuple(ABLATION_COLUMNS.get(measure, measure) for measure in measures)
    rows = _rows(results, entries, sets=("sst2",), methods=ABLATED)
    return Table(name, "Without one of the terms", note, MODEL, columns, tuple(rows))


def _data(results: Results) -> Table:
    columns = {
        "training texts, class 0": "train_size class 0",
        "training texts, class 1": "train_size class 1",
        "test texts, class 0": "test_size class 0",
        "test texts, class 1": "test_size class 1",
        "average length": "average_length",
    }
    rows = []
    for data in SETS:
        cell = next(iter(results.select("prediction.label", data=data, method=VANILLA, role=ALL_TEXTS)), None)
        ours = {f"test_size class {label}": _count(cell, label) for label in (0, 1)}
        rows.append(((data,), tuple(
            Entry(ours.get(measure), number(NAME, item="Table 5", data=data, measure=measure))
            for measure in columns.values()
        )))  # fmt: skip
    note = (
        "The paper's whole sets, whose class sizes it prints the other way round for SST and Hate, and its length of "
        "Emotion in characters; ours of the test texts. What was run says how many texts ours were trained on."
    )
    return Table("Table 5", "Data", note, ("data",), tuple(columns), tuple(rows))


def _count(cell: Cell | None, label: int) -> Estimate | None:
    """How many test texts have the label; all seeds are tested on the same."""
    if cell is None:
        return None
    labels = cell.columns["prediction.label"][0]
    return Estimate(float((labels == label).sum()), nan, nan, 1)


def _statements(results: Results) -> Table:
    rows = [
        (
            ("Appendix, Figure 5", f"the overlapping rate reaches 93 percent ({data})"),
            (
                entry(
                    model.values(f"embedding_attack.overlap_answer{suffix(RADII, TRAINING_RADIUS)}"),
                    number(NAME, item="Figure 5", data=data, model="seat", measure="top_k_overlap"),
                ),
            ),
        )
        for data in ("sst2", "rotten_tomatoes")
        for model in (_Model(results, data, "bilstm", SEAT_CODE, "seat"),)
    ]
    note = (
        "The overlap of the seven most attended words: in the code that of a model with itself under the attack that "
        "it is trained against, which is ours (BiLSTM, test texts)."
    )
    return Table("Sized statements", "Sentences with a number", note, ("place", "statement"), ("share",), tuple(rows))


def _definition(results: Results) -> Table:
    rows = [
        (
            (cell.data, cell.encoder, cell.method),
            (
                entry(cell.columns.get(TO_COMPANION)),
                entry(cell.columns.get(OVERLAP)),
                entry(cell.columns.get(ATTACK)),
                entry(largest_relative_to_uniform(cell)),
                Entry(score_estimate(cell, "macro_f1")),
            ),
        )
        for cell in results.select(LARGEST, ITEMS, role=DEFINITION)
    ]
    note = (
        "Equation 6, with encoder and head of the vanilla model, from vanilla's own attention and from a random one, "
        "by radius of the perturbed weights and weight of the top-k term (1,000 in the paper, and where none is named)."
    )
    columns = ("JSD to vanilla", "top-7 overlap with vanilla", "JSD, attack at 0.01", RELATIVE, "macro F1")
    return Table("SEAT as defined", "Start, radius, weight", note, ("data", "encoder", "variant"), columns, tuple(rows))


RELATIVE = "largest weight, relative to uniform"


def _concentration(results: Results) -> Table:
    rows = []
    for cell in results.select(LARGEST, ITEMS):
        with_seeds = results.find(data=cell.data, encoder=cell.encoder, method=cell.method, role=OTHER_SEEDS)
        entries = (
            entry(largest_relative_to_uniform(cell)),
            entry(cell.columns.get(OVERLAP)),
            entry(cell.columns.get(TO_COMPANION)),
            entry(with_seeds.columns.get(TO_COMPANION) if with_seeds else None),
        )
        rows.append(((cell.data, cell.encoder, cell.method), entries))
    note = (
        "The largest weight of a text relative to uniform is 1 where attention gives all words the same weight; such "
        "attention is as stable as attention can be."
    )
    columns = (RELATIVE, "top-7 overlap with vanilla", "JSD to vanilla", "JSD to another seed")
    return Table("What attention looks like", "How concentrated it is", note, MODEL, columns, tuple(rows))


def _certificates(results: Results) -> Table:
    rows = []
    for cell in results.select(CERTIFICATE("linf"), role=ALL_TEXTS):
        radius = cell.columns[CERTIFICATE("linf")]
        measures = [cell.columns[CERTIFICATE(norm)] for norm in ("l1", "l2", "linf")]
        measures += [(radius > least).double() for least in (0.01, 0.05)]
        rows.append(((cell.data, cell.encoder, cell.method), tuple(map(entry, measures))))
    columns = ("radius, l1", "l2", "linf", "certified at .01 (linf)", "certified at .05 (linf)")
    note = "How far attention, as a distribution, may be off before the decision can change: exact, text by text."
    return Table("Certificates", "What no perturbation of the weights can change", note, MODEL, columns, tuple(rows))
