"""Tasks 1 to 3 of bAbI: stories, a question on each, and the statements that answer it."""

from collections.abc import Mapping
from itertools import accumulate, pairwise
from pathlib import Path

from heedful.data.fetching.recipe import Recipe, Row, Splits, github
from heedful.types import Split

_SOURCE = ("1202kbs/MemN2N-Tensorflow", "4eec02fc619f96555a5f686fc7463d8a78f681a2")
_NAMES: dict[Split, str] = {"train": "train", "dev": "valid", "test": "test"}


def read(files: Mapping[str, Path]) -> Splits:
    """The official split into training, validation and test questions."""
    return {split: read_stories(files[name].read_text(encoding="utf-8")) for split, name in _NAMES.items()}


def read_with_small_train(files: Mapping[str, Path]) -> Splits:
    """Train on the 1,000 official questions and the first 800 validation ones of the larger set; dev is the rest."""
    rows = {name: read_stories(path.read_text(encoding="utf-8")) for name, path in files.items()}
    train = [*rows["small_train"], *rows["small_valid"], *rows["valid"][:800]]
    return {"train": train, "dev": rows["valid"][800:], "test": rows["test"]}


def read_stories(content: str) -> list[Row]:
    r"""One row per question, whose context is all statements before it; their numbers start again with each story.

    >>> read_stories("1 Mary went home.\n2 John left.\n3 Where is Mary? \thome\t1\n")[0]["context"]
    'Mary went home . John left .'
    """
    rows: list[Row] = []
    statements: dict[str, str] = {}
    for line in content.splitlines():
        number, _, content_of_line = line.strip().partition(" ")
        if number == "1":
            statements = {}
        question, *answer = content_of_line.split("\t")
        if answer:
            rows.append(_row(statements, question, answer[0], answer[1].split()))
        elif question:
            statements[number] = f"{question.strip().removesuffix('.')} ."
    return rows


def _row(statements: Mapping[str, str], question: str, answer: str, supporting: list[str]) -> Row:
    starts = list(accumulate((len(statement.split(" ")) for statement in statements.values()), initial=0))
    spans = [[start, end] for start, end in pairwise(starts)]
    numbers = [list(statements).index(number) for number in supporting]
    return {
        "context": " ".join(statements.values()),
        "question": question.strip().removesuffix("?").strip(),
        "answer": answer.strip(),
        "n_sentences": len(statements),
        "supporting_sentences": numbers,
        "rationale": sorted(spans[number] for number in numbers),
    }


def _recipe(task: int, facts: str) -> Recipe:
    return Recipe(
        title=f"bAbI task {task} ({facts}), English",
        task="question answering, one-word answer",
        files={name: github(*_SOURCE, f"bAbI/en-valid-10k/qa{task}_{name}.txt") for name in _NAMES.values()},
        read=read,
        columns=("context", "question", "answer"),
        terms="CC BY 3.0",
    )


_THIRD = {
    "small_train": github(*_SOURCE, "bAbI/en-valid/qa3_train.txt"),
    "small_valid": github(*_SOURCE, "bAbI/en-valid/qa3_valid.txt"),
    "valid": github(*_SOURCE, "bAbI/en-valid-10k/qa3_valid.txt"),
    "test": github(*_SOURCE, "bAbI/en-valid-10k/qa3_test.txt"),
}
RECIPES = {
    "babi_task1": _recipe(1, "single supporting fact"),
    "babi_task2": _recipe(2, "two supporting facts"),
    "babi_task3": Recipe(
        title="bAbI task 3 (three supporting facts), English",
        task="question answering, one-word answer",
        files=_THIRD,
        read=read_with_small_train,
        columns=("context", "question", "answer"),
        terms="CC BY 3.0",
    ),
}
