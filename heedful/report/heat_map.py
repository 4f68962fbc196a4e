"""One text as a heat map: its words, and the weight of each. Every view draws this."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from math import isfinite
from unicodedata import category

from heedful.formatting import printable as drawable

PALE = 3.0
"""Full color is the largest weight, but this many times the mean at least: uniform attention stays pale."""
FAINT = 0.05
"""Negative weights below this share of full color are not marked as opposing the prediction."""

# A text may come from anywhere: control characters could move the cursor, and marks of direction reorder the line.
UNSAFE = {code: " " for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}
UNSAFE |= {code: "" for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}


@dataclass(frozen=True)
class HeatMap:
    """A text and the weight of each of its words.

    Args:
        words: as to be shown; sentences if the model attends to these.
        weights: one per word; None or NaN if undefined.
        gaps: text before each word, and after the last one; spaces if empty.
        marks: positions of words by kind ("key", "loose", "top"), which is their class on a page.
    """

    title: str
    note: str
    words: Sequence[str]
    weights: Sequence[float | None]
    gaps: Sequence[str] = ()
    marks: Mapping[str, frozenset[int]] = field(default_factory=dict)

    @cached_property
    def sizes(self) -> list[float]:
        """The absolute weight of each word; 0 if undefined."""
        return [abs(weight) if weight is not None and isfinite(weight) else 0.0 for weight in self.weights]

    @property
    def full(self) -> float:
        """The weight of full color."""
        return max(max(self.sizes, default=0.0), PALE * sum(self.sizes) / max(1, len(self.sizes)))

    def strength(self, place: int) -> float:
        """The color of a word, from 0 to 1."""
        return round(self.sizes[place] / self.full, 3) if self.full > 0 else 0.0

    def value(self, place: int) -> str:
        """The weight of a word, as text."""
        weight = self.weights[place]
        return f"{weight:.2g}" if weight is not None and isfinite(weight) else "undefined"

    def gap(self, place: int) -> str:
        """The text before a word; after the last one, if the place is the number of words."""
        return self.gaps[place] if self.gaps else " " * (0 < place < len(self.words))

    def kinds(self, place: int) -> list[str]:
        """What a word is marked as."""
        opposes = (self.weights[place] or 0.0) < -FAINT * self.full
        return ["against"] * opposes + [kind for kind, places in self.marks.items() if place in places]

    @property
    def description(self) -> str:
        """Every word with its weight, for those who do not see colors."""
        listed = (f"{word}: {self.value(place)}" for place, word in enumerate(self.words))
        return f"{self.title}. {'; '.join(listed)}"

    def heaviest(self, item: str = "word") -> str:
        """The three words with the largest weights."""
        order = sorted((place for place, size in enumerate(self.sizes) if size > 0), key=lambda at: -self.sizes[at])
        if not order:
            is_defined = any(self.value(place) != "undefined" for place in range(len(self.words)))
            return f"0 for every {item}" if is_defined else "undefined"
        listed = (f"{quoted(self.words[place])}\N{NO-BREAK SPACE}{self.value(place)}" for place in order[:3])
        return f"most: {', '.join(listed)}"


def printable(text: str) -> str:
    r"""The text without the characters that control a terminal or reorder a line.

    >>> printable("red\x1b[0m \u202eeulb")
    'red [0m eulb'
    """
    return text.translate(UNSAFE)


def named(word: str) -> str:
    """The word as it can be printed; its code points if nothing of it can be seen."""
    return printable(word) if printable(word).strip() else _numbered(word)


def quoted(word: str) -> str:
    """The word in quotation marks, not too long; its code points if nothing of it can be seen alone."""
    is_visible = any(category(character)[0] not in "CMZ" for character in word)
    return f"“{cut(printable(word) if is_visible else _numbered(word), 40)}”"


def cut(text: str, most: int) -> str:
    """The text, shortened to a number of characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _numbered(word: str) -> str:
    return " ".join(f"U+{ord(character):04X}" for character in word)


# As a file.

WIDTH, TOP = 640, 24
LETTER, GAP, LINE = 7.4, 12.0, 26.0
"""Mean width of a letter, room next to each word, and height of a line."""
MOST_WORDS, MOST_LETTERS = 400, 40
"""Words of a text, and letters of a word, that are drawn."""
INK, PAPER, FOR, AGAINST = "#1f2933", "#ffffff", "#c9580b", "#0a6aa8"


def draw_svg(heat_map: HeatMap) -> str:
    """The heat map as an SVG file: as many words on a line as fit, each on a background as strong as its weight."""
    drawn, left, top = [], 0.0, float(TOP)
    more = ["…"] if len(heat_map.words) > MOST_WORDS else []
    for place, word in enumerate([*heat_map.words[:MOST_WORDS], *more]):
        text = cut(drawable(word), MOST_LETTERS)
        width = len(text) * LETTER + GAP
        if left > 0 and left + width > WIDTH - 12:
            left, top = 0.0, top + LINE
        color = AGAINST if "against" in heat_map.kinds(place) else FOR
        drawn.append(
            f'<rect x="{left:.1f}" y="{top:g}" width="{width - 2:.1f}" height="{LINE - 3:g}" rx="3" fill="{color}" '
            f'fill-opacity="{0.6 * (0.0 if place == MOST_WORDS else heat_map.strength(place)):.3f}"/>'
            f'<text x="{left + width / 2 - 1:.1f}" y="{top + 16:g}" text-anchor="middle">{escape(text)}</text>'
        )
        left += width
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top + LINE:g}" viewBox="-6 0 {WIDTH} '
        f'{top + LINE:g}" fill="{INK}" font-family="sans-serif" font-size="13"><rect x="-6" width="100%" height="100%" '
        f'fill="{PAPER}"/><text y="15" font-weight="bold">{escape(drawable(heat_map.title))}</text>'
        f"{''.join(drawn)}</svg>"
    )
