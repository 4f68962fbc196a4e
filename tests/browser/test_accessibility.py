"""The report, the page of explanations and the live page, checked by axe-core: no serious violation."""

import os
from pathlib import Path

import pytest

import heedful
from heedful.report import read_audit, write_report
from support.models import make, make_batch
from support.synthetic_audit import make_audit

AXE = Path(__file__).parents[2] / ".venv" / "node_modules" / "axe-core" / "axe.min.js"
"""`make` installs it from npm if npm is installed; it is no part of the repository."""
RUN = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
    .filter(each => ["serious", "critical"].includes(each.impact))
    .map(each => each.id + ": " + each.nodes.slice(0, 3).map(node => node.target.join(" ")).join(", "))"""
OPEN = "document.querySelectorAll('details').forEach(each => each.open = true)"

pytestmark = pytest.mark.browser


@pytest.fixture(scope="session")
def axe():
    path = Path(os.environ.get("HEEDFUL_AXE", AXE))
    if not path.is_file():
        pytest.skip(
            "axe-core is not installed: run `make .venv/ready-dev` with npm, or name its axe.min.js as HEEDFUL_AXE"
        )
    return path.read_text(encoding="utf-8")


def violations(page, axe):
    """Serious and critical violations, with everything opened."""
    page.evaluate(OPEN)
    page.evaluate(axe)
    return page.evaluate(RUN)


def of_pages(browser, axe, address):
    found = {}
    for width in (390, 1280):
        for scheme in ("light", "dark"):
            context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
            page = context.new_page()
            page.goto(address)
            found[width, scheme] = violations(page, axe)
            context.close()
    return found


CLEAN = {(width, scheme): [] for width in (390, 1280) for scheme in ("light", "dark")}


def test_a_violation_is_found(browser, axe):
    page = browser.new_page()
    page.set_content("<!DOCTYPE html><title>x</title><img src='data:,'>")
    assert any(each.startswith("image-alt") for each in violations(page, axe))
    page.close()


@pytest.mark.parametrize("encoders", [["bilstm"], ["average", "bilstm"]])
def test_the_report_has_no_serious_violation(browser, axe, tmp_path, encoders):
    audits = [read_audit(make_audit(tmp_path / name, texts=60, encoder=name, shown=30)) for name in encoders]
    address = write_report(audits, tmp_path / "report.html").as_uri()
    assert of_pages(browser, axe, address) == CLEAN


def test_the_page_of_explanations_has_no_serious_violation(browser, axe, tmp_path):
    words = [["A", "good", "film", "which", "is", "so", "good"], list("hijk"), ["alone"]]
    explained = heedful.explain(make("average"), make_batch(), words=words, labels=("no", "yes"))
    assert of_pages(browser, axe, explained.save(tmp_path / "explained.html").as_uri()) == CLEAN


@pytest.mark.parametrize("tour", [False, True])
def test_the_live_page_has_no_serious_violation(opened, axe, tour):
    for scheme in ("light", "dark"):
        assert violations(opened(tour=tour, color_scheme=scheme).page, axe) == []
