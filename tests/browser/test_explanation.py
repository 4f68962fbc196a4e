"""The page of explanations in a real browser: of a run and of a user's own model; it fits, runs and fetches nothing."""

from dataclasses import replace

import pytest

import heedful
from heedful.report.explanations import outcome_lines, printable
from heedful.report.loading import audit
from heedful.training.loop import train
from heedful.verdict.answer_text import BADGES
from support.audits import QUICK
from support.models import make, make_batch
from support.runs import changed, toy

EVIL = "<script>alert(1)</script> <img src=x onerror=alert(2)> <a href=javascript:alert(3)>so</a>"
TEXTS = [
    "The film was so GOOD!",
    f"so good {EVIL} \x1b[31m \u202eneddih\u202c שלום film was good",
    f"bad {'x' * 400} film, bad: http://{'y' * 300}.example/",
    "so bad , the film was good . " * 40,
    "good",
]

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def explained():
    """Texts explained by a run and its audit."""
    trained = train(changed(training__epochs=6), toy())
    return heedful.explain(trained, TEXTS, audit=audit(trained, replace(toy(), test=toy().train), QUICK))


@pytest.fixture(scope="module")
def pages(tmp_path_factory, explained):
    """The addresses of a page of a run, and of a page of a model of the user's own."""
    folder = tmp_path_factory.mktemp("explanations")
    of_run = explained.save(folder / "run.html")
    words = [["A", EVIL, "film", "which", "is", "so", "good"], list("hijk"), ["alone"]]
    of_own = heedful.explain(make("average"), make_batch(), words=words, labels=("no", "<b>yes</b>"))
    return {"run": of_run.as_uri(), "own": of_own.save(folder / "own.html").as_uri()}


@pytest.fixture
def opened(browser, pages):
    """Opens a page; when the test ends it must have fetched, run and complained about nothing."""
    contexts, complaints, asked = [], [], []

    def open_page(name, *, width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        page = context.new_page()
        contexts.append(context)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(pages[name])
        return page

    yield open_page
    assert complaints == []
    assert {url for url in asked if not url.startswith("data:")} <= set(pages.values())
    for context in contexts:
        context.close()


def test_the_page_of_a_run_says_what_its_audit_says(opened):
    page = opened("run")
    assert page.locator("h1").inner_text() == "Which words decide these predictions?"
    assert "If the model predicts good: " in page.locator("#audit").inner_text()
    assert page.locator("article").count() == len(TEXTS)
    assert (
        page.locator("article").first.locator("h2").inner_text().startswith("The model predicts good with probability")
    )
    page.locator("article").first.locator("summary").press("Enter")
    rows = [row.split("\n")[0] for row in page.locator("article").first.locator("tbody th").all_inner_texts()]
    assert "Attention" in rows and rows[-1] == "Adversarial attention"


def test_each_text_begins_with_its_outcome_and_its_key_words_are_outlined(opened, explained):
    page = opened("run")
    for place, made in enumerate(explained):
        article = page.locator("article").nth(place)
        sentences = [printable(each) for each in outcome_lines(made)]
        shown = article.locator(".verdict-line b, .lines p").all_text_contents()
        badge = article.locator(".verdict-line .outcome")
        assert badge.inner_text().lower() == BADGES[made.outcome.outcome]
        assert badge.evaluate("own => getComputedStyle(own, '::before').content") == '""', "a shape, not color alone"
        assert [" ".join(each.split()) for each in shown] == [" ".join(each.split()) for each in sentences]
        is_outlined = "all => all.map(each => getComputedStyle(each).outlineStyle !== 'none')"
        outlined = article.locator(".map").first.locator(".token").evaluate_all(is_outlined)
        assert [at for at, is_key in enumerate(outlined) if is_key] == list(made.outcome.key_words)


def test_the_page_of_an_own_model_shows_its_words_and_labels(opened):
    page = opened("own")
    assert "No audit of this model is known." in page.locator("#audit").inner_text()
    assert page.locator("article").count() == 3
    assert "A" in page.locator(".map").first.inner_text() and EVIL in page.locator(".map").first.inner_text()
    assert "<b>yes</b>" in page.locator("article").first.inner_text()


def test_the_page_fits_and_can_be_read(opened):
    for scheme in ["light", "dark"]:
        for width in [390, 1280]:
            for name in ["run", "own"]:
                page = opened(name, width=width, color_scheme=scheme)
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                outside = "all => all.filter(each => each.getBoundingClientRect().right > innerWidth + 1).length"
                assert page.locator("main *").evaluate_all(outside) == 0
                lightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
                assert (sum(page.evaluate(lightness)) < 200) == (scheme == "dark")


def test_the_page_is_printed_with_its_colors_and_without_links(opened):
    for name in ["run", "own"]:
        page = opened(name, width=794)
        page.emulate_media(media="print")
        assert page.locator("nav").is_hidden()
        assert page.evaluate("document.documentElement.scrollWidth") <= 794
        strongest = page.locator(".map .token").evaluate_all(
            "cells => cells.reduce((best, cell) => +cell.style.getPropertyValue('--weight') >"
            " +best.style.getPropertyValue('--weight') ? cell : best).getAttribute('style')"
        )
        cell = page.locator(f'.map .token[style="{strongest}"]').first
        assert cell.evaluate("cell => getComputedStyle(cell).printColorAdjust") == "exact"
        assert cell.evaluate("cell => getComputedStyle(cell).backgroundColor") not in (
            "rgba(0, 0, 0, 0)",
            "transparent",
        )
        assert len(page.pdf(format="A4")) > 10_000


def test_a_heavier_word_has_a_stronger_color(opened):
    page = opened("run")
    share = "cell => +(getComputedStyle(cell).backgroundColor.match(/\\/ ([\\d.]+)\\)$/) || [0, 1])[1]"
    cells = page.locator(".map").first.locator(".token")
    shades = [cells.nth(place).evaluate(share) for place in range(cells.count())]
    weights = [float((cells.nth(place).get_attribute("style") or "").split(":")[1]) for place in range(cells.count())]
    assert len(set(weights)) > 2
    assert sorted(range(len(weights)), key=weights.__getitem__) == sorted(range(len(weights)), key=shades.__getitem__)
