"""Public datasets that can be fetched by name: how files become splits. `public_sets.toml` says where they are."""

import csv
import html
import io
import json
import random
import re
import string
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module, resources
from itertools import accumulate, pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import numpy

from heedful.data.sources.hatexplain_posts import PARTS, runs_of
from heedful.types import Split

Row = Mapping[str, object]
Splits = Mapping[Split, Sequence[Row]]
Files = Mapping[str, Path]
"""Downloaded files, by the names that `public_sets.toml` gives them."""


@dataclass(frozen=True)
class PublicFile:
    """Where a file is, and its SHA-256 (or "md5:" and its MD5)."""

    address: str
    hash: str


@dataclass(frozen=True)
class PublicSet:
    """A dataset that can be fetched.

    Args:
        read: from the downloaded files, by their names, to the rows of each split.
        columns: what every row has, texts first.
        labels: what the labels 0, 1, ... are called; empty if rows hold the names themselves.
        terms: what is known of the license.
        remark: how the set differs from the one that the study pages were computed on; empty if it is the same.
    """

    title: str
    task: str
    files: Mapping[str, PublicFile]
    read: Callable[[Files], Splits]
    columns: Sequence[str] = ("text", "label")
    labels: Sequence[str] = ()
    terms: str = "none stated; research use"
    remark: str = ""


# Members of archives, read one by one and never unpacked to disk.


def zip_member(path: Path, pattern: str) -> str:
    """The text of the one file in a zip archive whose name fits the pattern."""
    with zipfile.ZipFile(path) as archive:
        (name,) = (name for name in archive.namelist() if fnmatchcase(name, pattern))
        return archive.read(name).decode()


def tar_members(path: Path, pattern: str) -> Iterator[tuple[str, bytes]]:
    """The name and content of each file in a gzipped tar archive whose name fits the pattern."""
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            if fnmatchcase(name, pattern) and (content := archive.extractfile(member)) is not None:
                yield name, content.read()


# The Stanford Sentiment Treebank as Jain and Wallace keep it: one tree a line, a sentiment of 0 to 4 at each node.


def read_sst(files: Files) -> Splits:
    """Sentences that are not neutral as a whole; with the sentiment of each token."""
    lines = {split: files[split].read_text(encoding="utf-8").splitlines() for split in PARTS}
    return {split: [row for line in lines[split] if (row := read_tree(line))] for split in PARTS}


def read_tree(line: str) -> Row | None:
    """The sentence of a tree and its binary label; None if it is neutral.

    >>> read_tree("(3 (2 It) (3 (2 's) (4 good)))")
    {'text': "It 's good", 'label': 1, 'fine_label': 3, 'token_sentiment': [2, 2, 4]}
    """
    if not line.strip() or line[1] == "2":
        return None
    # A token has no space in it, so of the three that have one ("8 1/2") the first part is taken.
    leaves = [(sentiment, words.split()[0]) for sentiment, words in re.findall(r"\(([0-4]) ([^()]+)\)", line)]
    words = (word.replace("-LRB-", "(").replace("-RRB-", ")").replace("\\", "") for _, word in leaves)
    return {
        "text": " ".join(words),
        "label": int(line[1] > "2"),
        "fine_label": int(line[1]),
        "token_sentiment": [int(sentiment) for sentiment, _ in leaves],
    }


def read_sentence_polarity(files: Files) -> Splits:
    """Pang and Lee's sentences, positives first: 80% of each class for training, 10% for dev, the rest for test."""
    classes = {}
    for label, name in ((1, "pos"), (0, "neg")):
        lines = zip_member(files["archive"], f"*/rt-polarity.{name}").split("\n")
        classes[label] = [{"text": line.strip(), "label": label} for line in lines if line.strip()]

    def part(start: float, end: float) -> list[Row]:
        return [row for rows in classes.values() for row in rows[round(start * len(rows)) : round(end * len(rows))]]

    return {"train": part(0.0, 0.8), "dev": part(0.8, 0.9), "test": part(0.9, 1.0)}


# The large movie review set of Maas et al., whole and as a balanced sample of short reviews.

IMDB_DEV = 2_500
"""Training reviews of each class that are held out for dev."""
IMDB_SMALL: dict[Split, int] = {"train": 4_000, "dev": 1_000, "test": 2_000}
IMDB_SMALL_BELOW = 400
"""Words of the longest review in the small set and one more, as in Jain and Wallace."""


def read_imdb(files: Files) -> Splits:
    """The official test reviews; of the training ones, 2,500 a class for dev."""
    rows: dict[str, list[dict[str, Any]]] = {
        f"{part}/{name}": [] for part in ("train", "test") for name in ("pos", "neg")
    }
    for path, content in tar_members(files["archive"], "aclImdb/t*/[pn]*/*.txt"):
        name = path.removeprefix("aclImdb/").removesuffix(".txt")
        rows[name.rpartition("/")[0]].append(_review(name, content.decode()))
    for part in rows.values():
        part.sort(key=lambda row: row["id"])
    generator = random.Random(1378)
    for name in ("train/pos", "train/neg"):
        generator.shuffle(rows[name])
    splits: dict[Split, list[Row]] = {
        "train": [*rows["train/pos"][:-IMDB_DEV], *rows["train/neg"][:-IMDB_DEV]],
        "dev": [*rows["train/pos"][-IMDB_DEV:], *rows["train/neg"][-IMDB_DEV:]],
        "test": [*rows["test/neg"], *rows["test/pos"]],
    }
    for part in splits.values():
        generator.shuffle(part)
    return splits


def read_small_imdb(files: Files) -> Splits:
    """Of each split, a balanced sample of the reviews of fewer than 400 words."""
    splits, generator = read_imdb(files), random.Random(2023)
    small: dict[Split, list[Row]] = {}
    for split, count in IMDB_SMALL.items():
        short = [row for row in splits[split] if int(str(row["n_words"])) < IMDB_SMALL_BELOW]
        classes = ([row for row in short if row["label"] == label] for label in (0, 1))
        small[split] = [row for rows in classes for row in generator.sample(rows, count // 2)]
        generator.shuffle(small[split])
    return small


def _review(name: str, content: str) -> dict[str, Any]:
    text = " ".join(re.sub(r"<br\s*/?>", " ", content).split())
    no_words = str.maketrans(dict.fromkeys(set(string.punctuation) - {"'"}, " "))
    return {
        "text": text,
        "label": int("/pos/" in name),
        "rating": int(name.rpartition("_")[2]),
        "id": name,
        "n_words": len(text.translate(no_words).split()),
    }


def read_tweeteval(files: Files) -> Splits:
    """Each text with the label on the same line of another file; a few texts are empty."""
    splits: dict[Split, list[Row]] = {}
    for split, name in PARTS.items():
        # Only a line feed ends a line: tweets contain other separators.
        lines = files[f"{name}_text"].read_bytes().decode().removesuffix("\n").split("\n")
        labels = files[f"{name}_labels"].read_text(encoding="utf-8").split()
        splits[split] = [{"text": t.strip(), "label": int(label)} for t, label in zip(lines, labels, strict=True)]
    return splits


# AG News, world against business: descriptions alone, as in Jain and Wallace.


def read_ag_news(files: Files) -> Splits:
    """The official test articles; 15% of the training articles with a different beginning for dev."""
    test, taken = _articles(files["test"], set())
    train, _ = _articles(files["train"], taken)
    random.Random(16377).shuffle(train)
    held_out = round(0.15 * len(train))
    return {"train": train[held_out:], "dev": train[:held_out], "test": test}


def _articles(path: Path, taken: set[str]) -> tuple[list[Row], set[str]]:
    """The articles on world and business, and how they begin; without those that begin as one that is taken."""
    articles, beginnings = [], set(taken)
    with path.open(encoding="utf-8", newline="") as file:
        for number, title, description in csv.reader(file):
            text = clean_news(description)
            beginning = "".join(re.findall(r"\w", text.lower()))[:60]
            if number in ("1", "3") and not (taken and beginning in beginnings):
                articles.append({"text": text, "title": clean_news(title), "label": int(number == "3")})
                beginnings.add(beginning)
    return articles, beginnings


def clean_news(text: str) -> str:
    r"""The text without back-slashes, mark-up and escapes.

    >>> clean_news("Google #39;s shares\\up 5; &lt;b&gt;AP&lt;/b&gt; #151; quot;good quot;")
    'Google\'s shares up 5; AP - "good "'
    """
    text = text.replace("\\", " ")
    text = re.sub(r"(?<!&)#15[01];", "-", text).replace("#146;", "'")
    text = re.sub(r"(?<!&)#(\d{2,3});", r"&#\1;", text)
    text = html.unescape(re.sub(r"(?<![&\w])(quot|amp);", r"&\1;", text))
    text = re.sub(r"<[^>]+>", " ", text)
    return " ".join(re.sub(r"(\w) '(s|re|ve|ll|d|m|t)\b", r"\1'\2", text).split())


# Three sets of the 20 Newsgroups, "by date", without headers, footers and quotes.

SPORTS = ("rec.sport.baseball", "rec.sport.hockey")
TOPICS = ("rec.motorcycles", "sci.med", "talk.politics.guns")
TOPICS_DEV, TOPICS_TEST = 240, 273


@dataclass(frozen=True, order=True)
class Post:
    """A post of a group: in which part of the official split, which file, and what it says."""

    part: str
    group: str
    file: str
    text: str


def read_newsgroups(files: Files) -> Splits:
    """The official split, a tenth of train held out for dev; white space collapsed, 6,000 characters at most."""
    rows: dict[str, list[Row]] = {"train": [], "test": []}
    posts = sorted(read_posts(files["archive"]))
    groups = sorted({post.group for post in posts})
    for post in posts:
        if text := " ".join(post.text.split())[:6_000]:
            label = groups.index(post.group)
            rows[post.part].append({"text": text, "label": label, "id": f"{post.group}/{post.file}"})
    generator = random.Random(1995)
    generator.shuffle(rows["train"])
    generator.shuffle(rows["test"])
    held_out = len(rows["train"]) // 10
    return {"train": rows["train"][held_out:], "dev": rows["train"][:held_out], "test": rows["test"]}


def read_sports(files: Files) -> Splits:
    """Baseball and hockey, split as Jain and Wallace do: stratified, 64 : 16 : 20."""
    split = import_module("sklearn.model_selection").train_test_split
    rows = _rows_of(SPORTS, read_posts(files["archive"]))
    rest, test = split(rows, stratify=[row["label"] for row in rows], test_size=0.2, random_state=13478)
    train, dev = split(rest, stratify=[row["label"] for row in rest], test_size=0.2, random_state=13478)
    return {"train": train, "dev": dev, "test": test}


def read_topics(files: Files) -> Splits:
    """Motorcycles, medicine and guns, split in about the sizes of Sun and Lu."""
    rows = _rows_of(TOPICS, read_posts(files["archive"]))
    random.Random(20200).shuffle(rows)
    dev, test = len(rows) - TOPICS_DEV - TOPICS_TEST, len(rows) - TOPICS_TEST
    return {"train": rows[:dev], "dev": rows[dev:test], "test": rows[test:]}


def read_posts(archive: Path) -> list[Post]:
    """All posts, without headers, footers and quotes."""
    module = import_module("sklearn.datasets._twenty_newsgroups")
    posts = []
    for name, content in tar_members(archive, "20news-bydate-t*/*/*"):
        folder, group, file = PurePosixPath(name).parts
        text = content.decode("latin-1")
        for part in ("header", "footer", "quoting"):
            text = getattr(module, f"strip_newsgroup_{part}")(text)
        posts.append(Post(folder.removeprefix("20news-bydate-"), group, file, text.strip()))
    return posts


def _rows_of(groups: Sequence[str], posts: Sequence[Post]) -> list[Row]:
    """The posts of some groups that are not empty, one group after the other, each in scikit-learn's order."""

    def shuffled(posts: Sequence[Post], seed: int) -> list[Post]:
        order = numpy.arange(len(posts))
        numpy.random.RandomState(seed).shuffle(order)
        return [posts[int(place)] for place in order]

    parts = [sorted(post for post in posts if post.part == part) for part in ("train", "test")]
    order = shuffled([post for part in parts for post in shuffled(part, 0)], 42)
    return [
        {"text": post.text, "label": label}
        for label, group in enumerate(groups)
        for post in order
        if post.group == group and post.text
    ]


# A sample of the DBpedia ontology set: 1,000 abstracts of each of 14 classes.

DBPEDIA_DEV, DBPEDIA_TEST = 100, 200
"""Texts of each class."""


def read_dbpedia(files: Files) -> Splits:
    """The abstracts, each class split alike."""
    classes: dict[int, list[Row]] = {number: [] for number in range(14)}
    with files["sample"].open(encoding="utf-8", newline="") as file:
        for number, words in csv.reader(file):
            classes[int(number)].append({"text": join_words(words), "label": int(number)})
    generator = random.Random(2015)
    splits: dict[Split, list[Row]] = {"train": [], "dev": [], "test": []}
    for rows in classes.values():
        generator.shuffle(rows)
        splits["dev"] += rows[:DBPEDIA_DEV]
        splits["test"] += rows[DBPEDIA_DEV : DBPEDIA_DEV + DBPEDIA_TEST]
        splits["train"] += rows[DBPEDIA_DEV + DBPEDIA_TEST :]
    for rows in splits.values():
        generator.shuffle(rows)
    return splits


def join_words(words: str) -> str:
    """The text that was cut into these words: no space before a closing mark or after an opening one.

    >>> join_words("He was ( as they say ) the band 's singer , was n't he ?")
    "He was (as they say) the band's singer, wasn't he?"
    """
    text = re.sub(r"``\s?|\s?''", '"', " ".join(words.split()))
    text = re.sub(r" ([,.;:?!)\]}%])", r"\1", text)
    text = re.sub(r"([(\[{$#]) ", r"\1", text)
    return re.sub(r" (n't|'(?:s|re|ve|ll|d|m)?)(?!\w)", r"\1", text)


# Reviews and answers as Zhang, Zhao and LeCun (2015) publish them: a class from 1, then the parts of a text.


def read_documents(files: Files) -> Splits:
    """The official test texts; a tenth of the training ones for dev."""
    rows: dict[str, list[Row]] = {}
    for name, content in tar_members(files["archive"], "*/t*.csv"):
        lines = csv.reader(io.StringIO(content.decode(), newline=""))
        texts = ((" ".join(" ".join(parts).replace("\\n", " ").split()), int(number) - 1) for number, *parts in lines)
        rows[PurePosixPath(name).stem] = [{"text": text, "label": label} for text, label in texts if text]
    random.Random(2019).shuffle(rows["train"])
    held_out = len(rows["train"]) // 10
    return {"train": rows["train"][held_out:], "dev": rows["train"][:held_out], "test": rows["test"]}


# Tasks of bAbI: stories, a question on each, and the statements that answer it.


def read_babi(files: Files) -> Splits:
    """The official split into training, validation and test questions.

    Of task 3 train is the 1,000 official questions and the first 800 of the larger set's validation; dev is the rest.
    """
    rows = {name: read_stories(path.read_text(encoding="utf-8")) for name, path in files.items()}
    if "train" in rows:
        return {"train": rows["train"], "dev": rows["valid"], "test": rows["test"]}
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
        if not answer and question:
            statements[number] = f"{question.strip().removesuffix('.')} ."
        elif answer:
            starts = accumulate((len(statement.split(" ")) for statement in statements.values()), initial=0)
            spans, supporting = list(pairwise(starts)), [list(statements).index(each) for each in answer[1].split()]
            rows.append(
                {
                    "context": " ".join(statements.values()),
                    "question": question.strip().removesuffix("?").strip(),
                    "answer": answer[0].strip(),
                    "n_sentences": len(statements),
                    "supporting_sentences": supporting,
                    "rationale": sorted(list(spans[place]) for place in supporting),
                }
            )
    return rows


SNLI_LABELS = ("neutral", "contradiction", "entailment")
"""In Jain and Wallace's order."""


def read_snli(files: Files) -> Splits:
    """The official split, without the pairs that have no agreed label."""

    def pairs(split: str) -> list[Row]:
        lines = zip_member(files["archive"], f"snli_1.0/snli_1.0_{split}.jsonl").splitlines()
        return [
            {
                "premise": pair["sentence1"],
                "hypothesis": pair["sentence2"],
                "label": SNLI_LABELS.index(pair["gold_label"]),
            }
            for pair in map(json.loads, lines)
            if pair["gold_label"] in SNLI_LABELS
        ]

    return {split: pairs(split) for split in PARTS}


# HateXplain: posts that are toxic or not by majority, with the words that annotators marked.


def read_hatexplain(files: Files) -> Splits:
    """The authors' division, which leaves out posts on which no two of three annotators agree."""
    posts = json.loads(files["posts"].read_text(encoding="utf-8"))
    division = json.loads(files["division"].read_text(encoding="utf-8"))
    return {split: [_toxic_or_not(name, posts[name]) for name in division[part]] for split, part in PARTS.items()}


def _toxic_or_not(name: str, post: Mapping[str, Any]) -> Row:
    normal = sum(annotator["label"] == "normal" for annotator in post["annotators"])
    is_toxic = 2 * normal < len(post["annotators"])
    marked = [place for place, marks in enumerate(zip(*post["rationales"], strict=False)) if any(marks)]
    return {
        "text": " ".join(post["post_tokens"]),
        "label": int(is_toxic),
        "rationale": [list(span) for span in runs_of(marked)] if is_toxic else [],
        "id": name,
    }


# Movie reviews with human rationales, from the ERASER benchmark.


def read_movies(files: Files) -> Splits:
    """The official split; no review of dev or test is in train."""
    members = dict(tar_members(files["archive"], "movies/*"))
    entries: dict[Split, list[dict[str, Any]]] = {
        split: [json.loads(line) for line in members[f"movies/{name}.jsonl"].decode().splitlines()]
        for split, name in PARTS.items()
    }
    held_out = {entry["annotation_id"] for entry in (*entries["dev"], *entries["test"])}
    entries["train"] = [entry for entry in entries["train"] if entry["annotation_id"] not in held_out]

    def row(entry: Mapping[str, Any]) -> Row:
        name = entry["annotation_id"]
        spans = {(each["start_token"], each["end_token"]) for evidence in entry["evidences"] for each in evidence}
        return {
            "text": " ".join(members[f"movies/docs/{name}"].decode().split()),
            "label": int(entry["classification"] == "POS"),
            "rationale": [[start, end] for start, end in sorted(spans) if start < end],
            "id": name,
        }

    return {split: list(map(row, part)) for split, part in entries.items()}


READERS: dict[str, Callable[[Files], Splits]] = {
    "ag_news": read_ag_news,
    "babi": read_babi,
    "dbpedia": read_dbpedia,
    "documents": read_documents,
    "hatexplain": read_hatexplain,
    "imdb": read_imdb,
    "movies": read_movies,
    "newsgroups": read_newsgroups,
    "sentence_polarity": read_sentence_polarity,
    "small_imdb": read_small_imdb,
    "snli": read_snli,
    "sports": read_sports,
    "sst": read_sst,
    "topics": read_topics,
    "tweeteval": read_tweeteval,
}


def _public_set(read: str, files: Mapping[str, Mapping[str, str]], **described: Any) -> PublicSet:
    known = {name: PublicFile(**file) for name, file in files.items()}
    return PublicSet(read=READERS[read], files=known, **described)


_TABLE = (resources.files("heedful.data") / "public_sets.toml").read_text(encoding="utf-8")
PUBLIC_SETS = {name: _public_set(**described) for name, described in tomllib.loads(_TABLE).items()}
