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


class Visits:
    """Pages of the live server: one is kept for a whole file of tests, since to open another takes a second."""

    def __init__(self, browser, live):
        self.browser, self.live = browser, live
        self.complaints, self.asked, self.others = [], [], []
        self.kept, self.is_free = self.new_page(tour=False), True

    def new_page(self, *, tour, width=1280, height=900, **options):
        context = self.browser.new_context(viewport={"width": width, "height": height}, **options)
        if not tour:
            context.add_init_script("localStorage.setItem('heedful-tour-seen', 'yes')")
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self.asked.append(request.url))
        return page

    def open(self, *, fragment="", tour=False, **options):
        """The page, loaded anew; one with options, and the second of a test, are in a browser of their own."""
        from support.live import LivePage

        if self.is_free and not tour and not options:
            self.is_free, page = False, self.kept
        else:
            page = self.new_page(tour=tour, **options)
            self.others.append(page)
        return LivePage(page, self.live).open(fragment)

    def end(self):
        """A test has ended: nothing may have been complained about, and nobody else asked."""
        for page in self.others:
            page.context.close()
        # A refusal is an answer like others to the page; the browser mentions it in its console.
        refused = "Failed to load resource: the server responded with a status of 4"
        complaints = [each for each in self.complaints if not each.startswith(refused)]
        strangers = [url for url in self.asked if not url.startswith((self.live.address, "blob:", "data:"))]
        self.complaints, self.asked, self.others, self.is_free = [], [], [], True
        assert complaints == [] and strangers == []


@pytest.fixture(scope="module")
def visits(browser, live):
    """Pages of the live server in the browser of this file."""
    return Visits(browser, live)


@pytest.fixture
def opened(visits):
    """Opens the live page; when the test ends, it must have complained about nothing and asked nobody else."""
    yield visits.open
    visits.end()
