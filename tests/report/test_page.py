import re
from dataclasses import replace

import polars as pl

from heedful.formatting import format_interval, format_number
from heedful.report import example_texts, read_audit, without_texts, write_report
from heedful.report.figures import FIGURES
from heedful.report.page import render_page
from heedful.schema import updated
from support.html_page import Page
from support.synthetic_audit import POLARITY, make_audit

SCRIPT = "<script>alert(1)</script>"


def test_the_pages_are_well_formed_whole_and_ask_for_nothing(page_of_one, page_of_both):
    for page in (page_of_one, page_of_both):
        outline = Page(page)
        counts = {tag: outline.tags.count(tag) for tag in ("figure", "svg", "h1", "script")}
        assert counts == {"figure": len(FIGURES), "svg": len(FIGURES), "h1": 1, "script": 3}
        ids = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
        assert len(ids) == len(set(ids))
        for tag, attributes in outline.elements:
            for name in ("src", "href", "xlink:href", "action", "srcset", "data", "poster"):
                assert attributes.get(name, "#").startswith(("#", "data:")), (tag, attributes)
            if tag == "a":
                assert attributes["href"].removeprefix("#") in ids
            if tag == "label" and "for" in attributes:
                assert attributes["for"] in ids
            assert tag != "th" or "scope" in attributes
            assert tag != "svg" or attributes.get("aria-label")
        assert "url(" not in page and "@import" not in page
        assert outline.tags.count("table") == outline.tags.count("caption")


def test_the_verdict_says_each_question_with_its_sentence_and_numbers(page_of_one, audits):
    for line in audits[1].verdict.lines:
        assert line.question in page_of_one
        assert line.sentence in page_of_one
        percent = line.unit == "share"
        value, floor, best = (format_number(each, percent=percent) for each in (line.value, line.floor, line.best))
        interval = format_interval(line.low, line.high, percent=percent)
        numbers = f"value <b>{value}</b> ({interval}) · floor {floor} · best possible {best}"
        assert numbers in page_of_one or line.score is None
    assert "undefined for 40" in page_of_one
    assert "nothing to measure" in page_of_one
    assert "heedful audit toy --encoder bilstm --seed 0" in page_of_one


def test_several_audits_stand_side_by_side(page_of_both):
    assert '<th scope="col">average<' in page_of_both
    assert '<th scope="col">bilstm<' in page_of_both
    assert 'class="differs"' in page_of_both


def test_rankings_are_compared_and_the_recommended_one_is_marked(page_of_one, audits):
    advice = {"show": "ranking", "ranking": "leave_one_out", "sentence": "Show it."}
    own = updated(audits[1].verdict, answer=updated(audits[1].verdict.answer, recommendation=advice))
    page = render_page([replace(audits[1], verdict=own, rows=audits[1].rows.filter(test="prediction"))])
    assert '<tr class="differs"><th scope="row">leave-one-out (recommended)</th>' in page
    assert page_of_one.count("(recommended)") == 0 and '<th scope="row">gradient x input</th>' in page_of_one


def test_a_page_says_what_was_not_asked_or_is_not_shown(bare):
    own = replace(bare, verdict=updated(bare.verdict, answer=None), outcomes=bare.outcomes.clear())
    page = render_page([own])
    assert "This audit has no answer" in page and 'id="rankings"' not in page and 'id="chosen"' not in page
    fewer = bare.verdict.model_copy(update={"lines": bare.verdict.lines[1:]})
    assert "not measured" in render_page([bare, replace(bare, verdict=fewer)])
    page = render_page([replace(bare, rows=bare.rows.filter(pl.col("item").is_null()), examples=bare.examples.head(0))])
    assert "This report holds no texts." in page
    assert 'id="chooser"' not in page
    changes = {"lines": (), "answer": None, "settings": {}, "command": ""}
    page = render_page([replace(bare, verdict=bare.verdict.model_copy(update=changes))])
    assert "<figure" not in page


def test_only_what_carries_the_nonce_of_the_content_may_run(bare):
    pages = [render_page([each]) for each in (bare, replace(bare, examples=bare.examples.with_columns(id=pl.lit("x"))))]
    nonces = [re.findall("script-src 'nonce-([0-9a-f]+)'", page) for page in pages]
    assert nonces[0] != nonces[1] and all(len(own) == 1 for own in nonces)
    for page, (nonce,) in zip(pages, nonces, strict=True):
        scripts = [own for tag, own in Page(page).elements if tag == "script"]
        assert [own.get("nonce") for own in scripts] == [None, nonce, nonce]
        assert scripts[0]["type"] == "application/json"


def test_what_the_files_say_is_text_never_markup(tmp_path):
    folder = make_audit(tmp_path, texts=7, shown=3, labels=[SCRIPT, "b"], trick=SCRIPT)
    audit = read_audit(folder, name=SCRIPT)
    lines = tuple(line.model_copy(update={"question": SCRIPT, "sentence": SCRIPT}) for line in audit.verdict.lines)
    texts = {"data": SCRIPT, "command": SCRIPT, "versions": {SCRIPT: SCRIPT}, "settings": {SCRIPT: SCRIPT}}
    said = {
        "sentence": SCRIPT,
        "headline": SCRIPT,
        "left_out": [SCRIPT],
        "moved_note": SCRIPT,
        "wrong_sentence": SCRIPT,
    }
    ranking = audit.verdict.answer.rankings[0].model_copy(update={"title": SCRIPT})
    advice = audit.verdict.answer.recommendation.model_copy(update={"sentence": SCRIPT})
    said |= {"rankings": (ranking,), "recommendation": advice}
    answer = audit.verdict.answer.model_copy(update=said)
    verdict = audit.verdict.model_copy(update={**texts, "lines": lines, "answer": answer, "model": SCRIPT})
    page = render_page([replace(audit, verdict=verdict)])
    assert "<script>alert" not in page
    assert page.count("</script>") == 3
    assert page.count("&lt;script&gt;alert(1)") > 20


def test_attention_that_was_only_found_is_not_called_the_most_different(bare):
    bounded = bare.rows.head(1).with_columns(
        test=pl.lit("adversarial_attention"), measure=pl.lit("x"), solver=pl.lit("bound")
    )
    assert "the weights that differ most" in render_page([bare])
    assert "the weights found that differ most" in render_page([replace(bare, rows=pl.concat([bare.rows, bounded]))])


def test_a_page_without_texts_has_no_word_of_the_data(bare):
    kept, page = render_page([bare]), render_page([without_texts(bare)])
    words = {word for items in bare.examples["items"] for word in items if word in POLARITY}
    assert words and all(f">{word}</span>" in kept or f'"{word}"' in kept for word in words)
    assert not any(word in page for word in words) and bare.verdict.answer.overall.sentence in page


def test_the_page_of_1800_texts_is_small(audits, tmp_path):
    def grown(audit):
        whole = audit.rows.filter(pl.col("item").is_null())
        shown = audit.rows.filter(pl.col("item").is_not_null())
        texts = [whole.with_columns(pl.col("example") + 40 * copy) for copy in range(45)]
        words = [shown.with_columns(pl.col("example") + 40 * copy) for copy in range(19)]
        examples = [audit.examples.with_columns(pl.col("example") + 40 * copy) for copy in range(19)]
        return replace(audit, rows=pl.concat(texts + words), examples=pl.concat(examples))

    path = write_report([grown(audit) for audit in audits], tmp_path / "report.html")
    assert path.stat().st_size < 3_000_000


def test_words_are_listed_escaped_and_say_what_they_were_counted_on(page_of_one, bare):
    assert "&lt;b&gt;luminous&lt;/b&gt;</td><td>positive</td><td>2.25" in page_of_one
    assert "<td>the</td><td>–</td><td>-1.50" in page_of_one
    without = replace(bare, verdict=bare.verdict.model_copy(update={"words": None}))
    assert 'id="words"' in page_of_one and 'id="words"' not in render_page([without])
    words = updated(bare.verdict.words, auroc=None, polar=3)
    own = updated(bare.verdict, words=words, counted_on="the audited texts")
    page = render_page([replace(bare, verdict=own)])
    assert "Supported classes were counted on the audited texts." in page
    assert "Too few words to compare their scores: 3 support a class, and 14" in page
    assert "Supported classes were counted on the training texts." in render_page([bare])


def test_long_texts_scroll_in_their_place(bare, monkeypatch):
    assert 'class="map" dir="auto" role="region" tabindex="0"' not in render_page([bare])
    monkeypatch.setattr(example_texts, "MOST_ITEMS", 4)
    assert 'class="map" dir="auto" role="region" tabindex="0" aria-label="Text ' in render_page([bare])


def test_bars_of_many_classes_are_folded_and_many_models_keep_examples_folded(bare):
    own = bare.verdict.answer
    classes = tuple(updated(own.overall, shares=updated(own.overall.shares, label=f"class {at}")) for at in range(9))
    many = replace(bare, verdict=updated(bare.verdict, answer=updated(own, classes=classes)))
    shown, _, folded = render_page([many]).partition("<summary>3 more classes</summary>")
    assert shown.count('<div class="class">') == 7 and folded.count('<div class="class">') == 3
    assert '<h2 id="chosen-title">' in render_page([bare] * 3).replace("<summary><h2 id=", "")
    assert '<summary><h2 id="chosen-title">' in render_page([bare] * 4)


def test_rankings_are_shown_by_their_share_of_points_and_price(page_of_one, audits):
    for ranking in audits[1].verdict.answer.rankings:
        row = page_of_one.partition(f'<th scope="row">{ranking.title}')[2].partition("</tr>")[0]
        assert f"width:{100 * (ranking.points.value or 0)}%" in row
        assert f"<td>{ranking.price or '–'}</td>" in row and ranking.answer in row
