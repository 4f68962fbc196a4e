"""The calibration as a page in Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.calibration.suite import OVERALL, TEXTS, WRONG, Row, Tally
from heedful.calibration.trained_worlds import FALLS, NAMES, TrainedRow, broken_rules
from heedful.calibration.worlds import LOG_ODDS
from heedful.papers.study_pages import markdown_table

NAME = "calibration.md"
HEAD = ("world", "attention", "right answer", "required", "right", "wrong in direction", "answers")
TRAINED_HEAD = ("data", "model", "accuracy", "a small set decides", "luck", "points, by seed", "overall", "by class")


@dataclass(frozen=True)
class Calibration:
    """All that the page shows.

    Args:
        draws: number of draws of each row.
        trained: rows of trained models, if there are any.
    """

    tallies: Sequence[Tally]
    draws: int
    command: str
    trained: Sequence[TrainedRow] = ()

    @property
    def missed(self) -> list[str]:
        """Rows that are not met, in words."""
        worlds = [
            f"{tally.row.world}, {tally.row.attention}: {_percent(tally.right, tally.total)} right, "
            f"{_percent(tally.wrong, tally.total)} wrong in direction."
            for tally in self.tallies
            if not tally.is_met
        ]
        return [*worlds, *broken_rules(self.trained)]


def write_page(calibration: Calibration, folder: Path) -> Path:
    """The path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / NAME
    page.write_text(markdown(calibration), encoding="utf-8")
    return page


def headline(calibration: Calibration) -> str:
    """How many rows are met."""
    rows = len(calibration.tallies)
    met = sum(tally.is_met for tally in calibration.tallies)
    draws = f"{calibration.draws} draws" if calibration.draws > 1 else "one draw"
    return f"{met} of {rows} rows are met, with {draws} of each."


def markdown(calibration: Calibration) -> str:
    """The page."""
    parts = [
        "# Calibration",
        f"`{calibration.command}` prints this page.",
        "It shows how often the answer of an audit is right. In each row the truth is known: the model is a function "
        "of the words left, and attention is given by hand. The package judges these texts as an audit does. None "
        "of the attention given helps the search for the key words.",
        headline(calibration),
        *(["\n".join(f"- {missed}" for missed in calibration.missed)] if calibration.missed else []),
        "## Worlds",
        f"Each draw has {TEXTS} texts, half of them of each class. They have 12 to 30 words unless the row says "
        "otherwise. The prediction has a probability of 0.95 if a deciding word is left, and of 0.5 if none is. Labels "
        "equal predictions unless they are random. Replacing words gives the same outcomes as deleting them.",
        "Three worlds differ:",
        "- One word opposes: the probability is 0.85 with both words, 0.95 with the supporting word alone, 0.3 with "
        "the "
        "opposing word alone and 0.5 with neither.\n"
        f"- Many weak words: the log odds are {LOG_ODDS} times the share of words left.\n"
        "- The default: class 1 has a probability of 0.95 unless a word for class 0 is left, and then 0.05.",
        "Attention on some words puts random numbers on all others. *Reversed* attention puts the least on the "
        "deciding word. *Right in 60%* means that attention is on the deciding word in 60% of the texts; it is "
        "reversed in the others, unless the row says random. With several seeds, each seed draws its own share around "
        "this one, with the standard deviation (sd) of the row. In the last world the word i decides, and the state at "
        "j carries what i says, so attention on j shows moved information.",
        "*Required* is the share of right answers that a row needs. An answer is *wrong in direction* if it says Yes "
        f"and No is true, or the reverse. At most {WRONG:.1%} of a row's answers may be.",
        markdown_table(HEAD, table_rows(calibration.tallies)),
    ]
    if calibration.trained:
        parts += ["## Trained models", *_trained_parts(calibration.trained)]
    return "\n\n".join(parts) + "\n"


def _trained_parts(rows: Sequence[TrainedRow]) -> list[str]:
    seeds = len(rows[0].answer.overall.shares.seeds) + len(rows[0].answer.left_out)
    return [
        f"The words that decide these texts are known. Each model is trained with {seeds} seeds, honestly and by the "
        "method `deceptive`, which teaches attention to avoid these words. Words are deleted. Embeddings start from "
        "N(0, 1), as in the demonstration: how often attention points depends on the start of training.",
        "A deceptive BiLSTM must get No for every class. Honest models must get Yes on `planted`. A deceptive "
        f"embedding model must point in a share of texts at least {FALLS} below that of the honest one. For one "
        "class its share may stay at 1, if neutral words carry that class; which class that is depends on the seed.",
        markdown_table(TRAINED_HEAD, [trained_cells(row) for row in rows]),
    ]


def trained_cells(row: TrainedRow) -> tuple[str, ...]:
    """The cells of a trained model."""
    answer, shares, model = row.answer, row.answer.overall.shares, row.model
    name = f"{NAMES[model.encoder]}, {'deceptive' if model.method == 'deceptive' else 'honest'}"
    left_out = f" (without {', '.join(answer.left_out)})" if answer.left_out else ""
    points = ", ".join(_number(seed.points) for seed in shares.seeds)
    by_class = ", ".join(f"{each.shares.label}: {each.answer}" for each in answer.classes)
    decided = None if shares.no_small_set.value is None else 1 - shares.no_small_set.value
    numbers = (_number(row.accuracy), _number(decided), _number(shares.luck))
    return (model.source, name, *numbers, f"{points}{left_out}", answer.overall.answer, by_class)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def table_rows(tallies: Sequence[Tally]) -> list[tuple[str, ...]]:
    """The cells of each row."""
    return [
        (
            tally.row.world,
            tally.row.attention,
            _right(tally.row),
            _percent(tally.row.required, 1),
            _percent(tally.right, tally.total),
            _percent(tally.wrong, tally.total),
            _answers(tally),
        )
        for tally in tallies
    ]


def _right(row: Row) -> str:
    """The right answers in words, with the class unless all texts or all classes share one."""
    names = {right.name for right in row.right.values()}
    if len(names) == 1:
        text = names.pop()
    else:
        text = ", ".join(f"{right.name} for {target}" for target, right in row.right.items() if target is not OVERALL)
    if row.moved is None:
        return text
    low, high = row.moved
    return f"{text}; moved information {f'above {low}' if high == 1 else f'below {high}'}"


def _answers(tally: Tally) -> str:
    given = sorted(tally.answers.items(), key=lambda item: (-item[1], item[0]))
    counts = ", ".join(f"{answer} {_percent(count, tally.total)}" for answer, count in given)
    return counts if tally.row.moved is None else f"{counts}; moved information {tally.moved:.2f}"


def _percent(count: float, total: int) -> str:
    """A share in percent, with a decimal unless it is a whole number.

    >>> _percent(199, 200), _percent(1, 3), _percent(200, 200)
    ('99.5%', '33.3%', '100%')
    """
    return f"{round(100 * count / total, 1):g}%"
