"""Three sets of the 20 Newsgroups, "by date", without headers, footers and quotes."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePosixPath

import numpy

from heedful.data.fetching.archives import tar_members
from heedful.data.fetching.recipe import Recipe, Row, Splits

FILES = {"archive": "https://ndownloader.figshare.com/files/5975967"}
"""Where scikit-learn gets them, too."""
SPORTS = ("rec.sport.baseball", "rec.sport.hockey")
TOPICS = ("rec.motorcycles", "sci.med", "talk.politics.guns")
TOPICS_DEV, TOPICS_TEST = 240, 273
GROUPS = (
    "alt.atheism",
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "soc.religion.christian",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.politics.misc",
    "talk.religion.misc",
)


@dataclass(frozen=True, order=True)
class Post:
    """A post of a group: in which part of the official split, which file, and what it says."""

    part: str
    group: str
    file: str
    text: str


def read_all(files: Mapping[str, Path]) -> Splits:
    """The official split, a tenth of train held out for dev; white space collapsed, 6,000 characters at most."""
    posts = sorted(read_posts(files["archive"]))
    rows = {part: [_collapsed(post) for post in posts if post.part == part] for part in ("train", "test")}
    kept = {part: [row for row in some if row["text"]] for part, some in rows.items()}
    generator = random.Random(1995)
    generator.shuffle(kept["train"])
    generator.shuffle(kept["test"])
    held_out = len(kept["train"]) // 10
    return {"train": kept["train"][held_out:], "dev": kept["train"][:held_out], "test": kept["test"]}


def read_sports(files: Mapping[str, Path]) -> Splits:
    """Baseball and hockey, split as Jain and Wallace do: stratified, 64 : 16 : 20."""
    split = import_module("sklearn.model_selection").train_test_split
    rows = _rows_of(SPORTS, read_posts(files["archive"]))
    rest, test = split(rows, stratify=[row["label"] for row in rows], test_size=0.2, random_state=13478)
    train, dev = split(rest, stratify=[row["label"] for row in rest], test_size=0.2, random_state=13478)
    return {"train": train, "dev": dev, "test": test}


def read_topics(files: Mapping[str, Path]) -> Splits:
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
        for strip in (
            module.strip_newsgroup_header,
            module.strip_newsgroup_footer,
            module.strip_newsgroup_quoting,
        ):
            text = strip(text)
        posts.append(Post(folder.removeprefix("20news-bydate-"), group, file, text.strip()))
    return posts


def _rows_of(groups: Sequence[str], posts: Sequence[Post]) -> list[Row]:
    """The posts of some groups that are not empty, one group after the other, each in scikit-learn's order."""
    order = _shuffled([post for part in ("train", "test") for post in _shuffled(_of(part, posts), 0)], 42)
    return [
        {"text": post.text, "label": label}
        for label, group in enumerate(groups)
        for post in order
        if post.group == group and post.text
    ]


def _of(part: str, posts: Sequence[Post]) -> list[Post]:
    return sorted(post for post in posts if post.part == part)


def _shuffled(posts: Sequence[Post], seed: int) -> list[Post]:
    order = numpy.arange(len(posts))
    numpy.random.RandomState(seed).shuffle(order)
    return [posts[int(place)] for place in order]


def _collapsed(post: Post) -> Row:
    text = " ".join(post.text.split())[:6_000]
    return {"text": text, "label": GROUPS.index(post.group), "id": f"{post.group}/{post.file}"}


_TERMS = "none stated; public Usenet posts, distributed for research"
RECIPES = {
    "newsgroups_20": Recipe(
        "20 Newsgroups, all 20 groups", "20-class topic classification", FILES, read_all, labels=GROUPS, terms=_TERMS
    ),
    "newsgroups_sports": Recipe(
        "20 Newsgroups: baseball vs hockey",
        "binary topic classification",
        FILES,
        read_sports,
        labels=SPORTS,
        terms=_TERMS,
    ),
    "newsgroups_topics3": Recipe(
        "20 Newsgroups: motorcycles / medicine / guns",
        "3-class topic classification",
        FILES,
        read_topics,
        labels=TOPICS,
        terms=_TERMS,
    ),
}
