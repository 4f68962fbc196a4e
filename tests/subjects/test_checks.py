"""What a user hands in and cannot be used: every error is ours, and says what to give."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from heedful.errors import HeedfulError, SettingError
from heedful.models.trace import trace
from heedful.subjects.checks import (
    checked_trace,
    class_names,
    named,
    validate_batches,
    validate_device,
    validate_gradient,
    validate_labels,
    validate_trace,
    validate_unchanged,
)
from support.custom_models import BagOfWords, texts
from support.models import make, make_batch

SCRIPT = Path(__file__).parents[1] / "support" / "wrong_inputs.py"

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SCRIPT.parents[1])}

EXPECTED = {
    "no model": "model must be a finished run, or an object with the methods embed, encode, .* it is None",
    "a string": "there is no finished run 'a text' in runs/",
    "a class": r"it is the class BagOfWords. Give an instance of it: BagOfWords\(",
    "a module without the methods": r"it is Linear\(in_features=2",
    "half of the linear methods": "it has no `empty_logits`",
    "four heads": r"must be \[batch, item\], here \(6, 5\).* of shape \(6, 4, 5\)\. Of several heads audit one",
    "attention alone": "`attend` must return two tensors, scores and attention",
    "scores as attention": "did `attend` return scores as attention",
    "negative attention": r"Its smallest weight is -0\.\d+",
    "attention in half precision": r"sums to 0\.999\d+ over .* Return attention / attention.sum",
    "half precision kept": "`attend` must return torch.float64; it returned torch.float16",
    "embeddings without an axis": r"`embed` returns must be a tensor \[batch, time, embed\]",
    "embeddings of other texts": r"`embed` returns must have the shape \(6, 5, any\); it has \(2, 5, 4\)",
    "a tensor instead of Encoded": r"`encode` must return heedful.Encoded\(hidden=..., items=...\)",
    "items as numbers": r"`items` .* must be a tensor .* of booleans; .* Give .bool\(\) of it",
    "items of other texts": r"`items` .* must have the shape \(6, 5\); it has \(6, 4\)",
    "a single logit": r"With a single \(sigmoid\) logit z",
    "logits without an axis": r"`decode` returns must be a tensor \[batch, classes\]",
    "logits of classes as numbers": "of floats; it is a tensor of whole numbers",
    "logits that are no numbers": "logits of text 0 are not numbers",
    "float32 inside, failing": r"`attend` failed .* In float32 it works\. The model is measured in float64: remove",
    "float32 inside, working": "`decode` must return torch.float64; it returned torch.float32",
    "dropout that is always on": "must answer the same each time; .*use nn.Dropout",
    "dropout in what is no module": r"must answer the same each time; .*call .eval\(\) on what is no submodule",
    "changes itself": "must answer the same each time; read twice, the attention",
    "changes itself later": "must answer the same each time; read twice, the logits",
    "item logits that are no numbers": r"of item 0 of text 0 it returns \[nan, nan\], which are not all numbers",
    "claims to be linear": "`item_logits` does not fit `decode`.*if what comes after attention is not linear, remove",
    "no gradient": "no gradient comes through. Remove torch.no_grad",
    "an embedding that is too small": "`embed` failed .*The largest token is 6: is the embedding smaller",
    "a failure of its own": "`encode` failed on Batch.*: KeyError: 'missing'",
    "cannot be copied": "model must be one that can be copied",
    "one batch": r"It is a single `Batch`: put it into a list, \[batch\]",
    "a generator": r"It is read several times: give list\(batches\)",
    "strings": "data must be a list of `Batch` .*Number 0 of it is str 'a text'",
    "a path": "data must be a list of `Batch` .*It is str 'texts.csv'",
    "tensors": "data must be a list of `Batch` .*Number 0 of it is a tensor of whole numbers",
    "nothing": "data must be a list of `Batch` .*It is None",
    "no batch": "at least one batch; it is empty",
    "a data set": "data must be a list of `Batch` .*It is Dataset",
    "no texts": r"must hold a text with a token at least; its shape is \(0, 5\)",
    "no tokens": r"must hold a text with a token at least; its shape is \(6, 0\)",
    "tokens as floats": r"`tokens` of batch 0 must be .* of whole numbers; .* Give .long\(\) of it",
    "tokens as a list": r"`tokens` of batch 0 must be a tensor .* it is list \[\[5, 1",
    "tokens below 0": "must be numbers from 0 to 9,999,999, .* they are -1 to",
    "tokens beyond all embeddings": "must be numbers from 0 to 9,999,999, .* to 1000000006",
    "a mask of numbers": r"`mask` of batch 0 must be .* of booleans; .* Give .bool\(\) of it",
    "a mask of other texts": r"`mask` of batch 0 must have the shape \(6, 5\); it has \(3, 5\)",
    "padding that attention may weigh": "`attendable_mask` of batch 0 must be False wherever `mask` is",
    "a text without words": "every text must have a token that attention may weigh; text 0",
    "labels as floats": "`labels` of batch 0 must be a tensor",
    "labels of other texts": r"`labels` of batch 0 must have the shape \(6\); it has \(2,\)",
    "labels beyond the classes": "must be indices of the model's 2 classes, 0 to 1, .*text 1 is labeled 2",
    "labels below -1": "text 0 is labeled -2",
    "fewer logits than labels": "text 2 is labeled 2. Let `decode` return a logit for every class",
    "numbers twice": "some number stands twice",
    "a query of other texts": "`query_tokens` of batch 0 must be None, or .* with its 6 texts",
    "labels as a string": "labels must be a list of strings, .* it is 'no'",
    "too few labels": "labels must name each of the model's 2 classes",
    "labels alike": "labels must name each of the model's 2 classes, each differently",
    "labels as numbers": "labels must be a list of strings",
    "a name that is a number": "name must be a string, .* it is int 5",
    "gpu": "device must be one that torch can use here, such as 'cpu' or 'cuda'; 'gpu' is not",
    "a device that holds nothing": "device must be one that has float64, of the kinds cpu, cuda, xpu; it was 'meta'",
    "settings as a dict": r"settings must be heedful.AuditSettings\(...\)",
    "comparison models as a list": r"comparison_models must be heedful.ComparisonModels\(...\)",
    "a companion of other classes": "must tell the same 2 classes apart as the model; one has 3",
    "words as a string": "words must be a list of strings for each of the 6 texts; it has 3 parts",
    "words as texts": "that of a text is 'a text'. Or give a dict or a function",
    "words of fewer texts": "for each of the 6 texts; it has 1 parts",
    "words of fewer items": "text 0 has 3 items, and `words` has 1 for it",
    "a dict from words to numbers": "Invert it",
    "a dict without some words": "for token 2 there was KeyError",
    "a function that gives no words": "for token 1 it gave 1",
    "words as a number": "words must be a list of strings .* it is 5",
}


def test_what_cannot_be_used_is_named_with_what_to_give():
    # In a process of its own: here the types of arguments are checked before anything is said.
    command = [sys.executable, str(SCRIPT)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=SCRIPT.parents[1], env=ENVIRONMENT)
    assert result.returncode == 0, result.stderr
    outcomes = json.loads(result.stdout)
    assert set(outcomes) == set(EXPECTED)
    for case, (kind, message) in outcomes.items():
        assert kind == "heedful", f"{case}: {kind}: {message}"
        assert re.search(EXPECTED[case], message) and "\n" not in message, f"{case}: {message}"


def test_batches_that_are_whole_are_handed_back():
    batches = [texts(3), texts(2, first=3)]
    assert validate_batches(batches) is batches
    validate_labels(batches, 2)
    with pytest.raises(SettingError, match="1 classes, 0 to 0, .*text 1 is labeled 1"):
        validate_labels(batches, 1)


def test_classes_go_by_their_numbers_unless_they_have_names():
    assert class_names((), 3) == ("0", "1", "2")
    assert class_names(["no", "yes"], 2) == ("no", "yes")


def test_a_device_that_is_here_is_handed_back():
    assert validate_device("cpu") == torch.device("cpu") and validate_device(None) is None


def test_things_are_named_in_a_line():
    assert named(torch.nn.Sequential(torch.nn.ReLU())) == "Sequential( (0): ReLU() )"
    assert named("a") == "str 'a'" and named(None) == "None"
    assert named(torch.ones(2, 3)) == "a tensor of floats (torch.float32) of shape (2, 3)"


# What a model makes of a batch, checked step by step and read twice.


@pytest.fixture
def model():
    return BagOfWords().double().eval()


@torch.no_grad()
def test_a_sound_model_is_read_as_by_a_plain_trace(model):
    seen, plain = checked_trace(model, texts()), trace(model, texts())
    assert torch.equal(seen.logits, plain.logits) and torch.equal(seen.attention, plain.attention)


@torch.no_grad()
def test_our_own_models_pass():
    for encoder in ("average", "bilstm", "hierarchical"):
        assert validate_trace(checked_trace(make(encoder), make_batch())).logits.shape == (3, 2)


@torch.no_grad()
def test_attention_that_is_off_is_shown_with_its_digits(model):
    seen = trace(model, texts())
    with pytest.raises(HeedfulError, match=r"sums to 1\.0002 over its 3 items .*Was it rounded"):
        validate_trace(replace(seen, attention=seen.attention * 1.0002))
    spilt = seen.attention.clone()
    spilt[0, -1] = 0.25
    with pytest.raises(HeedfulError, match=r"sums to 1 over .*mask padding before the softmax"):
        validate_trace(replace(seen, attention=spilt))
    assert validate_trace(replace(seen, attention=seen.attention * 1.00005)) is not None


@torch.no_grad()
def test_rounding_is_no_change(model):
    seen = trace(model, texts())
    validate_unchanged(model, replace(seen, logits=seen.logits + 1e-12))
    with pytest.raises(SettingError, match=r"the logits of a text differs by 1e-06"):
        validate_unchanged(model, replace(seen, logits=seen.logits + 1e-6))


def test_the_gradient_comes_through_and_leaves_nothing_behind(model):
    with torch.no_grad():
        seen = trace(model, texts())
    validate_gradient(model, seen)
    assert all(parameter.grad is None for parameter in model.parameters())
