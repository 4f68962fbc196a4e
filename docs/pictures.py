"""Makes the pictures of the documentation: `python docs/pictures.py` all, `python docs/pictures.py report` one of them.

report.png is the top of the report that `heedful audit` writes. For live.png a small model is trained on SST-2
(`heedful data fetch sst2` gets it) and served; Chromium opens the page, one weight is dragged, and the top of the page
is kept. Needs playwright and a Chromium on the path.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).parent
TEXT = "A slow start, but the ending is simply wonderful."
WIDTH, HEIGHT = 1180, 905
REPORT_WIDTH, REPORT_HEIGHT = 1180, 1465


def report() -> Path:
    """The top of the report on an honest and a deceptive BiLSTM on reviews."""
    place = DOCS / "report.png"
    with tempfile.TemporaryDirectory() as folder:
        places = ["--runs", f"{folder}/runs", "--audits", f"{folder}/audits", "--out", f"{folder}/report"]
        heedful("audit", *places)
        with opened(REPORT_WIDTH, REPORT_HEIGHT) as page:
            page.goto((Path(folder) / "report" / "report.html").as_uri())
            page.screenshot(path=place)
    return place


def live() -> Path:
    """The live page after a weight was dragged."""
    place = DOCS / "live.png"
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
            live_page(serving.stdout.readline().strip(), place)
        finally:
            serving.terminate()
            serving.wait()
    return place


HEEDFUL = [sys.executable, "-m", "heedful"]


def heedful(*arguments: str) -> str:
    """The result of a command: its last line with --quiet."""
    run = subprocess.run([*HEEDFUL, *arguments, "--quiet"], stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.split()[-1]


@contextmanager
def opened(width: int, height: int) -> Iterator[Page]:
    """A page of Chromium, of this size."""
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        yield browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
        browser.close()


def live_page(address: str, place: Path) -> None:
    """Keeps the top of the page after a weight was moved."""
    with opened(WIDTH, HEIGHT) as page:
        page.add_init_script("localStorage.setItem('heedful-tour-seen', 'yes')")
        page.goto(address)
        page.locator("#beside[aria-busy=false]").wait_for()
        page.locator("#text").fill(TEXT)
        page.locator("#beside[aria-busy=false]").wait_for()
        drag(page)
        page.screenshot(path=place)


def drag(page: Page) -> None:
    """Drags the heaviest bar down to a tenth of what it was."""
    faders = page.locator("#items .fader")
    weights = [float(fader.get_attribute("aria-valuenow") or 0) for fader in faders.all()]
    track = faders.nth(weights.index(max(weights))).locator(".track")
    fill, box = track.locator(".fill").bounding_box(), track.bounding_box()
    assert fill is not None and box is not None
    page.mouse.move(box["x"] + box["width"] / 2, fill["y"])
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - fill["height"] / 10, steps=5)
    page.mouse.up()


PICTURES = {"report": report, "live": live}


if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        print(PICTURES[name]())
