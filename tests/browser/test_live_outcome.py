"""The outcome of the text on the live page: its sentences, its key words, and when they change."""

import pytest

from heedful.verdict.answer_text import BADGES
from support.live import TEXT

pytestmark = pytest.mark.browser

OTHER = "so bad was the film , the film was bad"


def sentences(page):
    return page.page.locator("#outcome p").all_inner_texts()


def outlined(page, place="#items .word"):
    """Places of the words that are outlined."""
    kinds = page.page.locator(place).evaluate_all("all => all.map(each => getComputedStyle(each).outlineStyle)")
    return [at for at, kind in enumerate(kinds) if kind != "none"]


def test_the_outcome_of_the_text_is_shown_and_changes_with_the_text(opened, live):
    page = opened()
    for text in (TEXT, OTHER, "good"):
        page.write(text)
        outcome = live.read("average", text)["outcome"]
        assert sentences(page) == outcome["sentences"]
        assert outlined(page) == outlined(page, "#rankings [data-ranking=attention] .token") == outcome["key_words"]
        assert page.page.locator("#outcome").get_attribute("aria-busy") == "false"
    assert sentences(page) == ["The text has a single word, so there is nothing to choose from."]


def test_an_outcome_never_stands_above_another_text(opened):
    """Between a change of the text and its outcome there is none."""
    page = opened().page
    before = page.locator("#outcome").inner_text()
    page.route("**/api/read", lambda route: None if "is_quick" not in route.request.post_data else route.continue_())
    page.locator("#text").fill(OTHER)
    page.locator("#outcome[aria-busy=true]").wait_for()
    assert page.locator("#outcome").inner_text() == "Judging the text …" != before
    assert page.locator("#items .key, #items .largest").count() == 0
    page.unroute("**/api/read")


def test_dragged_weights_leave_the_outcome_and_it_is_said_to_be_of_the_own(opened):
    page = opened()
    own, asked = sentences(page), []
    page.page.on("request", lambda request: asked.append(request.url))
    assert page.page.locator("#outcome-own").is_hidden()
    page.fader(0).focus()
    page.page.keyboard.press("End")
    page.page.locator("#outcome-own").wait_for()
    page.page.wait_for_timeout(400)
    assert sentences(page) == own and asked == []
    page.page.locator("#reset").click()
    assert page.page.locator("#outcome-own").is_hidden()


def test_each_ranking_has_its_outcome(opened, live):
    page = opened()
    for ranking in live.read("average", TEXT)["rankings"]:
        if ranking["name"] != "rationale":
            row = page.page.locator(f"#rankings [data-ranking={ranking['name']}] th")
            assert ranking["badge"] in BADGES.values() and ranking["badge"] in row.inner_text()


def test_the_saved_page_has_the_outcome(opened, live, tmp_path):
    page = opened()
    with page.page.expect_download() as download:
        page.page.locator("#save-page").click()
    download.value.save_as(tmp_path / "saved.html")
    saved = page.page.context.new_page()
    saved.goto((tmp_path / "saved.html").as_uri())
    shown = saved.locator("#outcome p").all_inner_texts()
    key = saved.locator("#items .word").evaluate_all("all => all.map(each => getComputedStyle(each).outlineStyle)")
    saved.close()
    outcome = live.read("average", TEXT)["outcome"]
    assert shown == outcome["sentences"]
    assert [at for at, kind in enumerate(key) if kind != "none"] == outcome["key_words"]
