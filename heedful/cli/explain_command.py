"""`heedful explain`: which words decide the prediction for a text, and whether attention points to them."""

import os
from collections import Counter
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.cli import command_options
from heedful.cli.command_options import argument, open_store, option, use_threads
from heedful.cli.output import output
from heedful.errors import DataError, SettingError

if TYPE_CHECKING:
    from heedful.data.sources.records import RecordFile
    from heedful.subjects.subject import Subject


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(command_options.FolderOptions, command_options.SiteOptions):
    """The options of `heedful explain`."""

    text_or_file: str = argument(
        "A text, or a file of texts: .txt (one per line), jsonl, csv, tsv or parquet.", "TEXT|FILE"
    )
    model: str = option(
        "Run key or unique prefix; or a Hugging Face classifier, a folder or hf:NAME.",
        "--model",
        default=MISSING,
        metavar="MODEL",
        autocompletion=command_options.runs,
    )
    text: str | None = option("Column of the text.")
    query: str | None = option("Question or hypothesis of TEXT; for a FILE with columns, its column.")
    out: str | None = option("Write an HTML page, for example page.html.", metavar="PAGE")
    limit: int | None = option(
        "Explain at most N texts of FILE. Default: 10 in the terminal, 200 on a page, all in JSON.", min=1
    )


IN_TERMINAL, ON_PAGE = 10, 200
FILES = (".txt", ".jsonl", ".json", ".csv", ".tsv", ".parquet", ".gz")
"""How the name of a file of texts may end; a name without spaces that ends like this is treated as a file."""

MOST_NAMED = 5
"""Texts that a note names."""

Pairs = list[tuple[str, str]]
"""Texts with their queries; a query is empty if there is none."""


def explain(options: ExplainOptions) -> None:
    """Show which words decide the prediction for a text, and whether attention points to them."""
    text_or_file, text, query, out = options.text_or_file, options.text, options.query, options.out
    use_threads(1, options.device)
    from heedful.report.audits import audited_model
    from heedful.report.explanations import audit_sentences, badge, outcome_lines
    from heedful.report.explanations import explain as explain_texts
    from heedful.subjects.opening import open_subject

    _check_given(text_or_file, text, out)
    printed, site, scope = output(), options.site or "", options.scope or ""
    subject = open_subject(options.model, open_store(options), site=site, scope=scope, device=options.device)
    is_file = os.path.isfile(text_or_file)
    # A Hugging Face classifier reads pairs of texts where it is given a query.
    has_query = query is not None if subject.may_read_query else subject.reads_query
    if not has_query and query is not None:
        raise SettingError(
            "--query does not apply: this model reads texts without a question or hypothesis. Remove --query."
        )
    if has_query and query is None and (not is_file or Path(text_or_file).suffix.lower() == ".txt"):
        raise SettingError("--query must be given: this model reads a question or hypothesis with each text.")
    if is_file:
        pairs, notes = read_texts(Path(text_or_file), subject, text, query, has_query=has_query)
    else:
        pairs, notes = [(text_or_file, query or "")], []
    most = options.limit or (ON_PAGE if out else len(pairs) if printed.as_json else IN_TERMINAL)
    if len(pairs) > most:
        notes.append(f"Showing the first {most} of {len(pairs):,} texts. Use --limit to change this.")
    audit = audited_model(Path(options.audits), subject.key)
    if audit is None:
        notes.append(f"{options.audits}/ has no audit of this model.")
    texts = pairs[:most] if has_query else [given for given, _ in pairs[:most]]
    explanations = explain_texts(subject, texts, audit=None if audit is None else audit.verdict)
    explanations = replace(explanations, notes=tuple(notes))
    page = explanations.save(out) if out else None
    if printed.as_json or printed.is_quiet:
        outcomes = "\n".join(outcome_lines(each)[0] for each in explanations)
        printed.end(explanations.as_dict(), result=str(page or outcomes))
        return
    if page is None or not is_file:
        explanations.show(printed.console)
    else:
        counts = Counter(badge(each) for each in explanations)
        listed = ", ".join(f"{name}: {count}" for name, count in counts.most_common())
        outcomes = f"Outcomes of {len(explanations)} texts: {listed}."
        printed.console.print(outcomes, *audit_sentences(explanations.decisions), *notes, sep="\n", markup=False)
    if page is not None:
        printed.say(f"page: {page}")


def _check_given(given: str, column: str | None, out: str | None) -> None:
    """Refuse a folder, the name of a missing file, a column without a file, and a page that is a folder."""
    if out is not None and os.path.isdir(out):
        raise SettingError(f"--out must be a file, for example page.html; '{out}' is a folder.")
    if os.path.isdir(given):
        raise SettingError(f"TEXT|FILE must be a text or a file; '{given}' is a folder. Name a file in it.")
    if os.path.isfile(given):
        return
    if Path(given[-12:]).suffix.lower() in FILES and not any(mark.isspace() for mark in given):
        raise DataError(f"TEXT|FILE must be a text or a file that exists; there is no file '{given}'.")
    if column is not None:
        raise SettingError(
            f"--text cannot be combined with a text: it names a column, and '{given:.60}' is no file. Remove --text."
        )


def read_texts(
    path: Path, subject: "Subject", text: str | None, query: str | None, *, has_query: bool
) -> tuple[Pairs, list[str]]:
    """The texts of a file that have words, with their queries; and notes on what was left out.

    Args:
        text: the column of the texts; None: that of the run's data, or the usual one.
        query: the column of the queries; of a .txt file, the query of every line.
        has_query: whether a query is read with each text.
    """
    if path.suffix.lower() == ".txt":
        if text is not None:
            raise SettingError(f"--text cannot be combined with {path}: a .txt file has no columns. Remove --text.")
        places, pairs = _read_lines(path, query or "")
    else:
        places, pairs = _read_columns(path, subject, text, query, has_query=has_query)
    has_words = [all(map(subject.spans, pair if has_query else pair[:1])) for pair in pairs]
    if not any(has_words):
        raise DataError(f"{path} must have a text with words in it; it has none.")
    left_out = [place for place, is_kept in zip(places, has_words, strict=True) if not is_kept]
    kept = [pair for pair, is_kept in zip(pairs, has_words, strict=True) if is_kept]
    named = ", ".join(left_out[:MOST_NAMED]) + (" ..." if len(left_out) > MOST_NAMED else "")
    texts = "1 text" if len(left_out) == 1 else f"{len(left_out):,} texts"
    return kept, [f"Skipped, because they have no words: {texts} ({named})."] if left_out else []


def _read_lines(path: Path, query: str) -> tuple[list[str], Pairs]:
    """Where each line that is not blank stands, and the line with the query."""
    try:
        content = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise DataError(f"{path} must be UTF-8 text; {byte} is not. Save it as UTF-8.") from error
    lines = [(number, line) for number, line in enumerate(content.split("\n"), start=1) if line.strip()]
    return [f"line {number}" for number, _ in lines], [(line, query) for _, line in lines]


def _read_columns(
    path: Path, subject: "Subject", text: str | None, query: str | None, *, has_query: bool
) -> tuple[list[str], Pairs]:
    """Where each record stands, and its text with its query."""
    from heedful.data.sources.columns import QUERIES, usual_columns
    from heedful.data.sources.records import SUFFIXES, read_records, suffix_of

    if suffix_of(path) not in SUFFIXES:
        raise DataError(f"{path}: the file must end in .txt or in one of {', '.join(SUFFIXES)}.")
    file = read_records(path)
    single = file.columns[0] if len(file.columns) == 1 else None
    own = subject.own_data
    text_column = _column(file, "text", text, (own and own.text, usual_columns(file)[0], single))
    query_column = None
    if has_query:
        usual = next((column for column in file.columns if column.lower() in QUERIES and column != text_column), None)
        query_column = _column(file, "query", query, (own and own.query, usual))
    wanted = (text_column, query_column) if query_column else (text_column,)
    pairs = []
    for record, place in zip(file.records, file.places, strict=True):
        for column in wanted:
            if not isinstance(record.get(column), str):
                raise DataError(
                    f"{path}, {place}: column '{column}' must be a string; it is {record.get(column)!r:.60}."
                )
        pairs.append((str(record[text_column]), str(record[query_column]) if query_column else ""))
    return list(file.places), pairs


def _column(file: "RecordFile", role: str, named: str | None, guesses: tuple[str | None, ...]) -> str:
    """The column that is named, or the first of the guesses that is there."""
    known = f"Its columns are: {', '.join(file.columns)}."
    if named is not None and named not in file.columns:
        raise DataError(f"{file.name}: --{role} names column '{named}', which is not there. {known}")
    column = named or next((guess for guess in guesses if guess in file.columns), None)
    if column is None:
        raise DataError(f"{file.name}: cannot tell which column holds the {role}; name it by --{role}. {known}")
    return column
