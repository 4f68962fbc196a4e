import math
from dataclasses import replace

import polars as pl

from heedful.report.texts import OTHER, gather_texts


def test_every_text_of_every_run_has_one_line(audits):
    texts = gather_texts(audits)
    assert texts.runs == ("average", "bilstm")
    assert texts.classes == ("negative", "positive")
    assert texts.frame.height == 80
    row = texts.frame.row(by_predicate=(pl.col("run") == "bilstm") & (pl.col("example") == 3), named=True)
    rows = audits[1].rows.filter(
        (pl.col("example") == 3) & (pl.col("test") == "adversarial_attention") & (pl.col("measure") == "js")
    )
    assert row["adversarial_attention.js"] == rows["value"].item()


def with_predictions(audit, predicted, labels):
    """The audit with other predictions, and names for them."""
    here = (pl.col("test") == "prediction") & (pl.col("measure") == "predicted")
    number = pl.col("example").replace_strict(range(len(predicted)), predicted, return_dtype=pl.Float64)
    rows = audit.rows.with_columns(value=pl.when(here).then(number).otherwise("value"))
    return replace(audit, rows=rows, verdict=audit.verdict.model_copy(update={"labels": tuple(labels)}))


def test_rare_classes_are_drawn_as_one_and_a_prediction_without_a_label_is_unknown(audits):
    # Class k is predicted 8 - k times, the last ones once.
    predicted = [0] * 8 + [1] * 7 + [2] * 6 + [3] * 5 + [4] * 4 + [5] * 3 + [6] * 3 + [7] * 4
    texts = gather_texts([with_predictions(audits[0], [float(label) for label in predicted], "abcdefgh")])
    assert len(texts.classes) == 6
    assert texts.classes[:4] == ("a", "b", "c", "d")
    assert texts.classes[-1] == OTHER
    assert set(texts.frame["class"]) == set(texts.classes)
    texts = gather_texts([with_predictions(audits[0], [0.0] * 39 + [9.0], ["yes", "no"])])
    assert texts.classes == ("yes", "unknown")


def test_undefined_values_are_counted_and_a_test_of_one_run_is_there(audits):
    broken = audits[0].rows.with_columns(
        value=pl.when((pl.col("measure") == "js") & (pl.col("example") < 2)).then(math.nan).otherwise("value")
    )
    texts = gather_texts([replace(audits[0], rows=broken)])
    assert texts.values("adversarial_attention.js").height == 38
    assert texts.left_out("adversarial_attention.js") == " 2 texts have no value here."
    assert texts.left_out("adversarial_attention.cap") == ""
    without = replace(audits[1], rows=audits[1].rows.filter(pl.col("test") != "adversarial_attention"))
    texts = gather_texts([audits[0], without])
    assert texts.has("adversarial_attention.js")
    assert set(texts.values("adversarial_attention.js")["run"]) == {"average"}
    assert not gather_texts([without]).has("adversarial_attention.js")
