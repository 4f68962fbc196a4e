"""Tables: the recipe against vanilla; every method by the audit's scores; every method by SEAT's criteria."""

from math import nan

from heedful.measures import Estimate
from heedful.papers.claim_rule import entry, score_estimate
from heedful.papers.faithful_training.columns import (
    ATTACK,
    CORRECT,
    EVENNESS,
    OTHER_SEEDS,
    QUESTIONS,
    RECIPES,
    SHARPNESS,
    TAU_DELETION,
    chosen_recipes,
    lines_of,
)
from heedful.papers.reproduction import Cell, Entry, Results, Table
from heedful.schema import Line

SCORED = {
    "gradient_agreement": "gradient",
    "leave_one_out_agreement": "leave-one-out",
    "erase_until_flip": "erasure",
    "comprehensiveness": "comprehensiveness",
    "sufficiency": "sufficiency",
    "embedding_attack": "attack",
    "seeds": "seeds",
}
CRITERIA = {
    OTHER_SEEDS: "attention, other seeds (JSD)",
    ATTACK: "attention, attack (JSD)",
    "embedding_noise.js": "attention, noise (JSD)",
    "embedding_attack.tvd_answer": "prediction, attack (TVD)",
    "comprehensiveness_sufficiency.comprehensiveness_attention": "comprehensiveness",
    "comprehensiveness_sufficiency.sufficiency_attention": "sufficiency",
}
assert tuple(SCORED) == QUESTIONS


def tables(results: Results) -> list[Table]:
    """What dev texts choose; scores; criteria."""
    return [_chosen(results), _scores(results), _criteria(results)]


def _score_of(line: Line) -> Estimate:
    """The score of a question with its interval."""
    score, low, high = (nan if end is None else end for end in (line.score, line.score_low, line.score_high))
    return Estimate(score, low, high, line.texts)


def _chosen(results: Results) -> Table:
    rows = []
    for (data, encoder), pair in chosen_recipes(results).items():
        for cell in reversed(pair):
            entries = (
                Entry(score_estimate(cell, "accuracy")),
                *(entry(cell.columns[column]) for column in (TAU_DELETION, OTHER_SEEDS, ATTACK, SHARPNESS)),
            )
            rows.append(((data, encoder, cell.method), entries))
    note = (
        f"On test texts. Dev texts choose among {len(RECIPES)} recipes: the highest mean score of those that lose at "
        "most half a point of accuracy and no more than half of the sharpness."
    )
    titles = ("accuracy", "tau leave-one-out", "JSD of seeds", "JSD under attack", "sharpness")
    return Table(
        "The recipe",
        "What dev texts choose, beside vanilla",
        note,
        ("data", "encoder", "training"),
        titles,
        tuple(rows),
    )


def _scores(results: Results) -> Table:
    rows = []
    for cell in results.select(CORRECT, SHARPNESS):
        lines = lines_of(cell)
        scores = (lines.get(name) for name in SCORED)
        entries = (
            Entry(score_estimate(cell, "accuracy")),
            *(Entry(None if line is None else _score_of(line)) for line in scores),
            entry(cell.columns[SHARPNESS]),
            entry(cell.columns[EVENNESS]),
        )
        rows.append((_about(cell), entries))
    note = "Scores of the verdict on test texts: 0 the floor, 1 the best possible, some of which can be passed."
    titles = ("accuracy", *SCORED.values(), "sharpness", "evenness")
    return Table("Scores", "Every way to train", note, ("data", "encoder", "training"), titles, tuple(rows))


def _criteria(results: Results) -> Table:
    rows = [
        (
            _about(cell),
            tuple(entry(cell.columns[column]) if column in cell.columns else Entry(None) for column in CRITERIA),
        )
        for cell in results.select(CORRECT)
    ]
    note = (
        "Hu et al.'s criteria, measured of every method: stable attention and stable predictions (smaller is better), "
        "and top words that are necessary (comprehensiveness, larger is better) and suffice (sufficiency, smaller is "
        "better)."
    )
    return Table(
        "Criteria", "SEAT's criteria", note, ("data", "encoder", "training"), tuple(CRITERIA.values()), tuple(rows)
    )


def _about(cell: Cell) -> tuple[str, str, str]:
    return cell.data, cell.encoder, cell.method
