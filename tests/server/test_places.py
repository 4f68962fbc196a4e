"""Where a text stands among the audited ones."""

import polars as pl
import pytest

from heedful.auditing.decision import other_attention
from heedful.report.audit_files import AuditFiles
from heedful.schema import ROWS, Verdict
from heedful.server.places import AuditedTexts

NAN = float("nan")


def audited(settings=None, run="r", **columns) -> AuditedTexts:
    """An audit with these values, by test and measure."""
    rows = [
        {"run": run, "split": "test", "example": number, "test": test, "measure": measure, "value": value}
        | {"solver": "exact", "item": None}
        for (test, measure), values in {tuple(name.split("__")): values for name, values in columns.items()}.items()
        for number, value in enumerate(values)
    ]
    verdict = Verdict(run="r", data="d", texts=4, labels=("a", "b"), lines=(), settings=settings or {})
    return AuditedTexts(AuditFiles(pl.DataFrame(rows, schema=ROWS), pl.DataFrame(), verdict, "m"), "r")


def test_the_share_of_texts_that_have_less(model):
    case = model("average")
    evidence = case.evidence()
    share = other_attention(evidence, evidence.context.labels)[0].share
    table = audited(
        adversarial_attention__js=[0.0, 0.1 * share, 0.2, 1.0, NAN],
        adversarial_attention__cap=[1.0, 1.0, 0.1, 1.0, 1.0],
    )
    with case.served.reading(case.text) as read:
        (place,) = table.places(read)
    assert place.name == "replaceable" and place.value == pytest.approx(share) and place.texts == 4
    assert place.percentile == 100 * sum(other < share for other in (0.0, 0.1 * share, 2.0, 1.0)) / 4
    assert f"{place.percentile:.0f} of 100" in place.sentence


def test_an_audit_with_another_rule_for_the_same_answer_is_not_compared(model):
    case = model("average")
    columns = {"adversarial_attention__js": [0.1, 0.2], "adversarial_attention__cap": [0.5, 0.5]}
    settings = {"audit": {"options": {"adversarial_attention": {"eps": 0.1}}}}
    with case.served.reading(case.text) as read:
        assert audited(**columns).places(read) and not audited(settings, **columns).places(read)


def test_measures_that_the_audit_has_not_are_left_out(model):
    case = model("average")
    with case.served.reading(case.text) as read:
        assert audited(prediction__correct=[1.0]).places(read) == []
        names = [place.name for place in audited(permutation__worst_tvd=[0.0, 1.0]).places(read)]
    assert names == ["worst_permutation"]
