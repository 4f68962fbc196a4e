"""The two functions that write."""

from dataclasses import replace

import polars as pl
import pytest

from heedful.errors import SettingError
from heedful.report import read_audit, write_figures, write_report
from heedful.report.figures import FIGURES


def test_a_report_is_written_whole_and_with_the_same_bytes_each_time(bare, tmp_path, folders, page_of_both):
    path = write_report([bare], tmp_path / "new" / "report.html")
    assert path.read_text(encoding="utf-8").endswith("</html>")
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]
    written = write_report([read_audit(folder) for folder in folders], tmp_path / "report.html")
    assert written.read_bytes() == page_of_both.encode()


def test_no_audit_and_an_unknown_format_are_named(tmp_path, audits):
    with pytest.raises(SettingError, match="audits must name one audit at least"):
        write_report([], tmp_path / "report.html")
    with pytest.raises(SettingError, match="audits must name one audit at least"):
        write_figures([], tmp_path)
    with pytest.raises(SettingError, match="formats must be among svg, png; got 'pdf'"):
        write_figures(audits, tmp_path, formats=("pdf",))


def test_every_figure_becomes_a_file_of_each_format(audits, tmp_path):
    written = write_figures(audits[1:], tmp_path / "figures")
    assert len(written) == 2 * len(FIGURES)
    assert (tmp_path / "figures" / "adversarial_attention.svg").read_text(encoding="utf-8").startswith("<svg")
    assert (tmp_path / "figures" / "adversarial_attention.png").read_bytes().startswith(b"\x89PNG")


def test_one_format_alone_can_be_asked_for(audits, tmp_path):
    few = audits[1].rows.filter(pl.col("test").is_in(["prediction", "gradient_agreement"]))
    written = write_figures([replace(audits[1], rows=few)], tmp_path, formats=["svg"])
    assert [path.name for path in written] == ["gradient_agreement.svg"]
