"""A real browser, for every page that is tested in one, and the server of the live page."""

import shutil

import pytest


@pytest.fixture(scope="session")
def chromium():
    """Where Chromium is; where it or playwright is missing, the test is skipped, saying so."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed")
    return path


@pytest.fixture(scope="module")
def browser(chromium):
    """Chromium, running."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-background-networking"]
        running = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield running
        running.close()


@pytest.fixture(scope="session")
def live(chromium, tmp_path_factory):
    """The server of the live page, with models that are trained in a moment."""
    from support.live import Live, live_models, serving

    models = live_models(tmp_path_factory.mktemp("audits"))
    with serving(list(models.values())) as address:
        yield Live(address, models)


@pytest.fixture
def opened(browser, live):
    """Opens the live page; when the test ends, it must have complained about nothing and asked nobody else."""
    from support.live import LivePage

    contexts, complaints, asked = [], [], []

    def open_page(*, fragment="", width=1280, height=900, tour=False, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        if not tour:
            context.add_init_script("localStorage.setItem('heedful-tour-seen', 'yes')")
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        return LivePage(page, live).open(fragment)

    yield open_page
    for context in contexts:
        context.close()
    # A refusal is an answer like others to the page; the browser mentions it in its console.
    refused = "Failed to load resource: the server responded with a status of 4"
    assert [each for each in complaints if not each.startswith(refused)] == []
    assert all(url.startswith((live.address, "blob:", "data:")) for url in asked)
