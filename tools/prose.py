"""Find phrases that the style guide replaces, in comments, docstrings, strings, Markdown, HTML and JavaScript.

tools/phrases.toml lists the phrases, what to write instead, and how many hits may stay. Code spans, code blocks,
doctests, quotations, titles and CSS selectors do not count; wrapped lines are joined first.

    python tools/prose.py            one line per phrase that occurs too often
    python tools/prose.py NUMBER     every hit of that phrase, with its file
    python tools/prose.py FILE ...   every hit in these files
"""

import ast
import io
import re
import subprocess
import sys
import textwrap
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import unescape
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCOPE = ("heedful", "docs", "README.md", "CONTRIBUTING.md", "SECURITY.md")
GENERATED = re.compile(
    r"docs/(studies/|papers/.*\.json|claims\.md|calibration\.md|performance\.md|changelog\.md)|heedful/data/words/"
)
SUFFIXES = (".py", ".md", ".html", ".js")
SELECTOR = re.compile(r"#\w")
"""A CSS selector, which is code."""
EXEMPT = {"quote", "title"}
"""Names of arguments and fields whose strings are other people's words."""


@dataclass(frozen=True)
class Phrase:
    """A phrase to replace.

    Args:
        number: its row in the style guide.
        most: number of hits that may stay, since they are correct uses.
        raw: whether the lines of the file are searched as they are.
    """

    number: int
    regex: str
    write: str
    most: int = 0
    raw: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression, whatever the case."""
        return re.compile(self.regex, re.IGNORECASE | re.MULTILINE)


@cache
def phrases() -> tuple[Phrase, ...]:
    """All phrases, in the order of the style guide."""
    content = tomllib.loads((ROOT / "tools" / "phrases.toml").read_text(encoding="utf-8"))
    return tuple(Phrase(**each) for each in content["phrase"])


def files() -> list[str]:
    """The files that are read by people and written by hand."""
    listed = subprocess.run(["git", "ls-files", *SCOPE], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if name.endswith(SUFFIXES) and not GENERATED.match(name)]


def _joined(text: str) -> Iterator[str]:
    """The paragraphs of a text, each as one line, without code."""
    text = re.sub(r"^( *)(```|~~~).*?^ *\2", "", text, flags=re.DOTALL | re.MULTILINE)
    for part in re.split(r"\n\s*\n", text):
        lines = part.splitlines()
        doctest = next((number for number, line in enumerate(lines) if line.lstrip().startswith(">>>")), len(lines))
        yield re.sub(r"``?[^`]*``?", "`code`", " ".join(" ".join(lines[:doctest]).split()))


def _exempt_strings(tree: ast.AST) -> set[ast.AST]:
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.keyword) and node.arg in EXEMPT else None
        found |= set(ast.walk(value)) if value is not None else set()
    return found


def _of_python(text: str) -> Iterator[str]:
    tree = ast.parse(text)
    exempt = _exempt_strings(tree)
    inside: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            inside |= set(ast.walk(node.format_spec))
        if isinstance(node, ast.JoinedStr) and node not in exempt and node not in inside:
            inside |= set(node.values)
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield from _joined("".join(map(str, parts)))
    skipped = exempt | inside
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield from () if SELECTOR.match(node.value) else _joined(textwrap.dedent(node.value))
    block, last = [], -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != last + 1:
                yield from _joined("\n".join(block))
                block = []
            block.append(token.string.lstrip("# "))
            last = token.start[0]
    yield from _joined("\n".join(block))


def _of_html(text: str) -> Iterator[str]:
    text = re.sub(r"<(script|style)\b.*?</\1>|\{[%#].*?[%#]\}|<code\b.*?</code>", "\n\n", text, flags=re.DOTALL)
    yield from _joined(unescape(re.sub(r"<[^>]+>", " ", re.sub(r"\{\{.*?\}\}", "{}", text, flags=re.DOTALL))))


def _of_javascript(text: str) -> Iterator[str]:
    for block in re.findall(r"/\*.*?\*/|(?:^[ \t]*//.*\n)+", text, re.DOTALL | re.MULTILINE):
        yield from _joined(re.sub(r"^\s*(//|/?\*+/?)", "", block, flags=re.MULTILINE))
    for mark in ('"', "`"):
        for part in re.findall(rf"{mark}((?:[^{mark}\\]|\\.)*){mark}", text):
            yield from _joined(re.sub(r"\$\{[^}]*\}", "{}", part))


def prose(name: str) -> str:
    """What people read of a file, one paragraph per line."""
    return _prose(ROOT / name)


@cache
def _prose(place: Path) -> str:
    text, name = place.read_text(encoding="utf-8"), place.name
    if name.endswith(".py"):
        parts = _of_python(text)
    elif name.endswith(".html"):
        parts = _of_html(text)
    else:
        parts = _of_javascript(text) if name.endswith(".js") else _joined(text)
    return "\n".join(parts)


def hits(phrase: Phrase, names: list[str]) -> list[tuple[str, str]]:
    """Every hit of a phrase in these files: the file, and the words around it."""
    found = []
    for name in names:
        text = (ROOT / name).read_text(encoding="utf-8") if phrase.raw else prose(name)
        for match in phrase.pattern.finditer(text):
            found.append((name, text[max(0, match.start() - 60) : match.end() + 40].strip().replace("\n", " | ")))
    return found


def main() -> None:
    """Print what is asked for."""
    asked = sys.argv[1:]
    if asked and asked[0].isdecimal():
        for phrase in phrases():
            if phrase.number == int(asked[0]):
                print(phrase.regex, "->", phrase.write)
                print(*(f"{name}: {text}" for name, text in hits(phrase, files())), sep="\n")
        return
    for phrase in phrases():
        found = hits(phrase, asked or files())
        if asked:
            print(
                *(f"{phrase.number}: {name}: {text}  -> {phrase.write}" for name, text in found),
                sep="\n",
                end="\n" * bool(found),
            )
        elif len(found) > phrase.most:
            print(f"{phrase.number}: {len(found)} hits, at most {phrase.most}: {phrase.regex} -> {phrase.write}")


if __name__ == "__main__":
    main()
