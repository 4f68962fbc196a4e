"""Explanations as a list, as one page that stands alone, and as JSON."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from math import nan

import pytest

import heedful
from heedful.errors import SettingError, StoreError
from heedful.explaining.explanation import SmallestSet
from heedful.report.explanations import (
    Explanations,
    audit_sentences,
    definitions,
    format_probability,
    heat_maps_of,
    is_signed,
    key_marks,
    outcome_lines,
    prediction,
    sentences_of,
)
from heedful.report.explanations import explain as explain_texts
from heedful.report.heat_map import UNSAFE
from heedful.report.loading import audit
from heedful.schema import TextOutcome
from heedful.verdict.answer_text import BADGES, outcome_sentences
from support.audits import QUICK
from support.explanations import OTHER, OUTCOMES, make_explanation
from support.html_page import Page
from support.models import make, make_batch

# Rows of weighted words and the sentences under them.

ITEMS = ("A", "great", "film")


def values(heat_map):
    return [heat_map.value(place) for place in range(len(heat_map.words))]


def test_a_text_by_hand():
    recommended, attention, other = heat_maps_of(make_explanation())
    assert (recommended.title, recommended.note) == ("Attention x gradient", "recommended by the audit")
    assert values(recommended) == ["0.01", "0.4", "-0.2"] and values(other) == ["0", "0.1", "0.9"]
    assert [recommended.kinds(place) for place in range(3)] == [[], ["key", "top"], ["against"]]
    assert other.marks["top"] == set()
    assert (attention.title, attention.note) == ("Attention", "for comparison")
    assert (other.title, other.note) == ("Adversarial attention", "predicts good with 0.85")


def test_the_ranking_to_show_comes_first_and_marked_words_are_called_what_they_are():
    for show, names, notes in [
        ("attention", ["Attention"], ["recommended by the audit"]),
        ("ranking", ["Attention x gradient", "Attention"], ["recommended by the audit", "for comparison"]),
        ("key words", ["Attention"], ["not to be shown without its outcome"]),
        ("nothing", ["Attention"], ["not to be shown"]),
        ("not audited", ["Attention"], ["not audited"]),
    ]:
        rows = heat_maps_of(make_explanation(show=show, other_attention=None))
        assert [row.title for row in rows] == names and [row.note for row in rows] == notes
    marks = {
        "points": [("key words", False)],
        "misses": [("key words", False)],
        "any words": [("words with the largest effect (no small set decides)", True)],
        "one word": [],
    }
    for name, named in marks.items():
        made = make_explanation(outcome=OUTCOMES[name])
        assert key_marks([made, made]) == named
        assert heat_maps_of(made)[0].marks["key"] == ({1} if named else set())


def test_the_audit_speaks_of_the_predicted_classes():
    made = make_explanation()
    assert audit_sentences([made, made]) == (
        "Basis. Can attention be shown as an explanation?",
        "If the model predicts good: Yes. Numbers of good.",
        "Advice of ranking.",
    )
    assert audit_sentences([make_explanation(show="not audited")]) == (
        "Headline of not audited.",
        "Advice of not audited.",
    )


def test_the_text_stands_around_its_items_as_it_was_written():
    long = "A great film " + "and more " * 100
    for text, gaps in {
        "  A   great\n\n(film)!  ": ["", " ", " (", ")!"],
        "": ["", " ", " ", ""],
        long: ["", " ", " ", f"{long[12:311]}…"],
    }.items():
        assert heat_maps_of(make_explanation(text=text))[0].gaps == gaps


def test_no_character_controls_a_terminal_and_what_nobody_would_see_is_listed_by_its_code():
    made = make_explanation(("\x1b[31m", "\u202e", "\x00"), text="\x1b[31m \u202e \x00\u2066 \x85")
    row = heat_maps_of(made)[0]
    assert row.words == [" [31m", "U+202E", "U+0000"]
    shown = [row.heaviest(), row.description, *row.gaps, *sentences_of(made), *outcome_lines(made)]
    assert not set(map(ord, "".join(shown))) & set(UNSAFE)
    assert "“U+202E”" in row.heaviest()
    for item, name in [("\u200d", "U+200D"), ("\ufe0f", "U+FE0F"), ("❤", "❤"), ("שלום", "שלום")]:
        row = heat_maps_of(make_explanation(("A", item, "film")))[0]
        assert f"“{name}”" in row.heaviest() and row.words[1] == item


def test_no_probability_is_shown_as_certain_and_other_answers_are_named_by_theirs():
    for words, probabilities in {
        "below 0.001": (0.0, 0.0004),
        "0.004": (0.004,),
        "0.01": (0.005,),
        "0.99": (0.994,),
        "0.995": (0.995,),
        "0.999": (0.9994,),
        "above 0.999": (0.9996, 1.0),
    }.items():
        assert {format_probability(probability) for probability in probabilities} == {words}
    assert prediction(make_explanation()) == "with probability 0.85 (bad 0.15)"
    several = {"good": 0.4, **{f"label {number}": number / 100 for number in range(1, 9)}}
    made = make_explanation(probabilities=several)
    assert prediction(made).startswith("with probability 0.40 (label 8 0.08, label 7 0.07, ")
    assert prediction(made).endswith("label 4 0.04, 3 more)")


def test_the_sentences_say_what_erasure_changes_the_prediction_and_how_different_attention_could_be():
    reaches, keeps = "81% of the maximum divergence (JSD 0.45).", "keeps the prediction (probability 0.85) and"
    of_great = (
        "Erasing the attention weight of “great” (1 of 3 words) changes the prediction to bad (probability 0.62);"
    )
    kept, none = {"other_attention": OTHER}, {"smallest_set": None, "other_attention": None}
    bound, search = (replace(OTHER, solver=solver) for solver in ("bound", "search"))
    for changes, smallest, other in (
        (
            kept,
            f"{of_great} no smaller set does.",
            f"Adversarial attention {keeps} reaches {reaches}",
        ),
        (
            {"other_attention": search, "solver": "search"},
            f"{of_great} a smaller set may exist.",
            f"The adversarial attention that was found {keeps} reaches {reaches}",
        ),
        (
            {"other_attention": bound},
            f"{of_great} no smaller set does.",
            f"Adversarial attention {keeps} reaches at least {reaches}",
        ),
        (
            none,
            "Erasing attention weights changes the prediction for no set of words.",
            "No other attention that keeps the prediction was found.",
        ),
        (
            {**none, "solver": "search"},
            "No set of words was found whose erased attention weights change the prediction.",
            "No other attention that keeps the prediction was found.",
        ),
    ):
        assert sentences_of(make_explanation(**changes)) == [smallest, other]
    assert sentences_of(make_explanation(("A",), attention=(1.0,), weights=(nan,), **none)) == []


def test_an_answer_that_is_tipped_is_not_called_the_same_and_a_large_set_is_listed_in_part():
    tipped = replace(OTHER, predicted="bad", probability=0.495)
    made = make_explanation(other_attention=tipped)
    assert heat_maps_of(made)[-1].note == "gives good 0.49, just below another label"
    sentence = sentences_of(made)[1]
    assert "keeps the prediction" not in sentence
    assert "moves the prediction by at most 0.01 (good 0.49, just below another label)" in sentence
    items = [f"w{number}" for number in range(20)]
    smallest = SmallestSet(positions=tuple(range(15)), becomes="bad", probability=0.5)
    made = make_explanation(
        items, attention=(0.05,) * 20, weights=(0.1,) * 20, smallest_set=smallest, other_attention=None
    )
    assert "“w9” and 5 more (15 of 20 words)" in sentences_of(made)[0]


def test_definitions_name_the_item_and_only_a_product_has_a_sign():
    made = make_explanation()
    assert definitions([made]).startswith(
        "To erase an attention weight is to give it to the other words, in proportion."
    )
    assert definitions([made]).endswith("that moves the prediction by at most 0.01.")
    assert definitions([replace(made, item="item", other_attention=None)]).endswith(
        "to the other items, in proportion."
    )
    assert "JSD" not in definitions([replace(made, other_attention=None)])
    for show, signed in [("ranking", True), ("attention", False), ("not audited", False)]:
        assert is_signed([make_explanation(show=show)]) is signed


EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;"


def make_all(*explanations, notes=()) -> Explanations:
    return Explanations(explanations or (make_explanation(),), {"Model": "average", "Data": "toy"}, tuple(notes))


def page_of(*explanations, notes=()) -> Page:
    return Page(make_all(*explanations, notes=notes).html())


@pytest.fixture(scope="module")
def own():
    """A model of the user's own, and its batch."""
    return make("average"), make_batch()


def test_the_page_says_what_decides_where_attention_points_and_what_the_audit_found():
    page = page_of(make_explanation(query="Why?", notes=("A note on the text.",)), notes=["A note on the file."])
    for words in (
        "Which words decide this prediction?",
        "Attention points to the key words.",
        "Key word: great. With this word alone: good 0.97; without it: bad 0.61.",
        "Attention x gradient points to the key words.",
        "The model predicts good with probability 0.85 (bad 0.15).",
        "Basis. Can attention be shown as an explanation? If the model predicts good: Yes. Numbers of good. Advice of "
        "ranking.",
        "Question or hypothesis: Why?",
        "Attention x gradient recommended by the audit",
        "Attention for comparison",
        "Adversarial attention predicts good with 0.85",
        "Erasing the attention weight of “great” (1 of 3 words) changes the prediction to bad",
        "reaches 81% of the maximum divergence (JSD 0.45)",
        "A note on the text.",
        "A note on the file.",
        "opposes it",
        "that moves the prediction by at most 0.01",
        "average",
        "toy",
    ):
        assert words in page.text.replace("\N{NO-BREAK SPACE}", " ")


def test_every_cell_has_its_weight_in_words_and_several_texts_are_numbered():
    page = page_of()
    maps = [own["aria-label"] for own in page.all("div", role="img")]
    assert maps[0] == "Attention x gradient. A: 0.01; great: 0.4; film: -0.2" and len(maps) == 3
    cells = [own for own in page.all("span") if "title" in own]
    assert [cell["title"] for cell in cells[:3]] == ["A: 0.01", "great: 0.4", "film: -0.2"]
    assert [cell["class"] for cell in cells[:3]] == ["token", "token key top", "token against"]
    assert cells[1]["style"] == "--weight:0.656"
    page = page_of(make_explanation(), make_explanation())
    assert "Which words decide these predictions?" in page.text and "Text 1" in page.text and "Text 2" in page.text
    assert len(page.all("article")) == 2 and "Text 1" not in page_of().text
    names = [own["id"] for _, own in page.elements if "id" in own]
    assert len(set(names)) == len(names)


def test_the_outcome_is_told_in_the_words_of_every_view_explanation():
    """On the page and in a notebook, with the words marked that have the largest effect."""
    for name in OUTCOMES:
        outcome = OUTCOMES[name]
        made = make_explanation(show="attention", outcome=outcome, shown_outcome=outcome)
        sentences = outcome_sentences(outcome, made.items)
        page, shown = page_of(made), Page(make_all(made)._repr_html_())
        for words in (page.text, shown.text):
            assert [words.count(sentence) for sentence in sentences] == [1] * len(sentences)
        for view in (page, shown):
            places = [view.text.index(words) for words in (sentences[0], "The model predicts", *sentences[1:])]
            assert places == sorted(places)
            (badge,) = [own["class"] for own in view.all("strong") if (own["class"] or "").startswith("outcome ")]
            assert badge == f"outcome {outcome.outcome or 'none'}" and BADGES[outcome.outcome].capitalize() in view.text
        is_loose = outcome.outcome == "no_small_set"
        (marked,) = [(own["class"] or "").split() for own in page.all("span") if own.get("title") == "great: 0.4"]
        assert ("key" in marked, "loose" in marked) == (bool(outcome.key_words), is_loose)
        assert ("top" in marked) == (1 in outcome.top_words)


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
    with pytest.raises(StoreError, match="file/page.html cannot be written: .*. Make room for it, or name another."):
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
    code = "import sys, heedful.report.explanations; assert 'torch' not in sys.modules, 'torch was imported'"
    subprocess.run([sys.executable, "-c", code], check=True)
