"""One text as a heat map: its colors, its words, and as a file."""

import re
from math import nan
from xml.etree import ElementTree

import vl_convert
from hypothesis import given
from hypothesis import strategies as st

from heedful.report.heat_map import MOST_WORDS, UNSAFE, WIDTH, HeatMap, draw_svg, named, printable
from heedful.report.page import templates


def heat_map(weights, **parts) -> HeatMap:
    return HeatMap("Title", "note", [f"w{place}" for place in range(len(weights))], weights, **parts)


def strengths(weights) -> list[float]:
    own = heat_map(weights)
    return [own.strength(place) for place in range(len(weights))]


def test_weights_are_colors_numbers_and_marks():
    assert strengths([1 / 3] * 3) == [0.333] * 3, "uniform weights are pale"
    assert strengths([0.4, *[0.06] * 10]) == [1.0] + [0.15] * 10
    assert strengths([0.01, 0.4, -0.2]) == [0.016, 0.656, 0.328]
    assert strengths([nan, None, 0.0]) == [0.0] * 3
    own = heat_map([0.01, 0.4, -0.2, nan, None])
    assert [own.value(place) for place in range(5)] == ["0.01", "0.4", "-0.2", "undefined", "undefined"]
    assert own.heaviest().replace("\N{NO-BREAK SPACE}", " ") == "most: “w1” 0.4, “w2” -0.2, “w0” 0.01"
    assert own.description == "Title. w0: 0.01; w1: 0.4; w2: -0.2; w3: undefined; w4: undefined"
    assert heat_map([0.0, nan]).heaviest("sentence") == "0 for every sentence"
    assert heat_map([nan, None]).heaviest() == "undefined"
    own = heat_map([-0.004, 0.1, -0.006], marks={"key": frozenset({1}), "top": frozenset({1, 2})})
    assert [own.kinds(place) for place in range(3)] == [[], ["key", "top"], ["against", "top"]]


def test_the_macro_writes_the_gaps_and_the_words_and_escapes_both():
    own = HeatMap("t", "", ["<b>", "x\x1b"], [0.5, -0.5], ["“", " & ", "!"], {"key": frozenset({0})})
    macro = templates().get_template("heat_map.html").module.heat_map
    assert re.sub(r" (style|title)=\"[^\"]*\"", "", str(macro(own))).strip() == (
        '“<span class="token key">&lt;b&gt;</span> &amp; <span class="token against">x\\x1b</span>'
        '<span class="soft">!</span>'
    )
    assert 'style="--weight:0.333" title="&lt;b&gt;: 0.5"' in macro(own)
    assert str(macro(heat_map([0.1] * 5), 2)).count("token") == 2 and "and 3 more" in macro(heat_map([0.1] * 5), 2)


@given(st.text(max_size=20))
def test_printable_text_is_as_long_or_shorter_and_stays_so(text):
    assert len(printable(text)) <= len(text) and printable(printable(text)) == printable(text)
    assert not set(map(ord, named(text))) & set(UNSAFE)


def drawn(own: HeatMap) -> tuple[list, list]:
    """The boxes and the words of the drawing."""
    root = ElementTree.fromstring(draw_svg(own))
    return [root.findall(f"{{http://www.w3.org/2000/svg}}{tag}")[1:] for tag in ("rect", "text")]


@given(st.lists(st.tuples(st.text(max_size=60), st.floats(-1, 1)), min_size=1, max_size=40))
def test_any_words_are_drawn_without_overlap(pairs):
    words, weights = zip(*pairs, strict=True)
    boxes, _ = drawn(HeatMap("<title>\x00", "", words, weights))
    assert len(boxes) == len(words)
    ends = [(float(box.get("y")), float(box.get("x")), float(box.get("width"))) for box in boxes]
    assert all(left + width <= WIDTH for _, left, width in ends)
    for (above, left, width), (below, right, _) in zip(ends, ends[1:], strict=False):
        assert below > above or left + width < right


def test_a_drawing_has_the_colors_of_its_weights_and_becomes_a_picture():
    boxes, texts = drawn(heat_map([0.1, 0.4, -0.2]))
    assert [text.text for text in texts] == ["w0", "w1", "w2"]
    first, second, third = boxes
    assert float(first.get("fill-opacity")) < float(third.get("fill-opacity")) < float(second.get("fill-opacity"))
    assert first.get("fill") == second.get("fill") != third.get("fill")
    assert vl_convert.svg_to_png(draw_svg(heat_map([0.5, 0.5]))).startswith(b"\x89PNG")


def test_a_long_text_is_cut_and_one_without_weights_is_no_failure():
    _, texts = drawn(heat_map([0.1] * (MOST_WORDS + 50)))
    assert len(texts) == MOST_WORDS + 1 and texts[-1].text == "…"
    for weights in [[], [0.0]]:
        assert heat_map(weights).full == 0 and draw_svg(heat_map(weights)).endswith("</svg>")
