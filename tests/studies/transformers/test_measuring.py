"""What is measured of a fine-tuned transformer, against the classifier run by itself."""

from dataclasses import replace

import polars as pl
import pytest
import torch

from heedful.settings import FinetuneSettings, Run
from heedful.store.trained_files import write_finetuned
from heedful.studies.measurements import SCHEMA
from heedful.studies.transformers.columns import RANKINGS
from heedful.studies.transformers.measuring import measure
from heedful.training.finetuning import finetune
from heedful.verdict.scoring import columns_of
from support.runs import toy
from support.tiny_transformers import save_tiny_encoder, transformers

SETTINGS = {"imposed": 8, "deleted": 6, "dev": 4}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    parent = tmp_path_factory.mktemp("models")
    encoder = save_tiny_encoder(parent / "encoder", initializer_range=0.5)
    settings = FinetuneSettings(model=encoder, epochs=2, batch_size=4, learning_rate=5e-3)
    place = parent / "run"
    place.mkdir()
    write_finetuned(finetune(Run(finetune=settings), toy()), place)
    return place


@pytest.fixture(scope="module")
def progress():
    return []


@pytest.fixture(scope="module")
def rows(folder, progress):
    return measure(folder, toy(), SETTINGS, lambda done, texts: progress.append((done, texts)))


@pytest.fixture(scope="module")
def columns(rows):
    return {name: values[0] for name, values in columns_of([rows]).items()}


def logits_of(folder, texts):
    module = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval().double()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        return module(**tokenizer(texts, padding=True, return_tensors="pt")).logits


def test_rows_have_the_schema_of_measurements_and_progress_is_reported(rows, progress):
    assert dict(rows.schema) == SCHEMA and rows["item"].null_count() == len(rows)
    assert progress[-1] == (18, 18)
    assert rows.group_by("test", "measure").len()["len"].is_in([6, 8]).all()


def test_as_it_is_the_model_decides_as_transformers_runs_it(folder, rows):
    examples = rows.filter(test="prediction", measure="predicted").sort("example")
    texts = [toy().test[number].text for number in examples["example"]]
    assert examples["value"].to_list() == logits_of(folder, texts).argmax(-1).tolist()


def test_agreement_is_with_deleting_words_from_the_text(folder, rows):
    """The top word's TVD and the random word's, by texts that really lack the word."""
    moves = rows.filter(test="top_word").pivot("measure", index="example", values="value").sort("example")
    for row in moves.iter_rows(named=True):
        words = toy().test[row["example"]].text.split()
        shorter = [" ".join(words[:n] + words[n + 1 :]) for n in range(len(words))]
        p = logits_of(folder, [" ".join(words), *shorter]).softmax(-1)
        moved = (p[1:, 0] - p[0, 0]).abs()
        assert row["random"] == pytest.approx(moved.mean().item(), abs=1e-5)
        assert row["most"] == pytest.approx(moved.max().item(), abs=1e-5)
        assert min((moved - row["attention"]).abs()).item() < 1e-5


def test_every_ranking_has_each_measure_within_its_bounds(columns):
    for ranking in RANKINGS:
        for name in ("agreement", "signed_agreement"):
            values = columns[f"{name}.{ranking}"]
            assert (values.nan_to_num(0).abs() <= 1 + 1e-9).all()
        assert set(columns[f"polarity.{ranking}"].unique().tolist()) <= {0.0, 1.0}
        assert (columns[f"top_word.{ranking}"] <= columns["top_word.most"] + 1e-6).all()


def test_the_best_head_is_that_of_dev_and_agrees_as_its_own_column_says(columns):
    layer, head = (int(columns[f"best_head.{name}"][0]) for name in ("layer", "head"))
    own, shown = columns[f"heads.{layer}_{head}"], columns["agreement.best_head"]
    torch.testing.assert_close(own, shown, rtol=0, atol=1e-6, equal_nan=True)
    assert len([name for name in columns if name.startswith("heads.")]) == 4


def test_a_model_all_of_whose_rows_are_blind_says_the_same_whatever_the_words(folder, rows):
    """Texts of the same length: only special tokens and positions are left."""
    example = toy().test[0]
    others = tuple(replace(example, text=text) for text in ("the good film", "so bad was", "why the plot"))
    data = replace(toy(), test=others)
    blind = columns_of([measure(folder, data, SETTINGS, lambda done, texts: None)])
    own = logits_of(folder, [each.text for each in others]).softmax(-1)[:, 0]
    moved = {place: blind[f"{place}.blind_moves"][0] for place in ("all_rows", "row_all_layers")}
    # own - blind is own up to a constant: all three have the same blind prediction.
    constant = [(own + sign * moved["all_rows"]) for sign in (1, -1)]
    spread = min(
        max(choice) - min(choice)
        for choice in [
            [constant[a][0].item(), constant[b][1].item(), constant[c][2].item()]
            for a in (0, 1)
            for b in (0, 1)
            for c in (0, 1)
        ]
    )
    assert spread < 1e-5
    assert moved["row_all_layers"].isfinite().all()


def test_the_same_run_is_measured_the_same(folder, rows):
    again = measure(folder, toy(), SETTINGS, lambda done, texts: None)
    assert again.select(pl.exclude("value")).equals(rows.select(pl.exclude("value")))
    torch.testing.assert_close(again["value"].to_torch(), rows["value"].to_torch(), equal_nan=True)
