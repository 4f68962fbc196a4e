from dataclasses import replace

import polars as pl
import pytest

from heedful.report import read_audit
from heedful.report.page import render_page
from support.synthetic_audit import make_audit


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """Two small audits on the same texts."""
    root = tmp_path_factory.mktemp("audits")
    return [make_audit(root / encoder, texts=40, encoder=encoder, shown=11) for encoder in ("average", "bilstm")]


@pytest.fixture(scope="session")
def audits(folders):
    return [read_audit(folder) for folder in folders]


@pytest.fixture(scope="session")
def bare(audits):
    """An audit of predictions and words alone: no figure to draw, so its page is quick to make."""
    return replace(audits[0], rows=audits[0].rows.filter(pl.col("test").is_in(["prediction", "items"])))


@pytest.fixture(scope="session")
def page_of_both(audits):
    return render_page(audits)


@pytest.fixture(scope="session")
def page_of_one(audits):
    return render_page(audits[1:])
