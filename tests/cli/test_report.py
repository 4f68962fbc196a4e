"""`heedful report` and `heedful compare`: finished audits by any of their names, side by side in 80 columns."""

import json
import re

import polars as pl
import pytest
from typer.testing import CliRunner

from heedful.cli import app
from heedful.errors import HeedfulError
from support.synthetic_audit import make_audit

MODELS = {"average": "a1" * 8, "bilstm": "a2" * 8, "cnn": "b3" * 8}


@pytest.fixture(scope="module")
def audits(tmp_path_factory):
    """A folder of audits of three models on the same texts, one on fewer, and one on other data."""
    folder = tmp_path_factory.mktemp("audits")
    for number, (encoder, key) in enumerate(MODELS.items()):
        write(folder / f"{number}{'c' * 15}", encoder, key)
    write(folder / ("8" + "c" * 15), "average", "e5" * 8, texts=30)
    write(folder / ("9" + "c" * 15), "bilstm", "f6" * 8, fingerprint="other", data="other reviews")
    return folder


def write(folder, encoder, key, texts=40, fingerprint="same", data="toy reviews"):
    make_audit(folder, texts=texts, encoder=encoder, shown=4)
    verdict = json.loads((folder / "verdict.json").read_text())
    verdict |= {"run": key, "model": f"{encoder}, additive attention", "data": data, "scores": {"accuracy": 0.9}}
    verdict["settings"]["run"]["data"]["fingerprint"] = fingerprint
    for name in ("verdict.json", "audit.json"):
        (folder / name).write_text(json.dumps(verdict))
    rows = pl.read_parquet(folder / "rows.parquet").with_columns(run=pl.lit(key))
    rows.write_parquet(folder / "rows.parquet")


def heedful(audits, *arguments):
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, [*arguments, "--audits", str(audits)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def side_of(document, question, model):
    lines = {each["name"]: each["models"] for each in document["questions"]}
    return next(side for name, side in lines[question].items() if name.startswith(model))


def compared(audits, *keys):
    return json.loads(heedful(audits, "compare", *keys, "--json").stdout)


def test_models_side_by_side_fit_eighty_columns_and_more_get_another_table(audits):
    output = heedful(audits, "compare", *list(MODELS.values())[:2]).stdout
    assert max(map(len, output.splitlines())) <= 80
    assert "0.57" in output and "0.53 to 0.60" in output and "accuracy" in output
    output = heedful(audits, "compare", *MODELS.values(), "e5e5").stdout
    assert max(map(len, output.splitlines())) <= 80
    assert output.count("Does the top word") == 2
    assert not re.search(r"[+-]0\.00( |$)", output, flags=re.MULTILINE), "no difference is printed as nothing"


def test_better_and_worse_are_marked_in_words(audits):
    output = heedful(audits, "compare", MODELS["bilstm"], MODELS["average"]).stdout
    assert re.search(r"\+0\.53 better", output)
    assert re.search(r"-0\.53 worse", heedful(audits, "compare", MODELS["average"], MODELS["bilstm"]).stdout)


def test_the_document_has_all_numbers(audits):
    document = compared(audits, *MODELS.values())
    assert [model["run"] for model in document["models"]] == list(MODELS.values())
    first, second = (side_of(document, "gradient_agreement", model) for model in ("average", "bilstm"))
    assert first["difference"] is None and second["change"] == "worse"
    assert second["difference"]["value"] == pytest.approx(second["value"] - first["value"])
    assert second["difference"]["high"] < 0 and document["notes"] == []


def test_audits_on_other_texts_are_said_to_be_so(audits):
    for key, texts in [("e5e5", "30 test texts of toy reviews"), ("f6f6", "40 test texts of other reviews")]:
        result = heedful(audits, "compare", MODELS["cnn"], key)
        words = " ".join(result.stdout.split())
        assert f"on other texts ({texts}) than cnn, additive attention (40 test texts of toy reviews)" in words
        assert "better" not in result.stdout.split("was audited")[0]
        document = compared(audits, MODELS["cnn"], key)
        assert len(document["notes"]) == 1
        assert all(
            side is None or not side["difference"] for line in document["questions"] for side in line["models"].values()
        )


def test_the_quiet_get_the_answer_of_each_model(audits):
    output = heedful(audits, "compare", *MODELS.values(), "--quiet").stdout
    assert re.fullmatch(r"(\w+, additive attention: .+\n){3}", output)


def test_the_first_characters_of_a_key_will_do(audits):
    assert compared(audits, "b3", "a1a1")["models"][0]["run"] == MODELS["cnn"]
    assert compared(audits, "0ccc", str(audits / ("1" + "c" * 15)))["models"][1]["run"] == MODELS["bilstm"]
    with pytest.raises(HeedfulError, match="several runs or audits .* begin with 'a'"):
        heedful(audits, "compare", "a", "b3")


def test_what_cannot_be_compared_is_named(audits):
    for names, message in (
        (["a1a1"], "compare takes two runs or more; it was given 1"),
        (["a1a1", "0ccc"], "a1a1 and 0ccc are one and the same audit"),
        (["a1a1", "nothing"], "no audit of 'nothing'"),
    ):
        with pytest.raises(HeedfulError, match=message):
            heedful(audits, "compare", *names)


def test_the_answer_is_printed_again_and_the_report_written(audits, tmp_path):
    page = tmp_path / "new" / "page.html"
    output = heedful(audits, "report", "b3b3", "--out", str(page)).stdout
    answer = json.loads((audits / ("2" + "c" * 15) / "verdict.json").read_text())["answer"]
    words = " ".join(output.split())
    assert f"Can attention be shown as an explanation? {answer['headline']}" in words
    assert len(output.splitlines()) <= 25 and "Can attention be shown" in page.read_text(encoding="utf-8")
    assert heedful(audits, "report", "b3b3", "--out", str(page), "--quiet").stdout == f"{page}\n"


def test_a_place_that_cannot_be_written_is_named_before_anything_is_drawn(audits, tmp_path):
    file = tmp_path / "file"
    file.write_text("a file")
    for options, message in (
        (["--out", str(tmp_path)], "--out must be a file, for example"),
        (["--out", ""], "--out must be a file, for example"),
        (["--out", f"{file}/page.html"], "--out must be a folder that can be written"),
        (["--figures", str(file)], "--figures must be a folder that can be written"),
    ):
        with pytest.raises(HeedfulError, match=message):
            heedful(audits, "report", "nothing", *options)
