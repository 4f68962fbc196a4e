"""Figures as files: drawn the same with altair's own writer, and whatever their labels hold."""

import io

import altair as alt
import polars as pl

from heedful.report.drawing import styled
from heedful.report.figure import Figure, inline_svg, to_png, to_svg


def figure(label="a label"):
    frame = pl.DataFrame({"name": [label, "other"], "value": [1.0, 2.0]})
    chart = alt.Chart(frame, title=label).mark_bar().encode(x="value:Q", y=alt.Y("name:N", title=label))
    return Figure("bars", "question", "Bars", "Read the bars.", "nobody", "Two bars", chart)


def test_a_figure_is_what_altair_draws():
    drawn = io.StringIO()
    styled(figure().chart).save(drawn, format="svg")
    assert to_svg(figure()) == drawn.getvalue()


def test_no_character_of_a_label_stops_the_drawing():
    for mark in ["\x1b", "\x00", "\x07", "\x01", "\x08", "￾", "￿", "‮", "<script>", "\\x1b"]:
        svg = inline_svg(figure(f"be{mark}fore"))
        assert mark not in svg
        assert "fore" in svg
        assert to_png(figure(f"be{mark}fore")).startswith(b"\x89PNG")
