"""Datasets in ERASER's format: documents in a folder or a file, and a file of annotations for each split.

DeYoung et al. (2020, arXiv:1911.03429): `docs/` has a file for each document (or `docs.jsonl` a line), a sentence a
line, tokens separated by spaces; `train.jsonl`, `val.jsonl` and `test.jsonl` have an annotation a line, whose evidences
are groups of [start_token, end_token) spans of documents.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from heedful.data.labeled_texts import SPLITS, Dropped, LabeledText, LabeledTexts
from heedful.data.sources.columns import label_name
from heedful.data.sources.records import Record, RecordFile, decode, read_records
from heedful.data.tokenizer import Span
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings
from heedful.settings.data_folder import user_path
from heedful.types import Split, Task

FILES: dict[Split, str] = {"train": "train.jsonl", "dev": "val.jsonl", "test": "test.jsonl"}
DOCUMENTS = "docs"


def is_eraser(folder: Path) -> bool:
    """Whether a folder has documents and annotations as ERASER's datasets have."""
    has_documents = (folder / DOCUMENTS).is_dir() or (folder / f"{DOCUMENTS}.jsonl").is_file()
    return has_documents and (folder / FILES["train"]).is_file()


def load(data: DataSettings) -> LabeledTexts:
    """The labeled texts of the folder that `data.source` names, with the tokens that annotators marked.

    A text is the document, its tokens separated by single spaces; of several documents (e-SNLI), one after the other.
    It is classification where all queries are the same; elsewhere (FEVER, BoolQ, MultiRC) the query goes with the text.
    An annotation without evidence has no marks: in ERASER that means that no annotator marked any.
    """
    folder = user_path(data.source, "DATA")
    if not is_eraser(folder):
        raise DataError(
            f"{folder} must have {DOCUMENTS}/ (or {DOCUMENTS}.jsonl) and {FILES['train']}, as ERASER's datasets have."
        )
    if given := [role for role in ("text", "label", "query", "rationale") if getattr(data, role) is not None]:
        raise SettingError(f"--{given[0]} names a column, but ERASER's format has its own names; leave it out.")
    documents, losses = _Documents(folder), _Losses()
    files: dict[Split, RecordFile] = {split: _annotations(folder / FILES[split]) for split in SPLITS}
    queries = {str(record.get("query") or "") for file in files.values() for record in file.records}
    task = data.task or _task(queries)
    parts: dict[Split, list[LabeledText]] = {
        split: _texts(file, split, documents, losses, task) for split, file in files.items()
    }
    return LabeledTexts(
        name=folder.resolve().name,
        task=task,
        **parts,
        notes=tuple(losses.notes()),
        dropped=tuple(
            Dropped(count, "annotations without a label or a document", split)
            for split, count in losses.unusable.items()
        ),
    )


@dataclass
class _Losses:
    """What of the annotations could not be used."""

    unusable: Counter[Split] = field(default_factory=Counter)
    spans: int = 0
    outside: int = 0
    first: str = ""

    def count_span(self, is_inside: bool, place: str) -> None:
        self.spans += 1
        if not is_inside:
            self.outside += 1
            self.first = self.first or place

    def notes(self) -> Iterator[str]:
        if 2 * self.outside > self.spans:
            raise DataError(
                f"evidences must be words of their documents; {self.outside} of {self.spans} are empty or lie outside "
                f"(first: {self.first}). Are these the documents of another dataset?"
            )
        if self.outside:
            lost = f"{self.outside} of {self.spans} evidences"
            yield f"{lost} are empty or outside of their document (first: {self.first})"


class _Documents:
    """The tokens of documents, read when they are first asked for."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.known: dict[str, tuple[str, ...]] = {}

    @cached_property
    def lines(self) -> Mapping[str, str]:
        """All documents of `docs.jsonl`, where there is one."""
        path = self.folder / f"{DOCUMENTS}.jsonl"
        if not path.is_file():
            return {}
        return {str(record.get("docid")): str(record.get("document") or "") for record in read_records(path).records}

    def tokens(self, name: str) -> tuple[str, ...] | None:
        """The tokens of a document; None if no document has that name."""
        if name not in self.known:
            text = self._text(name)
            if text is None:
                return None
            lines = re.split(r"\r\n|\r|\n", text)
            self.known[name] = tuple(token for line in lines for token in line.strip().split(" ") if token)
        return self.known[name]

    def _text(self, name: str) -> str | None:
        if self.lines:
            return self.lines.get(name)
        # The name comes from an untrusted file: it must name a file in this folder, without a path out of it.
        path = self.folder / DOCUMENTS / name
        is_plain = bool(name) and name == path.name and name not in (".", "..") and "\x00" not in name
        return decode(path) if is_plain and path.is_file() and not path.is_symlink() else None


def _annotations(path: Path) -> RecordFile:
    if not path.is_file():
        raise DataError(f"there is no {path}: ERASER's datasets have {', '.join(FILES.values())}.")
    return read_records(path)


def _task(queries: set[str]) -> Task:
    return "classification" if len(queries) == 1 else "qa"


def _texts(file: RecordFile, split: Split, documents: _Documents, losses: _Losses, task: Task) -> list[LabeledText]:
    texts: list[LabeledText] = []
    for record, place, row in zip(file.records, file.places, file.rows, strict=True):
        where = f"{file.name}, {place}"
        label = label_name(record.get("classification"), "classification", where)
        evidences = _evidences(record, where)
        names = _document_names(record, evidences)
        tokens = [documents.tokens(name) for name in names]
        if label is None or not names or None in tokens:
            losses.unusable[split] += 1
            continue
        starts, words = _joined(dict(zip(names, (own or () for own in tokens), strict=True)))
        spans = [_span(evidence, starts, losses, where) for evidence in evidences]
        marks = tuple(sorted({span for span in spans if span is not None})) if evidences else None
        query = str(record.get("query") or "") if task != "classification" else ""
        texts.append(LabeledText(" ".join(words), label, query, marks, row, str(record.get("annotation_id", row))))
    if 2 * losses.unusable[split] > len(file.records):
        raise DataError(
            f"{file.name}: {losses.unusable[split]} of {len(file.records)} annotations have no label, or a document "
            f"that is not in {documents.folder / DOCUMENTS}. Is the folder complete?"
        )
    return texts


def _evidences(record: Record, where: str) -> list[Mapping]:
    groups = record.get("evidences") or []
    flat = [evidence for group in _listed(groups) for evidence in _listed(group)]
    for evidence in flat:
        match evidence:
            case {"docid": str(), "start_token": int(), "end_token": int()}:
                continue
        raise DataError(
            f"{where}: 'evidences' must be groups of objects with docid, start_token and end_token; it holds "
            f"{json.dumps(evidence, default=str):.60}."
        )
    return flat


def _document_names(record: Record, evidences: Sequence[Mapping]) -> list[str]:
    """The documents of an annotation: as it names them, else those of its evidences, else the one of its own name."""
    named = [str(name) for name in _listed(record.get("docids") or [])]
    used = [str(evidence["docid"]) for evidence in evidences]
    return list(dict.fromkeys([*named, *used])) or [str(record.get("annotation_id", ""))]


def _joined(documents: Mapping[str, tuple[str, ...]]) -> tuple[dict[str, Span], list[str]]:
    """At which word each document begins and ends, and all words."""
    places: dict[str, Span] = {}
    words: list[str] = []
    for name, tokens in documents.items():
        places[name] = (len(words), len(words) + len(tokens))
        words += tokens
    return places, words


def _span(evidence: Mapping, places: Mapping[str, Span], losses: _Losses, where: str) -> Span | None:
    """The words of an evidence; None, and counted, where it lies outside of its document or is empty."""
    begin, end = places[str(evidence["docid"])]
    first, last = begin + evidence["start_token"], begin + evidence["end_token"]
    is_inside = begin <= first < last <= end
    losses.count_span(is_inside, where)
    return (first, last) if is_inside else None


def _listed(value: object) -> Sequence:
    return value if isinstance(value, list | tuple) else [value]
