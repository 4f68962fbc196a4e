"""Pages that the package itself can tell: one a test, one a method, and the commands.

Sphinx calls `write_pages` when a build begins (conf.py). Nothing of it is kept in the repository, so nothing can be out
of date. tests.toml has what no docstring says: formulas, floors, costs.

`python docs/generate.py` writes what is kept and can be made without a run: the papers' pages, from the JSON that
`heedful reproduce NAME --out docs/papers` wrote and from their notes, and the README's table of them.
"""

import inspect
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent), str(DOCS.parent / "tests")]

import typer

from heedful.battery import BATTERY, PAIRS, BatteryTest, Question, adversarial_models
from heedful.cli import app
from heedful.formatting import format_number
from heedful.papers import STUDIES
from heedful.papers.claim_rule import summary_sentence
from heedful.papers.study_pages import main_agreement, markdown_page
from heedful.papers.study_pages import markdown_table as table
from heedful.papers.study_report import StudyReport, read_report
from heedful.schema import GROUPS
from heedful.settings.validation import option_parameters
from heedful.training.methods import METHODS, Method
from support.by_hand import findings_of

WHEN = {
    "default": "in every audit",
    "deep": "with `--deep`, or if named in `--tests`",
    "named": "only if named in `--tests`",
}
COMPANIONS = {
    "uniform_retrained": "with `--deep`: trains a model with uniform attention, to compare with the audited one",
    "seeds": "in every audit of several seeds (`--seeds`, three by default)",
    "adversarial_models": "with `--deep`: trains models against the audited one (`--adversaries`)",
}
"""Tests that compare with other models, which `--tests` does not name: when they run."""
WORDS = ("dull", "start", ",", "great", "ending")
LOGITS = (-2.0, 0.0, 0.0, 3.0, 0.5)
WEIGHTS = (0.10, 0.05, 0.05, 0.60, 0.20)
"""The text of the examples: each word's contribution to *good*, and its attention."""
NOT_BY_HAND = {
    "token_scores",
    "word_substitution",
    "same_mixture",
    "mean_of_heads",
    "plausibility",
    "ranking_agreement",
}
"""Tests of training texts, transformers or marked texts, which the example is not."""
MOST_SHOWN = 12

Pages = dict[str, str]
Notes = Mapping[str, Any]


def write_pages(docs: Path) -> None:
    """Writes all pages under docs/generated; what has not changed is left alone, so that it is not built again."""
    folder, pages = docs / "generated", generated_pages()
    for name, text in pages.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists() or place.read_text(encoding="utf-8") != text:
            place.write_text(text, encoding="utf-8")
    for left in set(folder.rglob("*.md")) - {folder / name for name in pages}:
        left.unlink()


def generated_pages() -> Pages:
    """Every page by its path."""
    return test_pages() | method_pages() | {"commands.md": commands_page()}


def read_notes() -> Notes:
    """The notes of tests.toml on each test."""
    return tomllib.loads((DOCS / "tests.toml").read_text(encoding="utf-8"))


def all_tests() -> dict[str, BatteryTest]:
    """The battery, the tests that compare models, and the adversaries, whose function stands for all they do."""
    trained = BatteryTest(adversarial_models.reached, adversarial_models.QUESTIONS, cost="deep")
    return BATTERY | PAIRS | {"adversarial_models": trained}


def test_pages() -> Pages:
    """A page for each test, and one that lists the tests by group."""
    notes = read_notes()
    tests = all_tests()
    pages = {f"tests/{name}.md": test_page(name, test, notes.get(name, {})) for name, test in tests.items()}
    return pages | {"tests/index.md": _tests_index(tests)}


def test_page(name: str, test: BatteryTest, notes: Notes) -> str:
    """Question, formula, floor and best, cost, docstring, options, an example."""
    facts = [["runs", COMPANIONS.get(name) or WHEN[test.cost]]]
    facts += [[title, notes[title]] for title in ("exact", "cost") if title in notes]
    parts = [f"# `{name}`", *_questions(test.questions, notes.get("questions", {}))]
    parts += ["## Formula", f"```text\n{notes['formula']}\n```"] if "formula" in notes else []
    about = inspect.getdoc(adversarial_models if name == "adversarial_models" else test.function) or ""
    parts += ["## What it measures", as_markdown(about)]
    parts += ["## When, how exactly, at what cost", table(["", ""], facts)]
    parts += _options(test.function, f"audit.{name}") + _example(name)
    return "\n\n".join(parts) + "\n"


def _questions(questions: Sequence[Question], notes: Mapping[str, Notes]) -> Iterator[str]:
    if not questions:
        yield "This test has no line in the verdict. Its results are in the rows, and some are drawn in figures."
    for question in questions:
        own = notes.get(question.name, {})
        yield f"**{question.wording('word')}**"
        rows = [["group", f"*{question.group}*: {GROUPS[question.group]}"]]
        rows += [[title, own[title]] for title in ("value", "floor") if title in own]
        rows += [[question.best_kind, own["best"]]] if "best" in own else []
        yield table(["", ""], rows)


def _options(function: Any, place: str) -> list[str]:
    parameters = option_parameters(function)
    if not parameters:
        return []
    about = argument_texts(inspect.getdoc(function) or "")
    rows = [[f"`{name}`", f"`{one.default!r}`", about.get(name, "")] for name, one in parameters.items()]
    return ["## Options", f"Set by `--set {place}.NAME=VALUE`.", table(["name", "default", "meaning"], rows)]


def _example(name: str) -> list[str]:
    if name in COMPANIONS:
        return [
            "## Example",
            "    heedful audit mock-1 --deep" if name != "seeds" else "    heedful audit mock-1 --seeds 3",
        ]
    command = f"    heedful audit mock-1 --tests {name}"
    if name in NOT_BY_HAND:
        return ["## Example", command]
    words = table(["", *WORDS], [["contribution to *good*", *map(str, LOGITS)], ["attention", *map(str, WEIGHTS)]])
    found = findings_of(name, LOGITS, WEIGHTS)
    rows = [[f"`{measure}`", format_number(value, decimals=3)] for measure, value in found.items() if value == value]
    more = f"The first {MOST_SHOWN} of {len(rows)} measures." if len(rows) > MOST_SHOWN else ""
    return [
        "## Example",
        command,
        "By hand, on one text of five words:",
        words,
        table(["measure", "value"], rows[:MOST_SHOWN]),
        more,
    ]


def _tests_index(tests: Mapping[str, BatteryTest]) -> str:
    parts = ["# Tests of attention", "Each test has a page: its question, how it is computed, and its cost."]
    for group, asks in GROUPS.items():
        rows = [
            [f"[{name}]({name}.md)", question.wording("word")]
            for name, test in tests.items()
            for question in test.questions
            if question.group == group
        ]
        parts += [f"## {group.capitalize()}", asks, table(["test", "question"], rows)]
    silent = [
        [f"[{name}]({name}.md)", _first_line(test.function)] for name, test in tests.items() if not test.questions
    ]
    parts += ["## Measured in addition", table(["test", "what it measures"], silent), _toctree(tests)]
    return "\n\n".join(parts) + "\n"


def method_pages() -> Pages:
    """A page for each training method, and one that lists them."""
    pages = {f"methods/{name}.md": method_page(name, method) for name, method in METHODS.items()}
    rows = [[f"[{name}]({name}.md)", _first_line(method.loss)] for name, method in METHODS.items()]
    about = (
        "The loss of each training method, one number per text. `--method NAME` chooses one; `python "
        "benchmarks/methods.py` measures the time of an epoch of each."
    )
    parts = ["# Training methods", about, table(["method", "loss"], rows), _toctree(METHODS)]
    return pages | {"methods/index.md": "\n\n".join(parts) + "\n"}


def method_page(name: str, method: Method) -> str:
    """Loss, how it is trained, options, an example."""
    facts = [
        [
            "starts from",
            "fresh weights" if method.start == "fresh" else "the weights of the run that `--reference` names",
        ],
        ["trains", "all parameters" if method.trains == "all" else "attention alone"],
        [
            "keeps the epoch",
            "best by the run's metric" if method.selects == "metric" else "with the lowest loss of this method",
        ],
        ["begins with plain training", f"for {method.honest_epochs} epochs" if method.honest_epochs else "no"],
        ["needs a reference run", "yes" if method.needs_reference else "no"],
        ["needs rationales", "yes" if method.needs_rationales else "no"],
        ["learns from teachers", "yes: runs that are trained before it" if method.teachers else "no"],
        ["logs", _first_line(method.logs) if method.logs else "the metrics alone"],
    ]
    reference = " --reference KEY" if method.needs_reference else ""
    data = {"guided_by_rationales": "hatexplain", "deceptive": "reviews"}.get(name, "mock-1")
    parts = [
        f"# `{name}`",
        as_markdown(inspect.getdoc(method.loss) or ""),
        "## How it is trained",
        table(["", ""], facts),
    ]
    parts += _options(method.loss, "training.options")
    parts += ["## Example", f"    heedful train {data} --method {name}{reference}"]
    return "\n\n".join(parts) + "\n"


def commands_page() -> str:
    """Every command with its arguments and options, as in `--help`."""
    parts = ["# Commands", "`heedful COMMAND --help` prints the same in the terminal."]
    for name, command in _commands(typer.main.get_command(app), "heedful"):
        rows = [
            [_names(parameter), parameter.help or ""]
            for parameter in command.params
            if not getattr(parameter, "hidden", False)
        ]
        parts += [f"## {name}", as_markdown(inspect.cleandoc(command.help or "")), table(["", ""], rows)]
    return "\n\n".join(parts) + "\n"


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
    for part, each in (inner or {}).items():
        yield from _commands(each, f"{name} {part}")


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


PAPERS, README = DOCS / "papers", DOCS.parent / "README.md"
TABLE = re.compile(r"(?<=<!-- made by python docs/generate.py -->\n).*?(?=<!-- end -->)", re.DOTALL)


def paper_reports() -> list[StudyReport]:
    """What was last found of each study that has a page, in the order of the studies."""
    return [read_report(study, PAPERS) for name, study in STUDIES.items() if (PAPERS / f"{name}.json").exists()]


def kept_pages() -> dict[Path, str]:
    """The page of each paper, and the README with its table of them."""
    reports = paper_reports()
    rows = [
        [_linked(report), report.scale, summary_sentence(report.claims), main_agreement(report)] for report in reports
    ]
    made = f"\n{table(['paper', 'scale', 'quoted claims', 'agreement with its main table'], rows)}\n\n" if rows else ""
    pages = {PAPERS / f"{report.study.name}.md": markdown_page(report) for report in reports}
    return pages | {README: TABLE.sub(lambda _: made, README.read_text(encoding="utf-8"))}


def _linked(report: StudyReport) -> str:
    authors, _, _ = report.study.paper.partition(",")
    return f"[{authors}, {report.study.title}](docs/papers/{report.study.name}.md)"


def as_markdown(docstring: str) -> str:
    r"""The prose of a docstring as Markdown: doctests as code, and what would be read as emphasis escaped.

    >>> print(as_markdown("The *p of each.\n\nArgs:\n    p: the first."))
    The \*p of each.
    >>> print(as_markdown("Loss\n+ weight x gap."))
    Loss
    \+ weight x gap.
    """
    text, _, _ = docstring.partition("\nArgs:\n")
    text = re.sub(r"(?m)^\+ ", r"\\+ ", text)  # a sum that goes on in the next line is no list
    text = re.sub(r"(?m)^((?:>>>|\.\.\.) .*(?:\n(?!\n).+)*)", r"```pycon\n\1\n```", text)
    return "\n".join(re.sub(r"(?<![`\w])([*_])(?=\w)", r"\\\1", line) for line in text.strip().splitlines())


def argument_texts(docstring: str) -> dict[str, str]:
    r"""What the `Args:` of a docstring say of each name.

    >>> argument_texts("Sum.\n\nArgs:\n    p: the first,\n        or none.\n    q, r: others.")
    {'p': 'the first, or none.', 'q': 'others.', 'r': 'others.'}
    """
    _, _, arguments = docstring.partition("\nArgs:\n")
    entries = re.findall(r"(?m)^    (\w[\w, ]*): ((?:.|\n {8})*)", arguments)
    return {name: " ".join(what.split()) for names, what in entries for name in names.split(", ")}


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").split("\n")[0]


def _toctree(names: Sequence[str] | Mapping[str, Any]) -> str:
    return "```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```"


if __name__ == "__main__":
    for place, text in kept_pages().items():
        place.write_text(text, encoding="utf-8")
