"""The report in a real browser: nothing is fetched, nothing fails, and the texts can be chosen and searched."""

import re

import pytest

from heedful.report import read_audit, write_report
from heedful.report.figures import FIGURES
from support.synthetic_audit import make_audit

SCRIPT = "<script>alert(1)</script>"

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("report")
    folders = [
        make_audit(root / encoder, texts=40, encoder=encoder, shown=11, trick=SCRIPT)
        for encoder in ("average", "bilstm")
    ]
    return write_report([read_audit(folder) for folder in folders], root / "report.html").as_uri()


@pytest.fixture(scope="module")
def report_of_one(tmp_path_factory):
    root = tmp_path_factory.mktemp("one")
    audit = read_audit(make_audit(root / "bilstm", texts=60, encoder="bilstm", shown=60))
    return write_report([audit], root / "report.html").as_uri()


@pytest.fixture
def page(browser, report):
    """The report, opened; when the test ends it must have fetched and complained about nothing."""
    context = browser.new_context()
    opened, complaints, asked = context.new_page(), [], []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    opened.on("request", lambda request: asked.append(request.url))
    opened.set_default_timeout(5_000)
    opened.goto(report)
    opened.get_by_role("link", name="All texts").click()
    yield opened
    assert complaints == []
    assert {url for url in asked if not url.startswith("data:")} == {report}
    context.close()


def shown(page):
    return page.locator("#shown").inner_text()


def test_a_text_is_chosen_by_its_number(page):
    page.get_by_label("Text number").fill("7")
    page.get_by_label("Text number").press("Enter")
    assert page.locator("#status").inner_text() == "Text 7: 8 of 11 texts."
    page.get_by_label("Text number").fill("400")
    page.get_by_label("Text number").press("Tab")
    assert page.locator("#status").inner_text().startswith("Text 400 is not among those shown; this is the nearest.")
    assert page.get_by_label("Text number").input_value() == "10"


def test_texts_are_walked_through_with_the_keyboard(page):
    assert page.get_by_label("Previous text").is_disabled()
    page.get_by_label("Next text").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.locator("#status").inner_text() == "Text 2: 3 of 11 texts."
    page.get_by_label("Previous text").click()
    assert page.get_by_label("Text number").input_value() == "1"


def test_texts_are_searched(page):
    page.get_by_role("searchbox").fill("LUMINOUS")
    status = page.locator("#status").inner_text()
    assert "matching texts" in status
    assert "luminous" in shown(page)
    page.get_by_role("searchbox").fill("no text says this")
    assert page.locator("#status").inner_text() == "No text matches."
    assert shown(page) == ""
    page.get_by_role("searchbox").fill("")
    assert page.locator("#status").inner_text().endswith("of 11 texts.")


def test_texts_are_chosen_by_their_outcome(page):
    page.get_by_label("Outcome").select_option("no small set")
    assert "matching texts" in page.locator("#status").inner_text()
    assert "No small set of words decides this prediction" in shown(page)
    assert page.locator("#shown .token.key.loose").count() > 0
    page.get_by_label("Outcome").select_option("points")
    assert "Attention points to the key words." in shown(page)


def test_right_and_wrong_predictions_are_told_apart(page):
    page.get_by_label("Predictions", exact=True).select_option("right")
    assert "wrong" not in shown(page)
    right = page.locator("#status").inner_text()
    assert "matching" in right or right.endswith("11 texts.")
    page.get_by_label("Predictions", exact=True).select_option("wrong")
    assert "wrong" in shown(page) or page.locator("#status").inner_text() == "No text matches."


def test_both_models_show_attention_beside_the_other_attention(page):
    assert page.locator("#shown .reading").count() == 2
    rows = page.locator("#shown .reading").first.locator("tbody th")
    shown = [row.split("\n")[0] for row in rows.all_inner_texts()]
    assert shown == ["Attention", "Adversarial attention"]
    assert page.locator("#shown .reading").first.locator("caption").inner_text().startswith("average: predicted ")


def test_rows_are_switched_on_and_off(page):
    page.get_by_label("Leaving the word out").check()
    page.get_by_label("Adversarial attention").uncheck()
    rows = page.locator("#shown .reading").first.locator("tbody th")
    assert [row.split("\n")[0] for row in rows.all_inner_texts()] == ["Attention", "Leaving the word out"]


def test_attention_is_shown_under_noise_a_similar_word_and_another_seed(page):
    for name in ("Attention", "Adversarial attention"):
        page.get_by_label(name, exact=True).uncheck()
    for name in ("Noise on a word", "A similar word", "Another seed"):
        page.get_by_label(name).check()
    noisy, replaced, other = page.locator("#shown .reading").first.locator("tbody tr").all_inner_texts()
    assert "noise on “" in noisy and "became “<i>similar</i>”" in replaced
    assert replaced.rstrip().endswith("<i>similar</i>") and "similar" not in noisy + other


def test_the_smallest_set_and_the_rationale_are_marked(page):
    for _ in range(10):
        if page.locator("#shown .token.flip").count():
            break
        page.get_by_label("Next text").click()
    assert page.locator("#shown .token.flip").count() > 0
    assert page.locator("#shown .token.rationale").count() > 0
    assert page.locator("#legend-rationale").is_visible()


def test_markup_in_a_text_is_shown_as_text(page):
    page.get_by_label("Text number").fill("1")
    page.get_by_label("Text number").press("Enter")
    assert SCRIPT in shown(page)
    assert page.locator("#shown script").count() == 0


OPEN = "document.querySelectorAll('details').forEach(each => each.open = true)"
BEYOND = """width => [...document.querySelectorAll("main *, figure svg *")].filter(each => {
    const box = each.getBoundingClientRect(), region = each.closest(".scroll");
    return box.width && !region && !each.closest(".unseen") && (box.right > width + 1 || box.left < -1);
}).map(each => each.outerHTML.slice(0, 120))"""
"""What reaches beyond the page, but for tables that scroll by themselves."""
CUT = """() => [...document.querySelectorAll("figure svg")].filter(drawing => {
    const frame = drawing.getBoundingClientRect();
    return [...drawing.querySelectorAll("text")].some(text => {
        const box = text.getBoundingClientRect();
        return box.width && (box.right > frame.right + 1 || box.left < frame.left - 1);
    });
}).map(drawing => drawing.closest("figure").id)"""
"""Figures of which a label is cut off."""


def test_the_page_fits_and_can_be_read(browser, report):
    for width in [390, 1280]:
        for scheme in ["light", "dark"]:
            context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
            page = context.new_page()
            page.goto(report)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.evaluate(OPEN)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(BEYOND, width) == [] and page.evaluate(CUT) == []
            lightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
            assert (sum(page.evaluate(lightness)) < 200) == (scheme == "dark")
            label = page.locator("figure svg text").first.evaluate("text => getComputedStyle(text).fill")
            assert label == ("rgb(179, 188, 200)" if scheme == "dark" else "rgb(75, 86, 100)")
            context.close()


def test_on_paper_the_page_is_light_whole_and_without_controls(browser, report):
    for scheme in ["light", "dark"]:
        width = 794  # A4 at 96 pixels an inch
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 1123})
        page = context.new_page()
        page.goto(report)
        page.emulate_media(media="print")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(BEYOND, width) == [] and page.evaluate(CUT) == []
        assert not page.locator("nav").is_visible() and not page.locator("#chooser").is_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        for part in ("#verdict table", "#figures svg", "#settings .facts", "#chosen .reading"):
            assert page.locator(part).first.evaluate("each => each.checkVisibility()"), part
        for part, is_drawn in (
            (".shares .points", "background-color"),
            (".shares .misses", "background-image"),
            ("#chosen .token.top", "background-color"),
            ("#verdict .bar .fill", "background-color"),
            (".lead .outcome", "color"),
        ):
            style = "(each, name) => [getComputedStyle(each).printColorAdjust, getComputedStyle(each)[name]]"
            adjusted, drawn = page.locator(part).first.evaluate(style, is_drawn)
            assert adjusted == "exact" and drawn not in ("none", "rgba(0, 0, 0, 0)", "rgb(31, 41, 51)"), part
        assert page.pdf(format="A4").startswith(b"%PDF")
        context.close()


def test_the_answer_comes_first_then_examples_rankings_and_tests(page):
    parts = (
        ".answer .lead",
        ".answer .sentence",
        ".answer .shares",
        ".answer .do",
        "#chosen",
        "#rankings",
        "#verdict",
        "#figures",
    )
    place = "part => document.querySelector(part).getBoundingClientRect().y + scrollY"
    tops = page.evaluate(f"parts => parts.map({place})", parts)
    assert tops == sorted(tops) and tops[0] < 400
    titles = page.locator("#chosen h3").all_inner_texts()
    assert [title.split(" (")[0] for title in titles] == ["Points", "No small set"]
    assert page.locator(".answer .outcome").all_inner_texts()[0] == "Yes"
    assert page.locator(".answer .do").count() == 2


def test_bars_are_as_wide_as_their_numbers_and_outlines_need_no_color(page):
    bar, key = page.locator(".answer .shares").first, page.locator(".answer .shares-key").first
    widths = {part: bar.locator(part).bounding_box()["width"] for part in (".decided", ".points")}
    numbers = dict(re.findall(r"(points|no small set) (\d+)", " ".join(key.inner_text().split())))
    assert 100 * widths[".points"] / widths[".decided"] == pytest.approx(int(numbers["points"]), abs=1.5)
    whole = bar.bounding_box()["width"]
    assert 100 * (1 - widths[".decided"] / whole) == pytest.approx(int(numbers["no small set"]), abs=1.5)
    styles = [
        page.locator(token).first.evaluate("token => getComputedStyle(token).outlineStyle")
        for token in (
            "#chosen .token.key:not(.loose)",
            "#chosen .reading .token.key.loose",
            "#chosen .map .token:not(.key)",
        )
    ]
    assert styles == ["solid", "dotted", "none"]


def test_the_first_screen_has_the_answer_and_what_to_do_and_the_closed_page_is_short(browser, report_of_one):
    for width, height in [(1280, 900), (390, 844)]:
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(report_of_one)
        for part in (".lead", ".sentence", ".class >> nth=-1", ".do"):
            box = page.locator(".answer").locator(part).bounding_box()
            assert box["y"] >= 0 and box["y"] + box["height"] <= height, (part, box)
        assert page.locator(".answer .shares").count() == 3
        if width == 1280:
            assert page.evaluate("document.documentElement.scrollHeight") <= 5000
        page.close()


def test_two_models_closed_are_short_too(browser, report):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(report)
    assert page.evaluate("document.documentElement.scrollHeight") <= 5000
    page.close()


def test_every_fold_is_opened_with_the_keyboard_alone(browser, report_of_one):
    page = browser.new_page()
    page.goto(report_of_one)
    closed = "[...document.querySelectorAll('details:not([open])')].length"
    assert page.evaluate(closed) > 10
    focused = "document.activeElement.matches('details:not([open]) > summary')"
    for place in range(600):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        if page.evaluate(focused):
            page.keyboard.press("Enter" if place % 2 else "Space")
    assert page.evaluate(closed) == 0
    page.close()


def test_each_answer_and_outcome_has_a_shape_and_a_color_of_its_own(browser, report_of_one):
    page = browser.new_page()
    page.goto(report_of_one)
    looks = page.evaluate("""() => ["points", "some", "misses", "no_small_set", "none"].map(kind => {
        const made = document.createElement("strong");
        made.className = "outcome " + kind;
        document.body.append(made);
        const shape = getComputedStyle(made, "::before");
        const parts = [shape.borderStyle, shape.borderRadius, shape.backgroundImage.split("(")[1], shape.height];
        return [parts.join(), getComputedStyle(made).color];
    })""")
    shapes, colors = zip(*looks, strict=True)
    assert len({*shapes}) == 5 and len({*colors}) == 4
    page.close()


def test_without_scripts_the_verdict_is_still_there(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report)
    assert page.locator("figure svg").count() == len(FIGURES)
    page.locator("#texts summary").click()
    assert "This part needs JavaScript" in page.locator("#texts").inner_text()
    context.close()
