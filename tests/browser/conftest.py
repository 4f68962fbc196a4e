"""A real browser, for every page that is tested in one."""

import shutil

import pytest


@pytest.fixture(scope="module")
def browser():
    """Chromium, running; where it or playwright is missing, the test is skipped, saying so."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with api.sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-background-networking"]
        running = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield running
        running.close()
