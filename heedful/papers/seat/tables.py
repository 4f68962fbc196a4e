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
from heedful.papers.seat import claims as seat

SETS = ("tweeteval_emotion", "sst2", "tweeteval_hate", "rotten_tomatoes")
ENCODERS = {"rnn": "rnn", "bilstm": "bilstm", MINILM: "bert"}
"""Ours, and the paper's next to it."""
METHODS = {method: method for method in (seat.VANILLA, *seat.BASELINES)}
METHODS |= {seat.SEAT_CODE: "seat", seat.SEAT: "", seat.SEAT_ALL: ""}
"""Ours, and whose printed numbers stand next to it: the paper's SEAT next to what its code trains."""
ABLATED = {seat.VANILLA: "vanilla", seat.WITHOUT_TOPK: "seat without topk"}
ABLATED |= {seat.WITHOUT_STABILITY: "seat without stability", seat.SEAT_CODE: "seat"}
MODEL = ("data", "encoder", "method")
RELATIVE = "largest weight, relative to uniform"


@dataclass(frozen=True)
class _Model:
    """One row of a table: what was measured of a model, by role."""

    results: Results
    data: str
    encoder: str
    method: str

    def cell(self, role: str = "") -> Cell | None:
        return self.results.find(data=self.data, encoder=self.encoder, method=self.method, role=role)

    def values(self, column: str, role: str = "") -> Values | None:
        cell = self.cell(role)
        return cell.columns.get(column) if cell else None

    def printed_tvd(self, column: str, role: str = "") -> Values | None:
        cell = self.cell(role)
        return seat.printed_tvd(cell, column) if cell else None

    def attacked(self, measure: str, radius: float, *, clamp: bool = False) -> Values | None:
        """JSD or printed TVD ("js", "tvd") under the attack: of the model trained at that radius if there is one."""
        roles = {seat.trained_at(radius): (radius,), "": seat.RADII}
        for role, radii in ({seat.CLAMPED: seat.clamped_radii(self.method)} if clamp else roles).items():
            if radius in radii and self.cell(role) is not None:
                ending = seat.suffix(radii, radius)
                attack, drop = f"{seat.ATTACK}{ending}", f"{seat.DROP}{ending}"
                return self.values(attack, role) if measure == "js" else self.printed_tvd(drop, role)
        return None

    def in_code(self, radius: float) -> float:
        """The radius at which the published code, as far as it shows, attacks this method."""
        return radius if self.method == seat.VANILLA else seat.CODE_RADIUS

    def f1(self) -> Estimate | None:
        cell = self.cell()
        return score_estimate(cell, "macro_f1") if cell else None

    def emptied(self) -> Values | None:
        cell = self.cell()
        return seat.printed_comprehensiveness(cell) if cell else None


Columns = tuple[tuple[str, str, Callable[[_Model, float], Values | Estimate | None]], ...]
"""Of each column the title, what the paper's number is called ("": it has none), and ours, at a radius or a count."""

JSD = ("JSD", "embedding_jsd", lambda model, radius: model.attacked("js", radius))
TVD = ("TVD, batch sum", "embedding_tvd", lambda model, radius: model.attacked("tvd", radius))
F1 = ("macro F1", "f1", lambda model, _: model.f1())
NOISE: Columns = (
    JSD,
    ("JSD, the code's radius", JSD[1], lambda model, radius: model.attacked("js", model.in_code(radius))),
    ("JSD, and its clamp", JSD[1], lambda model, radius: model.attacked("js", model.in_code(radius), clamp=True)),
    ("JSD, one noisy word", JSD[1], lambda model, radius: model.values(f"{seat.NOISE}{_ending(radius)}")),
    TVD,
    ("TVD, the code's radius", TVD[1], lambda model, radius: model.attacked("tvd", model.in_code(radius))),
    ("TVD, and its clamp", TVD[1], lambda model, radius: model.attacked("tvd", model.in_code(radius), clamp=True)),
    ("TVD, one noisy word", TVD[1], lambda model, radius: model.printed_tvd(f"embedding_noise.drop{_ending(radius)}")),
    F1,
)
COMPREHENSIVENESS = ("comprehensiveness, batch sum", "comprehensiveness", lambda model, _: model.emptied())
SUFFICIENCY = ("sufficiency", "sufficiency", lambda model, _: model.values(seat.SUFFICIENCY("attention")))
SENSITIVITY = (
    "sensitivity",
    "sensitivity",
    lambda model, _: model.values(seat.SENSITIVITY_AREA("attention"), seat.SENSITIVITY),
)
INTERPRETABILITY: Columns = (COMPREHENSIVENESS, SUFFICIENCY, SENSITIVITY)
OWN: Columns = (
    ("comprehensiveness", "", lambda model, _: model.values(seat.COMPREHENSIVENESS("attention"))),
    ("its random words", "", lambda model, _: model.values(seat.COMPREHENSIVENESS("random"))),
    ("sufficiency, random words", "", lambda model, _: model.values(seat.SUFFICIENCY("random"))),
    ("sensitivity, random words", "", lambda model, _: model.values(seat.SENSITIVITY_AREA("random"), seat.SENSITIVITY)),
)


def _replaced(measure: str) -> Callable[[_Model, float], Values | None]:
    return lambda model, count: model.values(f"word_substitution.{measure}{seat.suffix(seat.WORDS, count)}")


WORDS: Columns = (
    ("JSD", "word_jsd", _replaced("js")),
    (
        "TVD, batch sum",
        "word_tvd",
        lambda model, count: model.printed_tvd(f"word_substitution.drop{seat.suffix(seat.WORDS, count)}"),
    ),
    F1,
    ("TVD", "", _replaced("tvd")),
    ("decisions changed", "", _replaced("flips")),
    ("top-7 overlap", "", _replaced("overlap")),
)


def _ending(radius: float) -> str:
    return seat.suffix(seat.RADII, radius)


def tables(results: Results) -> list[Table]:
    """Tables 1 to 10 in order, statements with a number, and what the paper lacks."""
    at, later = seat.TRAINING_RADIUS, (0.005, 0.01, 0.05)
    by_radius: Columns = tuple(
        (title, printed, lambda model, radius, ours=ours: ours(model, radius) if radius == at else None)
        for title, printed, ours in INTERPRETABILITY
    )
    noise = (
        "Ours are under the worst noise on all words that ascent finds: at the printed radius; at the radius that the "
        f"published code, as far as it shows, has for all methods but vanilla, {seat.CODE_RADIUS:g}; with its clamp to "
        "[0, 1], too; and under Gaussian noise on one word, as the paper's text says. TVD is a sum over a batch, for "
        "vanilla of another quantity, 16 where nothing moves. The paper's SEAT is next to what its code trains."
    )
    rationales = (
        "Ours: means over texts and over rationales of 1, 3, 5, 10 words and a fifth of the text, deleted; next to "
        "them the effect of all words, which is what the paper's code sums over a batch. Its sufficiency is near 0 by "
        "construction, and its sensitivity measures something else."
    )
    words = "The paper's are of BERT and, but for vanilla's, of Table 8 at radius .05. F1 is of the texts as they are."
    ablation = "What the repository trains, ablated, at radius .01. Without its top-k term it is Word-AT."
    title, sst = "Without one of the terms", {"by": "radius", "settings": (at,), "sets": ("sst2",), "methods": ABLATED}
    made = [
        _table(results, "Table 1", "Noise on embeddings", noise, NOISE, by="radius", settings=seat.RADII[:1]),
        _table(results, "Table 2", "Interpretability", rationales, INTERPRETABILITY + OWN),
        _table(results, "Table 3", "A word replaced", words, WORDS, by="words", settings=seat.WORDS[:1]),
        _table(results, "Table 4", title, ablation, (SUFFICIENCY, TVD, F1), **sst),
        _data(results),
        _table(results, "Table 6", title, ablation, (JSD, TVD, F1), **sst),
        _table(results, "Table 7", title, ablation, INTERPRETABILITY, **sst),
        _table(results, "Table 8", "Noise on embeddings", noise, NOISE, by="radius", settings=later),
        _table(results, "Table 9", "By radius of training", rationales, by_radius, by="radius", settings=later),
        _table(results, "Table 10", "Words replaced", words, WORDS, by="words", settings=seat.WORDS[1:]),
        _statements(results),
        _attention(results, "SEAT as defined", seat.DEFINITION),
        _attention(results, "What attention looks like", ""),
        _certificates(results),
    ]
    return [table for table in made if table.rows]


def _table(
    results: Results,
    name: str,
    title: str,
    note: str,
    columns: Columns,
    *,
    by: str = "",
    settings: Sequence[float] = (nan,),
    sets: Sequence[str] = SETS,
    methods: Mapping[str, str] = METHODS,
) -> Table:
    """A row for every model that we measured or the paper prints, in the paper's order; at each of the settings."""
    rows = []
    for at, data, encoder, (method, printed) in product(settings, sets, ENCODERS, methods.items()):
        model, ending, theirs = _Model(results, data, encoder, method), f" {by}={at:g}" if by else "", ENCODERS[encoder]
        paper = {
            measure: number(seat.NAME, item=name, data=data, model=f"{theirs} {printed}", measure=f"{measure}{ending}")
            for measure in dict.fromkeys(measure for _, measure, _ in columns if measure and printed)
        }
        entries = tuple(_entry(ours(model, at), paper.get(measure)) for _, measure, ours in columns)
        if any(each.ours is not None or each.paper is not None for each in entries):
            about = (data, encoder if encoder == theirs else f"{encoder} (paper: {theirs})", method)
            rows.append(((f"{at:g}", *about) if len(settings) > 1 else about, entries))
    head = (by, *MODEL) if len(settings) > 1 else MODEL
    return Table(name, title, note, head, tuple(title for title, _, _ in columns), tuple(rows))


def _entry(ours: Values | Estimate | None, paper: float | None) -> Entry:
    return Entry(ours, paper) if ours is None or isinstance(ours, Estimate) else entry(ours, paper)


def _data(results: Results) -> Table:
    parts = {"training": "train_size", "test": "test_size"}
    columns = {f"{part} texts, class {n}": f"{size} class {n}" for part, size in parts.items() for n in (0, 1)}
    columns |= {"average length": "average_length"}
    rows = []
    for data in SETS:
        cells = results.select("prediction.label", data=data, method=seat.VANILLA, role=seat.ALL_TEXTS)
        # Every seed is tested on the same texts.
        ours = {
            f"test_size class {n}": Estimate(float((cells[0].columns["prediction.label"][0] == n).sum()), nan, nan, 1)
            for n in (0, 1)
            if cells
        }
        printed = {
            measure: number(seat.NAME, item="Table 5", data=data, measure=measure) for measure in columns.values()
        }
        rows.append(((data,), tuple(Entry(ours.get(measure), paper) for measure, paper in printed.items())))
    note = "The paper prints the classes of SST and Hate the other way round, and Emotion's length in characters."
    return Table("Table 5", "Data", note, ("data",), tuple(columns), tuple(rows))


def _statements(results: Results) -> Table:
    column = f"embedding_attack.overlap_answer{_ending(seat.TRAINING_RADIUS)}"
    rows = [
        (
            ("Appendix, Figure 5", f"the overlapping rate reaches 93 percent ({data}, {encoder})"),
            (
                entry(
                    _Model(results, data, encoder, seat.SEAT_CODE).values(column),
                    number(seat.NAME, item="Figure 5", data=data, model="seat", measure="top_k_overlap"),
                ),
            ),
        )
        for data in ("sst2", "rotten_tomatoes")
        for encoder in ("rnn", "bilstm")
    ]
    note = "Of the top seven words: in the code of a model with itself under its attack, and so is ours, on test texts."
    return Table("Sized statements", "Sentences with a number", note, ("place", "statement"), ("share",), tuple(rows))


def _attention(results: Results, name: str, role: str) -> Table:
    rows = []
    for cell in results.select(seat.LARGEST, seat.ITEMS, role=role):
        attack = cell.columns.get(seat.ATTACK if role else f"{seat.ATTACK}{_ending(seat.TRAINING_RADIUS)}")
        among_seeds = _Model(results, cell.data, cell.encoder, cell.method).values(seat.TO_COMPANION, seat.ALL_TEXTS)
        own = (
            seat.largest_relative_to_uniform(cell),
            cell.columns.get(seat.OVERLAP),
            cell.columns.get(seat.TO_COMPANION),
        )
        entries = (*map(entry, (*own, among_seeds, attack)), Entry(score_estimate(cell, "macro_f1")))
        rows.append(((cell.data, cell.encoder, cell.method), entries))
    note = "The largest weight relative to uniform is 1 where all words have the same: as stable as attention can be."
    if role:
        note = "Equation 6 from vanilla's own attention and from a random one, by radius and weight of the top-k term."
    columns = ("top-7 overlap with vanilla", "JSD to vanilla", "JSD to another seed", "JSD, attack at 0.01", "macro F1")
    return Table(name, "Concentration", note, MODEL, (RELATIVE, *columns), tuple(rows))


def _certificates(results: Results) -> Table:
    rows = []
    for cell in results.select(seat.CERTIFICATE("linf"), role=seat.ALL_TEXTS):
        radius = cell.columns[seat.CERTIFICATE("linf")]
        measures = [cell.columns[seat.CERTIFICATE(norm)] for norm in ("l1", "l2", "linf")]
        measures += [(radius > least).double() for least in (0.01, 0.05)]
        rows.append(((cell.data, cell.encoder, cell.method), tuple(map(entry, measures))))
    columns = ("radius, l1", "l2", "linf", "certified at .01 (linf)", "certified at .05 (linf)")
    note = "How far attention, as a distribution, may be off before the decision can change: exact, text by text."
    return Table("Certificates", "What no perturbation of the weights can change", note, MODEL, columns, tuple(rows))
