"""HateXplain as its authors publish it: three labels, and what each annotator marked.

Mathew et al. (2021, arXiv:2012.10289): `dataset.json` has every post with its tokens, the label that each of three
annotators gave, and the marks of those who called it hateful or offensive; `post_id_divisions.json` says which posts
are for training, validation and testing.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from heedful.data.labeled_texts import Dropped, LabeledText, LabeledTexts
from heedful.data.rationales import characters_of
from heedful.data.sources.records import decode
from heedful.data.tokenizer import Span
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings
from heedful.settings.data_folder import user_path
from heedful.types import Split

POSTS, DIVISIONS = "dataset.json", "post_id_divisions.json"
LABELS = ("normal", "offensive", "hatespeech")
PARTS: dict[Split, str] = {"train": "train", "dev": "val", "test": "test"}


@dataclass(frozen=True, slots=True)
class Post:
    """A post with the majority's label.

    Args:
        label: None if each annotator gave a different one.
        annotators: [start, end) spans over `text.split(" ")` of each annotator whose marks are published: those who
            called the post hateful or offensive, so none for a normal one.
        unusable: how many annotators marked another number of tokens than the post has.
    """

    id: str
    text: str
    label: str | None
    annotators: tuple[tuple[Span, ...], ...]
    unusable: int = 0

    @property
    def union(self) -> tuple[Span, ...]:
        """What any annotator marked, as HateXplain's evaluation takes it."""
        words = sorted({word for spans in self.annotators for start, end in spans for word in range(start, end)})
        return tuple(runs_of(words))


def is_hatexplain(folder: Path) -> bool:
    """Whether a folder has HateXplain's two files."""
    return (folder / POSTS).is_file() and (folder / DIVISIONS).is_file()


def load(data: DataSettings) -> LabeledTexts:
    """The posts of the folder that `data.source` names, each with the label that at least two annotators gave.

    The marks of a text are the union of the annotators', as in HateXplain's evaluation; normal posts have an empty one.
    Posts on which no two agree are dropped, as there.
    """
    folder = user_path(data.source, "DATA")
    if not is_hatexplain(folder):
        raise DataError(f"{folder} must have {POSTS} and {DIVISIONS}, as HateXplain's authors publish them.")
    if given := [role for role in ("text", "label", "query", "rationale") if getattr(data, role) is not None]:
        raise SettingError(f"--{given[0]} names a column, but HateXplain has its own names; leave it out.")
    posts, divisions = read_posts(folder / POSTS), _divisions(folder / DIVISIONS)
    parts: dict[Split, list[LabeledText]] = {}
    missing = 0
    for split, name in PARTS.items():
        there = [posts[post] for post in divisions[name] if post in posts]
        missing += len(divisions[name]) - len(there)
        parts[split] = [_labelled(post) for post in there if post.label is not None]
    undecided = sum(post.label is None for post in posts.values())
    return LabeledTexts(
        name="hatexplain",
        task="classification",
        **parts,
        labels=LABELS,
        notes=tuple(_notes(posts.values(), missing)),
        dropped=(Dropped(undecided, "posts without a majority", POSTS),) if undecided else (),
    )


def read_posts(path: Path) -> dict[str, Post]:
    """All posts of `dataset.json` by their ids."""
    content = _json(path)
    if not isinstance(content, dict) or not content:
        raise DataError(f"{path} must be a JSON object with a post for each id.")
    return {str(name): _post(str(name), record, f"{path}, post {name}") for name, record in content.items()}


def _post(name: str, record: object, place: str) -> Post:
    match record:
        case {"post_tokens": [*tokens], "annotators": [*annotators], **others}:
            marks = others.get("rationales") or []
        case _:
            raise DataError(f"{place}: must be an object with post_tokens, annotators and rationales.")
    if not all(isinstance(token, str) for token in tokens) or not isinstance(marks, list):
        raise DataError(f"{place}: post_tokens must be strings, and rationales lists of 0 and 1.")
    # A token may hold a space; then it is several words.
    widths = [token.count(" ") + 1 for token in tokens]
    starts = list(accumulate(widths, initial=0))
    usable = [flags for flags in marks if isinstance(flags, list) and len(flags) == len(tokens)]
    spans = tuple(_spans(flags, starts) for flags in usable)
    return Post(name, " ".join(tokens), _majority(annotators, place), spans, len(marks) - len(usable))


def _majority(annotators: Sequence[object], place: str) -> str | None:
    """The label that two annotators or more gave."""
    labels = [annotator.get("label") if isinstance(annotator, dict) else None for annotator in annotators]
    for label in labels:
        if label not in LABELS:
            raise DataError(f"{place}: each annotator's label must be one of {', '.join(LABELS)}; it is {label!r:.40}.")
    if not labels:
        return None
    label, count = Counter(labels).most_common(1)[0]
    return label if count > 1 else None


def _spans(flags: Sequence[object], starts: Sequence[int]) -> tuple[Span, ...]:
    """The runs of words whose tokens are marked."""
    words = [word for token, flag in enumerate(flags) if flag for word in range(starts[token], starts[token + 1])]
    return tuple(runs_of(words))


def runs_of(words: Sequence[int]) -> Iterator[Span]:
    """[start, end) of each run of consecutive numbers.

    >>> list(runs_of([0, 1, 4]))
    [(0, 2), (4, 5)]
    """
    begin = None
    for place, word in enumerate(words):
        begin = word if begin is None else begin
        if place + 1 == len(words) or words[place + 1] != word + 1:
            yield begin, word + 1
            begin = None


def _labelled(post: Post) -> LabeledText:
    marks = tuple(characters_of(post.text, spans) for spans in post.annotators) or None
    return LabeledText(post.text, post.label or "", rationale=post.union, id=post.id, marks=marks)


def _divisions(path: Path) -> Mapping[str, Sequence[str]]:
    content = _json(path)
    match content:
        case {"train": [*train], "val": [*dev], "test": [*test]}:
            return {"train": [*map(str, train)], "val": [*map(str, dev)], "test": [*map(str, test)]}
    raise DataError(f"{path} must be a JSON object with the ids of train, val and test.")


def _json(path: Path) -> object:
    try:
        return json.loads(decode(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is not valid JSON: {error}. Download it again.") from error


def _notes(posts: Collection[Post], missing: int) -> Iterator[str]:
    marked = [post for post in posts if post.annotators]
    several = sum(len(post.annotators) > 1 for post in marked)
    yield f"marks are the union of the annotators'; {several} of {len(marked)} marked posts have several annotators"
    if unusable := sum(post.unusable for post in posts):
        yield f"{unusable} annotators' marks have another length than their post, and are left out"
    if missing:
        yield f"{missing} posts that {DIVISIONS} names are not in {POSTS}"
