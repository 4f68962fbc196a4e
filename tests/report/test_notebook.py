"""What a notebook shows: the answer, texts of each outcome, tests; escaped, alone, readable in light and dark."""

import re
from dataclasses import replace

import pytest

import heedful
from heedful.auditing.audit import Audit
from heedful.errors import HeedfulError, SettingError
from heedful.report import read_audit
from heedful.report.explanations import Explanations
from heedful.report.notebook import MOST_TEXTS, MOST_WORDS
from support.explanations import make_explanation
from support.html_page import Page, contrast
from support.synthetic_audit import make_audit

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</td></table>", "a\x1b[31mb", "{{ 7 * 7 }}"]


def audit_of(files):
    return Audit(files.rows, files.examples, files.verdict, files.outcomes)


@pytest.fixture(scope="module")
def audit(audits):
    return audit_of(audits[0])


def test_a_notebook_shows_the_answer_texts_of_each_outcome_and_the_tests(audit):
    page = Page(audit._repr_html_())
    text = " ".join(page.text.split())
    assert audit.answer.headline in text and audit.recommendation.sentence in text
    for line in audit.lines:
        assert line.question in text
    assert page.tags.count("table") == 1 and "Points: " in text and "No small set: " in text
    shown = audit._repr_html_()
    assert 'class="token key top"' in shown and "token key loose" in shown


def test_it_stands_alone_runs_nothing_and_sets_no_ink(audit):
    for shown in (audit._repr_html_(), make_explanation()._repr_html_()):
        page = Page(shown)
        boxes = {"div", "style", "p", "b", "br", "span", "strong", "details", "summary"}
        assert set(page.tags) <= boxes | {"table", "thead", "tbody", "tr", "th", "td"}
        assert {name for _, own in page.elements for name in own} <= {
            "class",
            "style",
            "title",
            "scope",
            "colspan",
            "dir",
            "aria-hidden",
        }
        assert "http" not in shown and "url(" not in shown and "@import" not in shown
    style = audit._repr_html_().partition("</style>")[0]
    assert not re.search(r"(?<!-)color: (?!inherit|var\(--[a-z]+, inherit\))", style)
    assert set(re.findall(r"background: (#\w+|transparent|rgba\([^)]*\))", style)) == {
        "transparent",
    }


def test_no_text_becomes_markup(tmp_path):
    for word in HOSTILE:
        shown = audit_of(
            read_audit(make_audit(tmp_path, texts=4, shown=4, trick=word, labels=[word, "b"]))
        )._repr_html_()
        explained = make_explanation(
            ("A", word, "film"), predicted=word, probabilities={word: 0.9, "b": 0.1}
        )._repr_html_()
        for page in (shown, explained):
            parsed = Page(page)
            assert not set(parsed.tags) & {"script", "img"}
            assert "\x1b" not in page and ("\x1b" in word or word in parsed.text)
        assert word.replace("\x1b", "\\x1b") in Page(shown).text


def test_badges_can_be_read_in_light_and_dark(audit):
    style = audit._repr_html_().partition("</style>")[0]
    badges = re.findall(r"--(yes|some|no|none): color-mix\(in srgb, (#\w+) (\d\d)%, currentColor\)", style)
    assert [name for name, *_ in badges] == ["yes", "some", "no", "none"]
    for _, color, percent in badges:
        for ink, paper in (((17, 17, 17), (255, 255, 255)), ((224, 224, 224), (17, 17, 17))):
            own = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
            mixed = [(int(percent) * part + (100 - int(percent)) * i) / 100 for part, i in zip(own, ink, strict=True)]
            assert contrast(tuple(mixed), paper) >= 4.5


def test_words_can_be_read_on_the_strongest_color_in_light_and_dark(audit):
    style = audit._repr_html_().partition("</style>")[0]
    colors = re.findall(r"color-mix\(in srgb, rgb\((.*?)\) calc\(var\(--weight\) \* (\d+)%\), transparent\)", style)
    assert len(colors) == 2
    for color, percent in colors:
        for ink, paper in (((17, 17, 17), (255, 255, 255)), ((224, 224, 224), (17, 17, 17))):
            share = int(percent) / 100
            behind = [
                share * int(own) + (1 - share) * under for own, under in zip(color.split(","), paper, strict=True)
            ]
            assert contrast(ink, tuple(behind)) >= 4.5


def test_long_texts_and_many_explanations_are_cut_and_say_so(audit):
    words = tuple(f"w{n}" for n in range(MOST_WORDS + 7))
    even = (1 / len(words),) * len(words)
    long = make_explanation(words, attention=even, weights=even, smallest_set=None, other_attention=None)
    text = Page(long._repr_html_()).text
    assert f"w{MOST_WORDS - 1}" in text and f"w{MOST_WORDS}" not in text and "and 7 more" in text
    many = Explanations((make_explanation(),) * (MOST_TEXTS + 3), notes=("a note",))
    text = Page(many._repr_html_()).text
    assert f"Text {MOST_TEXTS}." in text and f"Text {MOST_TEXTS + 1}." not in text
    assert "3 more on the page that `save` writes" in text and "a note" in text


def test_an_audit_is_saved_read_again_and_saved_over(audit, tmp_path):
    for place in (str(tmp_path / "mine"), tmp_path / "mine"):
        assert audit.save(place) == tmp_path / "mine"
        again = heedful.load(place)
        assert again.rows.equals(audit.rows) and again.verdict.lines == audit.verdict.lines
    other = replace(audit, verdict=audit.verdict.model_copy(update={"date": "2020-02-02"}))
    other.save(tmp_path / "mine")
    assert heedful.load(tmp_path / "mine").verdict.date == "2020-02-02"


def test_places_with_other_files_or_that_are_neither_folder_nor_page_are_named(audit, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "holiday.jpg").write_bytes(b"...")
    with pytest.raises(HeedfulError, match="holds 'holiday.jpg'"):
        audit.save(tmp_path / "photos")
    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["holiday.jpg"]
    (tmp_path / "file").write_text("a file")
    (tmp_path / "folder.html").mkdir()
    for place in (tmp_path / "file", tmp_path / "folder.html", "/"):
        with pytest.raises(SettingError, match="place must be a folder for the audit, or a file for its report"):
            audit.save(place)
    with pytest.raises(HeedfulError, match="cannot be written"):
        audit.save(tmp_path / "file" / "page.html")


def test_the_report_is_the_page_of_the_command(bare, tmp_path):
    plain = audit_of(bare)
    page = plain.to_html()
    assert page.startswith("<!DOCTYPE html>") and "Can attention be shown as an explanation?" in page
    path = plain.save(str(tmp_path / "new" / "page.html"))
    assert path.read_text(encoding="utf-8") == page
