"""Makes docs/live.png, the README's picture of the live page: `python docs/pictures.py`.

A small model is trained on SST-2 (`heedful data fetch sst2` gets it) and served; Chromium opens the page, one weight is
dragged, and the top of the page is kept. Needs playwright and a Chromium on the path.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

PLACE = Path(__file__).parent / "live.png"
TEXT = "A smart, funny film with a slow start, but the ending is simply wonderful."
WIDTH, HEIGHT = 1180, 905


def main() -> None:
    """Trains, serves, drags and keeps the picture."""
    with tempfile.TemporaryDirectory() as runs:
        settings = ["--encoder", "bilstm", "--set", "network.hidden_size=32", "--set", "training.epochs=4"]
        keys = [
            heedful("train", "sst2", *settings, "--runs", runs),
            heedful("train", "sst2", "--encoder", "average", "--runs", runs),
        ]
        serving = subprocess.Popen(
            [*HEEDFUL, "serve", *keys, "--runs", runs, "--port", "0", "--quiet"], stdout=subprocess.PIPE, text=True
        )
        assert serving.stdout is not None
        try:
            picture(serving.stdout.readline().strip())
        finally:
            serving.terminate()
            serving.wait()


HEEDFUL = [sys.executable, "-m", "heedful"]


def heedful(*arguments: str) -> str:
    """The result of a command: its last line with --quiet."""
    run = subprocess.run([*HEEDFUL, *arguments, "--quiet"], stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.split()[-1]


def picture(address: str) -> None:
    """The top of the page after a weight was moved."""
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.add_init_script("localStorage.setItem('heedful-tour-seen', 'yes')")
        page.goto(address)
        page.locator("#beside[aria-busy=false]").wait_for()
        page.locator("#text").fill(TEXT)
        page.locator("#beside[aria-busy=false]").wait_for()
        drag(page)
        page.screenshot(path=PLACE)
        browser.close()
    print(PLACE)


def drag(page: Page) -> None:
    """Takes hold of the heaviest bar and pulls it down to a tenth of what it was."""
    faders = page.locator("#items .fader")
    weights = [float(fader.get_attribute("aria-valuenow") or 0) for fader in faders.all()]
    track = faders.nth(weights.index(max(weights))).locator(".track")
    fill, box = track.locator(".fill").bounding_box(), track.bounding_box()
    assert fill is not None and box is not None
    page.mouse.move(box["x"] + box["width"] / 2, fill["y"])
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - fill["height"] / 10, steps=5)
    page.mouse.up()


if __name__ == "__main__":
    main()
