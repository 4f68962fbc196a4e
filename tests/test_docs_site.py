"""`make docs`: the site builds without a warning, from its own pages and those that the package writes."""

import os
import re
from pathlib import Path

import pytest

from support.site import MAIN_PAGES, ROOT, built_site

pytest.importorskip("sphinx", reason="the documentation's tools are not installed")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    own = tmp_path_factory.getbasetemp()
    return built_site(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.mark.slow
def test_the_site_builds_without_a_warning(site):
    assert (site.exit_code, site.warnings) == (0, "")


@pytest.mark.slow
def test_the_main_pages_are_there_and_load_nothing_from_elsewhere(site):
    for page in MAIN_PAGES:
        html = (site.folder / page).with_suffix(".html").read_text(encoding="utf-8")
        assert html.count("<h1>") == 1
        assert re.findall(r'<(?:script|img|link)[^>]*(?:src|href)="(https?:[^"]*)"', html) == []


def test_make_builds_the_same():
    [command] = re.findall(r"^docs: .*\n\t(.*)$", Path(ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert all(flag in command for flag in ("--fail-on-warning", "--nitpicky", "docs docs/site"))
