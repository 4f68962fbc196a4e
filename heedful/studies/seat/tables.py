"""The tables of Hu et al. (2023): ours as means over texts, and beside them on the scale that the paper prints."""

from collections.abc import Sequence

import torch
from torch.nn.functional import softplus

from heedful.battery.questions import Values
from heedful.battery.stability_measures import suffixes
from heedful.studies.claims import entry, score_estimate
from heedful.studies.published import number
from heedful.studies.study import Cell, Entry, Results, Table

RADII = (0.001, 0.005, 0.01, 0.05)
WORDS = (1, 2, 3)
ABLATION_RADIUS = 0.01
AGAINST = "{}, against other seeds".format
"""What the cell is called in which a model stands beside the same from other seeds; elsewhere it is beside vanilla."""
SENSITIVE = "{}, sensitivity".format
"""What the cell is called in which a model's sensitivity was searched for, on fewer texts than all else."""
BATCH = 32
"""Texts of a batch, over which the paper's numbers are sums."""


def tables(results: Results) -> list[Table]:
    """Tables 1 to 4 and 6 to 10, and two that the paper lacks: what attention looks like, and certificates."""
    return [
        _embeddings(results),
        _interpretability(results),
        _words(results),
        _ablation(results),
        _looks(results),
        _certificates(results),
    ]


def ending(asked: Sequence[int | float], one: int | float) -> str:
    """What stands behind a measure's name at one of the radii, or numbers of words, that were asked for.

    >>> ending(RADII, 0.001), ending(RADII, 0.05)
    ('', '_0.05')
    """
    return next(end for end, value in suffixes(asked).items() if value == one)


def printed_tvd(cell: Cell, radius: float) -> Values | None:
    """What the paper prints as TVD of this model, reconstructed from ours; None where it was not measured.

    For all methods but vanilla the sum over a batch of |dp| / 2. For vanilla that of softplus(p') - p p', a
    cross-entropy that takes the new probability for a logit: 16 for a batch in which nothing moves, if half of its
    texts are surely of each class.
    """
    drop = cell.columns.get(f"embedding_attack.drop_answer{ending(RADII, radius)}")
    if drop is None:
        return None
    if not cell.model.endswith(" vanilla"):
        return BATCH * drop.abs() / 2
    sure, positive = cell.columns["prediction.probability"], cell.columns["prediction.predicted"] == 1
    before = torch.where(positive, sure, 1 - sure)
    after = torch.where(positive, before - drop, before + drop)
    return BATCH * (softplus(after) - before * after)


def printed_comprehensiveness(cell: Cell) -> Values | None:
    """What the paper prints as comprehensiveness: its code empties all words, and sums |dp| / 2 over a batch."""
    emptied = cell.columns.get("rationale.emptied")
    return None if emptied is None else BATCH * emptied.abs() / 2


def evenness(cell: Cell) -> Values:
    """The largest weight of a text in even shares: 1 where all words have the same."""
    return cell.columns["prediction.max_attention"] * cell.columns["prediction.items"]


def _cells(results: Results, *columns: str) -> list[Cell]:
    return [cell for cell in results.having(*columns) if "," not in cell.model]


def _paper(cell: Cell, measure: str, *items: str) -> float | None:
    """The paper's number in the first of these tables that has it; its SEAT is `seat` and `seat_code` alike."""
    model = cell.model.replace("seat_code", "seat")
    said = (number("seat", item=item, data=cell.data, model=model, measure=measure) for item in items)
    return next((one for one in said if one is not None), None)


def _embeddings(results: Results) -> Table:
    rows = []
    for cell in _cells(results, "embedding_attack.js_answer", "embedding_noise.js"):
        for radius in RADII:
            end, name = ending(RADII, radius), f"{cell.data} {cell.model} {radius:g}"
            js, tvd, f1 = (
                _paper(cell, f"{measure} radius={radius:g}", "Table 1", "Table 8")
                for measure in ("embedding_jsd", "embedding_tvd", "f1")
            )
            entries = (
                entry(cell.columns[f"embedding_noise.js{end}"], f"{name} noise js"),
                entry(cell.columns[f"embedding_attack.js_answer{end}"], f"{name} js", js),
                entry(cell.columns[f"embedding_attack.tvd_answer{end}"], f"{name} tvd"),
                entry(printed_tvd(cell, radius), f"{name} printed tvd", tvd),
                Entry(score_estimate(cell, "f1"), f1),
            )
            rows.append(((cell.data, cell.model, f"{radius:g}"), entries))
    note = (
        "JSD of attention and TVD of the answer under Gaussian noise on one word, and under the worst noise on all "
        "that ascent finds. On the paper's scale TVD is a sum over a batch of 32, for vanilla of another quantity, "
        "which is 16 where nothing moves: its rows can not be compared with the others. The paper's SEAT stands beside "
        "both that of its definition and that of its code."
    )
    columns = ("JSD, one word", "JSD, attack", "TVD, attack", "TVD on the paper's scale", "F1")
    return Table("Tables 1 and 8", "Noise on embeddings", note, ("data", "model", "radius"), columns, tuple(rows))


def _interpretability(results: Results) -> Table:
    rows = []
    for cell in _cells(results, "rationale.comprehensiveness_attention"):
        name, found = f"{cell.data} {cell.model}", cell.columns.get
        searched = results.cells.get((cell.data, SENSITIVE(cell.model)))
        necessary, sufficient, sensitive = (
            _paper(cell, measure, "Table 2") for measure in ("comprehensiveness", "sufficiency", "sensitivity")
        )
        entries = (
            entry(found("rationale.comprehensiveness_attention"), f"{name} comprehensiveness"),
            entry(found("rationale.comprehensiveness_random"), f"{name} comprehensiveness floor"),
            entry(printed_comprehensiveness(cell), f"{name} printed comprehensiveness", necessary),
            entry(found("rationale.sufficiency_attention"), f"{name} sufficiency", sufficient),
            entry(found("rationale.sufficiency_random"), f"{name} sufficiency floor"),
            entry(searched and searched.columns.get("sensitivity.auc_attention"), f"{name} sensitivity", sensitive),
            entry(searched and searched.columns.get("sensitivity.auc_random"), f"{name} sensitivity floor"),
        )
        rows.append(((cell.data, cell.model), entries))
    note = (
        "Ours: means over texts and over rationales of 1, 3, 5, 10 words and a fifth of the text, deleted. The paper's "
        "code empties all texts of a batch at the top words of any, which is all words: its comprehensiveness is what "
        "all words are worth, summed over the batch, and its sufficiency near 0 by construction. Its sensitivity is of "
        "another thing, too."
    )
    columns = (
        "comprehensiveness",
        "random words",
        "comprehensiveness on the paper's scale",
        "sufficiency",
        "random words",
        "sensitivity",
        "random words",
    )
    return Table("Tables 2 and 9", "Interpretability", note, ("data", "model"), columns, tuple(rows))


def _words(results: Results) -> Table:
    rows = []
    for cell in _cells(results, "word_substitution.js"):
        for count in WORDS:
            name, end = f"{cell.data} {cell.model} words {count}", ending(WORDS, count)
            entries = tuple(
                entry(cell.columns[f"word_substitution.{measure}{end}"], f"{name} {measure}")
                for measure in ("js", "tvd", "flips", "overlap")
            )
            rows.append(((cell.data, cell.model, str(count)), entries))
    note = "The paper's tables are for BERT and repeat, but for vanilla, its numbers of another table: none stand here."
    columns = ("JSD", "TVD", "decisions changed", "top-7 overlap")
    return Table("Tables 3 and 10", "Words replaced", note, ("data", "model", "words"), columns, tuple(rows))


def _ablation(results: Results) -> Table:
    end, at = ending(RADII, ABLATION_RADIUS), f" radius={ABLATION_RADIUS:g}"
    rows = []
    for cell in _cells(results, f"embedding_attack.js_answer{end}", "rationale.comprehensiveness_attention"):
        method = cell.model.split(maxsplit=1)[1]
        if method not in ("vanilla", "seat", "seat without stability", "seat without topk"):
            continue
        name = f"{cell.data} {cell.model} ablation"
        entries = (
            entry(
                cell.columns[f"embedding_attack.js_answer{end}"],
                f"{name} js",
                _paper(cell, f"embedding_jsd{at}", "Table 6"),
            ),
            entry(
                printed_tvd(cell, ABLATION_RADIUS),
                f"{name} tvd",
                _paper(cell, f"embedding_tvd{at}", "Table 6", "Table 4"),
            ),
            Entry(score_estimate(cell, "f1"), _paper(cell, f"f1{at}", "Table 6", "Table 4")),
            entry(
                printed_comprehensiveness(cell),
                f"{name} comprehensiveness",
                _paper(cell, f"comprehensiveness{at}", "Table 7"),
            ),
            entry(
                cell.columns["rationale.sufficiency_attention"],
                f"{name} sufficiency",
                _paper(cell, f"sufficiency{at}", "Table 7", "Table 4"),
            ),
        )
        rows.append(((cell.data, cell.model), entries))
    note = (
        f"At radius {ABLATION_RADIUS:g}. TVD and comprehensiveness on the paper's scale; the rest as means over texts."
    )
    columns = ("JSD, attack", "TVD on the paper's scale", "F1", "comprehensiveness on the paper's scale", "sufficiency")
    return Table("Tables 4, 6 and 7", "Without one of the terms", note, ("data", "model"), columns, tuple(rows))


def _looks(results: Results) -> Table:
    rows = []
    for cell in _cells(results, "prediction.max_attention", "prediction.items"):
        name = f"{cell.data} {cell.model}"
        against = results.cells.get((cell.data, AGAINST(cell.model)))
        entries = (
            entry(evenness(cell), f"{name} evenness"),
            entry(cell.columns.get("seeds.overlap"), f"{name} overlap"),
            entry(cell.columns.get("seeds.max_js"), f"{name} apart"),
            entry(None if against is None else against.columns.get("seeds.max_js"), f"{name} seeds"),
        )
        rows.append(((cell.data, cell.model), entries))
    note = (
        "The largest weight of a text in even shares is 1 where attention tells no words apart: such attention is as "
        "stable as can be."
    )
    columns = ("largest weight, in even shares", "top-7 overlap with vanilla", "JSD to vanilla", "JSD to another seed")
    return Table("What attention looks like", "How even it is", note, ("data", "model"), columns, tuple(rows))


def _certificates(results: Results) -> Table:
    rows = []
    for cell in _cells(results, "certificate.linf_simplex"):
        radius = cell.columns["certificate.linf_simplex"]
        measured = {norm: cell.columns[f"certificate.{norm}_simplex"] for norm in ("l1", "l2", "linf")}
        measured |= {"share at .01": (radius > 0.01).double(), "share at .05": (radius > 0.05).double()}
        entries = tuple(entry(values, f"{cell.data} {cell.model} {name}") for name, values in measured.items())
        rows.append(((cell.data, cell.model), entries))
    columns = ("radius, l1", "l2", "linf", "certified at .01 (linf)", "certified at .05 (linf)")
    note = "How far attention may be off, as a distribution, before the decision can change: exact, text by text."
    return Table(
        "Certificates", "What no perturbation of the weights can change", note, ("data", "model"), columns, tuple(rows)
    )
