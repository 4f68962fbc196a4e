import subprocess
import sys

import pytest
import torch

import heedful
from heedful.data.tokenizer import WordTokenizer
from heedful.models.trace import trace
from heedful.schema import Line, Verdict
from heedful.types import Findings, Reference
from support.explanations import make_explanation
from support.models import make, make_batch
from support.runs import RUN, toy

LONGEST = 400
LONG = ["a", "very", "long", "text"] * 500


def test_every_public_name_is_there_and_no_other_is_promised():
    assert sorted(heedful.__all__) == heedful.__all__
    assert sorted(name for names in heedful._HOMES.values() for name in names) == heedful.__all__
    for name in heedful.__all__:
        assert getattr(heedful, name).__name__ == name


def test_every_public_name_is_listed_before_it_is_used():
    code = "import heedful; print(*dir(heedful))"
    listed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert set(heedful.__all__) <= set(listed) and not [name for name in listed if name in heedful._DRAWN_BY]


def test_every_public_name_is_explained():
    for name in heedful.__all__:
        assert (getattr(heedful, name).__doc__ or "").strip(), name


def test_what_audits_are_drawn_by_is_there():
    for names in heedful._DRAWN_BY.values():
        assert all(callable(getattr(heedful, name)) for name in names)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'adit'"):
        _ = heedful.adit


def test_importing_heedful_loads_nothing_heavy():
    heavy = "{'torch', 'polars', 'numpy', 'pydantic', 'altair', 'jinja2'}"
    code = f"import sys, heedful; dir(heedful); assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@torch.no_grad()
def things():
    """Something of every public kind, and of what they hold."""
    model, batch = make("bilstm"), make_batch(has_query=True)
    seen = trace(make("bilstm", has_query=True), batch)
    long = heedful.Example(tuple(LONG), 1, text="a very long text " * 500)
    words = WordTokenizer.from_settings(RUN.text)
    trained = heedful.Trained(
        run=RUN,
        model=model,
        words=words,
        labels=("a", "b"),
        history=(),
        chosen_epoch=1,
        scores={"test": {"accuracy": 0.9}},
        seconds=1.0,
    )
    explanation = make_explanation(tuple(LONG), attention=(0.1,) * 2000, weights=(0.1,) * 2000)
    return {
        "Batch": batch,
        "Trace": seen,
        "Encoded": seen.encoded,
        "Reference": Reference(seen.attention, seen.logits),
        "Findings": Findings({"js": torch.zeros(3)}),
        "Example": long,
        "Dataset": toy(),
        "Trained": trained,
        "ComparisonModels": heedful.ComparisonModels(seeds=(model, model), retrained=trained),
        "Run": RUN,
        "AuditSettings": heedful.AuditSettings(),
        "Explanation": explanation,
        "Explanations": heedful.Explanations((explanation,) * 50),
    }


@pytest.mark.parametrize("kind", list(things()))
def test_the_representation_of_anything_is_a_short_line(kind):
    written = repr(things()[kind])
    assert written.startswith(f"{kind}(") and len(written) <= LONGEST
    assert "\n" not in written and "tensor(" not in written


def test_representations_say_what_matters():
    made = things()
    assert repr(made["Dataset"]) == "Dataset('toy': 36 train, 12 dev, 12 test texts; 2 labels: bad, good)"
    assert "tokens (3, 7)" in repr(made["Batch"]) and "logits (3, 2)" in repr(made["Trace"])
    assert repr(made["Trained"]) == "Trained(average, additive attention, mock-1, seed 0, accuracy 0.900)"
    assert repr(heedful.Run(seed=3)) == "Run(seed=3)"
    assert (
        repr(made["ComparisonModels"])
        == "ComparisonModels(retrained Trained, seed LinearAttentionModel, seed LinearAttentionModel)"
    )
    assert "Example('a very long text" in repr(made["Example"]) and "2,000 tokens, label 1" in repr(made["Example"])


def test_a_verdict_and_its_lines_are_short_as_well():
    line = Line(name="erase_one", question="How?", score=0.7, score_low=0.6, score_high=0.8)
    verdict = Verdict(run="r", data="d", texts=20, labels=("a", "b"), lines=(line,) * 20)
    assert repr(verdict) == "Verdict(r, 20 test texts, 20 questions)"
    assert repr(line) == "Line(erase_one: score 0.70 (0.60 to 0.80))"
