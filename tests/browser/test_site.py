"""The documentation in a real browser: pages open, the navigation leads on, nothing is complained about."""

import os

import pytest

from support.site import built_site

pytestmark = [pytest.mark.browser, pytest.mark.slow]
pytest.importorskip("sphinx", reason="the documentation's tools are not installed")


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    own = tmp_path_factory.getbasetemp()
    site = built_site(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.complaints, page.asked = [], []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto((site.folder / "index.html").as_uri())
    return page


def test_a_reader_finds_the_way_from_the_first_page_to_a_claim(page):
    assert page.locator("h1").inner_text().startswith("Can you trust attention as an explanation?")
    assert page.locator("img[alt^='The top of a report']").evaluate("image => image.naturalWidth") > 500
    page.get_by_role("link", name="Start here").first.click()
    assert page.locator("h1").inner_text().startswith("Start here")
    page.locator(".sidebar-tree").get_by_role("link", name="Every claim, and the result").click()
    page.wait_for_load_state()
    assert page.locator("table").nth(1).locator("tbody tr").count() > 50
    page.locator("table").first.get_by_role("link", name="Hu et al. (2023), SEAT").first.click()
    page.wait_for_load_state()
    assert page.locator("h2", has_text="Where the paper or its code errs").count() == 1


def test_a_test_a_method_and_a_function_have_their_pages(page):
    for name, shown in {
        "generated/tests/erase_one": "Does the top word determine the prediction?",
        "generated/methods/seat": "attention alone",
        "api/exact": "minimal_flip_set",
    }.items():
        page.goto(f"{page.url.rpartition('/site/')[0]}/site/{name}.html")
        assert page.locator("article", has_text=shown).count() == 1


def test_nothing_was_complained_about_and_nobody_else_asked(page):
    assert page.complaints == []
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
