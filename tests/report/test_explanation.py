"""Explanations as a list, as one page that stands alone, and as JSON."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from math import nan

import pytest

import heedful
from heedful.auditing.audit import audit
from heedful.auditing.explain import explain_texts
from heedful.errors import SettingError
from heedful.report.explanation import Explanations
from heedful.schema import TextOutcome
from heedful.verdict.outcome_text import outcome_sentences
from support.audits import QUICK
from support.explanations import OTHER, OUTCOMES, make_explanation
from support.models import make, make_batch

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;"


class Page(HTMLParser):
    """The elements of a page, with their attributes, and its words."""

    def __init__(self, page: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def all(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        return [own for name, own in self.elements if name == tag and attributes.items() <= own.items()]


def make_all(*explanations, notes=()) -> Explanations:
    return Explanations(explanations or (make_explanation(),), {"Model": "average", "Data": "toy"}, tuple(notes))


def page_of(*explanations, notes=()) -> Page:
    return Page(make_all(*explanations, notes=notes).html())


@pytest.fixture(scope="module")
def own():
    """A model of the user's own, and its batch."""
    return make("average"), make_batch()


def test_explanations_are_like_a_list():
    first, second = make_explanation(), make_explanation(show="nothing")
    both = make_all(first, second)
    assert len(both) == 2 and list(both) == [first, second] and both[1] is second and both[-1] is second
    assert both.guidance is first.guidance


def test_the_page_says_what_decides_where_attention_points_and_what_the_audit_found():
    page = page_of(make_explanation(query="Why?", notes=("A note on the text.",)), notes=["A note on the file."])
    for words in (
        "Which words decide this prediction?",
        "Attention points to the key words. Key word: great. With this word alone: good 0.97; without it: bad 0.61.",
        "Attention x gradient points to the key words.",
        "The model predicts good with probability 0.85 (bad 0.15).",
        "Basis. If the model predicts good: Yes. Numbers of good. Advice of ranking.",
        "Question or hypothesis: Why?",
        "Attention x gradient recommended by the audit",
        "Attention for comparison",
        "Adversarial attention predicts good with 0.85",
        "Erasing the attention weight of “great” (1 of 3 words) changes the prediction to bad",
        "reaches 81 % of the maximum divergence (JSD 0.45)",
        "A note on the text.",
        "A note on the file.",
        "opposes it",
        "that moves the prediction by at most 0.01",
        "average",
        "toy",
    ):
        assert words in page.text.replace("\N{NO-BREAK SPACE}", " ")


def test_every_cell_has_its_weight_in_words():
    page = page_of()
    maps = [own["aria-label"] for own in page.all("div", role="img")]
    assert maps[0] == "Attention x gradient. A: 0.01; great: 0.4; film: -0.2" and len(maps) == 3
    cells = [own for own in page.all("span") if "title" in own]
    assert [cell["title"] for cell in cells[:3]] == ["A: 0.01", "great: 0.4", "film: -0.2"]
    assert [cell["class"] for cell in cells[:3]] == ["token", "token key top", "token against"]
    assert cells[1]["style"] == "--weight:0.656"


def test_several_texts_are_numbered():
    page = page_of(make_explanation(), make_explanation())
    assert "Which words decide these predictions?" in page.text and "Text 1" in page.text and "Text 2" in page.text
    assert len(page.all("article")) == 2 and "Text 1" not in page_of().text
    names = [own["id"] for _, own in page.elements if "id" in own]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", OUTCOMES)
def test_the_outcome_is_told_in_the_words_of_every_view(name):
    """On the page and in a notebook, with the words marked that have the largest effect."""
    outcome = OUTCOMES[name]
    made = make_explanation(show="attention", outcome=outcome, shown_outcome=outcome)
    sentences = outcome_sentences(outcome, made.items)
    page, shown = page_of(made), Page(make_all(made)._repr_html_())
    for words in (page.text, shown.text):
        assert [words.count(sentence) for sentence in sentences] == [1] * len(sentences)
    assert " ".join(sentences) in page.text and shown.text.index(sentences[0]) < shown.text.index("The model predicts")
    is_loose = outcome.outcome == "no_small_set"
    (marked,) = [(own["class"] or "").split() for own in page.all("span") if own.get("title") == "great: 0.4"]
    assert ("key" in marked, "loose" in marked) == (bool(outcome.key_words), is_loose)
    assert ("top" in marked) == (1 in outcome.top_words)
    assert len(page.all("div", **{"class": "answer misses"})) == (outcome.outcome == "misses")


def test_the_legend_speaks_of_what_is_there():
    page = page_of(make_explanation(show="attention", smallest_set=None, other_attention=None, item="sentence"))
    assert "opposes" not in page.text and "JSD" not in page.text and "key sentences" in page.text
    assert "to the other sentences, in proportion." in page.text


def test_nothing_that_comes_from_a_text_is_markup():
    made = make_explanation(
        (EVIL, "b", "c"), query=EVIL, notes=(EVIL,), predicted=EVIL, probabilities={EVIL: 0.9, "b": 0.1},
        other_attention=replace(OTHER, predicted=EVIL),
    )  # fmt: skip
    page = Page(replace(make_all(made, notes=[EVIL]), facts={EVIL: EVIL}).html())
    assert not page.all("script") and not page.all("img")
    assert all(not name.startswith("on") for _, own in page.elements for name in own)
    assert page.text.count(EVIL) >= 10
    assert [own["title"] for own in page.all("span") if "title" in own][0] == f"{EVIL}: 0.01"


def test_the_page_loads_and_runs_nothing():
    text = make_all().html()
    page = Page(text)
    (policy,) = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert (policy["content"] or "").startswith("default-src 'none'") and "script-src" not in (policy["content"] or "")
    assert not re.search(r"https?://|url\(|@import|<script", text)
    assert {own["href"] for own in page.all("a")} == {"#texts", "#audit", "#legend"}
    assert "\x1b" not in text and "\u202e" not in Page(make_all(make_explanation(("\u202e", "b", "c"))).html()).text


def test_the_page_is_written_whole(tmp_path):
    path = tmp_path / "new" / "folder" / "page.html"
    path.parent.mkdir(parents=True)
    path.write_text("old")
    assert make_all().save(str(path)) == path
    assert path.read_text(encoding="utf-8") == make_all().html()
    assert make_all().save(tmp_path / "other" / "page.html").is_file()
    assert [file.name for file in path.parent.iterdir()] == ["page.html"]


def test_a_place_where_no_page_can_be_is_named(tmp_path):
    with pytest.raises(SettingError, match="the page must be a file, for example page.html; '.*' is a folder"):
        make_all().save(tmp_path)
    (tmp_path / "file").write_text("a file")
    with pytest.raises(SettingError, match="the page cannot be written to .*file/page.html: .*. Choose another place."):
        make_all().save(tmp_path / "file" / "page.html")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_json_holds_everything_and_no_nan():
    alone = make_explanation(
        ("A",), outcome=OUTCOMES["one word"], attention=(1.0,), weights=(nan,), smallest_set=None, other_attention=None
    )
    both = replace(make_all(make_explanation(), alone), notes=("a note",))
    content = json.loads(json.dumps(both.as_dict(), allow_nan=False))
    assert content["facts"] == {"Model": "average", "Data": "toy"} and content["notes"] == ["a note"]
    assert content["guidance"]["show"] == "ranking" and content["guidance"]["classes"]["good"]["answer"] == "Yes"
    assert content["guidance"]["sentences"][-1] == "Advice of ranking."
    first, second = content["texts"]
    assert first["ranking"] == "attention_x_gradient" and first["weights"] == [0.01, 0.4, -0.2]
    assert TextOutcome.model_validate(first["outcome"]) == OUTCOMES["points"]
    assert first["sentences"][0] == "Attention points to the key words." and first["outcome"]["key_words"] == [1]
    assert first["probabilities"] == {"bad": 0.15, "good": 0.85}
    assert first["smallest_set"] == {"positions": [1], "becomes": "bad", "probability": 0.62}
    assert first["other_attention"]["predicted"] == "good" and first["other_attention"]["eps"] == 0.01
    assert (
        second["outcome"]["reason"] == "one word"
        and second["weights"] == [None]
        and second["smallest_set"] is None
        and second["other_attention"] is None
    )
    assert set(first) == set(second) and "guidance" not in first


def test_a_model_of_ones_own_is_explained_shown_and_saved(own, tmp_path, capsys):
    model, batch = own
    finished = audit(model, [batch], QUICK, labels=("no", "yes"))
    words = [list("abcdefg"), list("hijk"), ["l"]]
    made = heedful.explain(model, batch, audit=finished, words=words)
    assert made.decisions[:2] == explain_texts(model, batch, audit=finished, words=words)[:2]
    assert made.facts == {"Model": "LinearAttentionModel"} and isinstance(made, heedful.Explanations)
    made.show()
    assert " Too few texts. 2 texts were audited" in " ".join(capsys.readouterr().out.split())
    assert "h i j k" in Page(made.save(tmp_path / "page.html").read_text(encoding="utf-8")).text


def test_what_shows_explanations_needs_no_torch():
    code = "import sys, heedful.report.explanation; assert 'torch' not in sys.modules, 'torch was imported'"
    subprocess.run([sys.executable, "-c", code], check=True)
