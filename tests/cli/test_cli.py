"""One test a command, and what a user sees when the input is wrong."""

import json
import re
import subprocess
import sys

import polars as pl
import pytest
from typer.testing import CliRunner

from heedful.__main__ import main
from heedful.attribution.methods import ATTRIBUTIONS
from heedful.auditing.rows import chosen_tests
from heedful.battery import BATTERY
from heedful.cli import app
from heedful.cli.audit_command import DEMONSTRATION, audit_settings, demonstration
from heedful.cli.command_options import make_run, split_audit
from heedful.cli.lists import KINDS
from heedful.data import DATASETS, named_sets
from heedful.errors import SettingError
from heedful.models.attention import ATTENTIONS
from heedful.models.attention_model import HEADS
from heedful.models.encoders import ENCODERS
from heedful.papers import STUDIES
from heedful.schema import GROUPS, ShownText
from heedful.settings import AuditSettings
from heedful.training.methods import METHODS
from heedful.training.metrics import METRICS
from heedful.verdict.answer_text import outcome_sentences

SMALL = ["--encoder", "average", "--epochs", "1", "--set", "data.train_limit=60", "--set", "data.test_limit=20"]
SMALL += ["--set", "network.embed_size=8", "--set", "network.hidden_size=5"]
TAUGHT = ["--encoder", "average", "--epochs", "6", "--set", "data.train_limit=400", "--set", "data.test_limit=60"]
TAUGHT += ["--set", "network.embed_size=16", "--set", "network.hidden_size=16", "--set", "training.learning_rate=0.02"]
"""Long enough for the model to learn what there is to explain."""


def heedful(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def reviews(tmp_path):
    rows = [f"{'fine' if n % 2 else 'poor'} film number {n},{'good' if n % 2 else 'bad'}" for n in range(60)]
    path = tmp_path / "my.csv"
    path.write_text("\n".join(["t,y", *rows]), encoding="utf-8")
    return path


def test_train_prints_scores_and_stores_the_run_and_others_that_refer_to_it(tmp_path):
    runs = ["--runs", str(tmp_path)]
    output = heedful("train", "mock-1", *SMALL, "--record-flow", "0,1", *runs)
    assert "roc_auc" in output and "trained in" in output
    assert "scores of tokens after epochs 0, 1:" in " ".join(output.split())
    (folder,) = tmp_path.iterdir()
    described = json.loads((folder / "run.json").read_text())
    assert described["run"]["network"]["encoder"] == "average" and described["run"]["data"]["fingerprint"]
    assert (folder / "tokens.parquet").is_file()
    assert "cached in" in heedful("train", "mock-1", *SMALL, "--record-flow", "0,1", *runs)
    frozen = ["--attention", "frozen", "--reference", folder.name]
    assert "frozen attention" in heedful("train", "mock-1", *SMALL, *frozen, *runs)


def test_teachers_are_trained_by_the_command_itself(tmp_path):
    taught = ["--method", "faithful", "--set", "training.options.teachers=2", "--runs", str(tmp_path)]
    assert "stored in" in heedful("train", "mock-1", *SMALL, *taught)
    assert len(list(tmp_path.iterdir())) == 3
    assert "cached in" in heedful("train", "mock-1", *SMALL, *taught)


QUICK = ["--set", "audit.permutation.count=5", "--set", "audit.erase_until_flip.rankings=5", "--set", "audit.shown=3"]


def audit(tmp_path, *arguments: str) -> str:
    """What the command prints; of one training, unless the arguments say otherwise."""
    places = ["--runs", str(tmp_path / "runs"), "--audits", str(tmp_path / "audits"), "--out", str(tmp_path / "out")]
    seeds = [] if {"--seeds", "--model"} & {*arguments} else ["--seeds", "1"]
    return heedful("audit", *arguments, *seeds, *places)


def test_audit_prints_the_answer_and_writes_its_files(tmp_path, reviews):
    output = audit(tmp_path, str(reviews), "--text", "t", "--label", "y", *SMALL, *QUICK)
    written = sorted(p.name for p in (tmp_path / "out").iterdir())
    tables = ["examples.parquet", "outcomes.parquet", "rows.parquet"]
    assert written == sorted(["SHA256SUMS", "report.html", "verdict.json", *tables])
    verdict = json.loads((tmp_path / "out/verdict.json").read_text())
    assert verdict["texts"] == 12 and verdict["answer"]["headline"] == "Too few texts"
    printed = " ".join(output.split())
    assert "Can attention be shown as an explanation? Too few texts 12 texts were audited" in printed
    assert verdict["answer"]["recommendation"]["sentence"] in printed
    outcomes = pl.read_parquet(tmp_path / "out/outcomes.parquet")
    assert outcomes.filter(pl.col("split") == "test")["example"].n_unique() == 12


def test_the_terminal_says_what_the_document_does_and_details_more(tmp_path):
    output = audit(tmp_path, "mock-1", *TAUGHT, *QUICK, "--details")
    answer = json.loads((tmp_path / "out/verdict.json").read_text())["answer"]
    printed = " ".join(output.split())
    for sentence in (answer["headline"], answer["sentence"], answer["recommendation"]["sentence"]):
        assert " ".join(sentence.split()) in printed
    example = ShownText.model_validate(answer["example"])
    for sentence in outcome_sentences(example.outcome, example.items):
        assert sentence in printed
    assert f"Example, predicted {example.outcome.predicted} {example.outcome.probability:.2f}: [" in printed
    assert list(answer["variants"]) == ["attention:alone_weight=0.5", "attention:k-1", "attention:k+1"]
    titles = ("words alone weigh 1/2", "k one smaller", "k one larger")
    for title, variant in zip(titles, answer["variants"].values(), strict=True):
        assert f"attention, {title}: {variant['answer']}. {variant['sentence']}" in printed
    assert all(heading in printed for heading in list(GROUPS.values())[:3]) and "leave-one-out" in output
    assert not re.search("holds|fails|undecided|not counted", printed)


def test_the_answer_can_be_left_out(tmp_path):
    output = audit(tmp_path, "mock-1", *SMALL, *QUICK, "--tests", "uniform")
    assert "No answer: `--tests` does not include `outcome`." in " ".join(output.split())
    assert "Is attention needed at all?" in " ".join(output.split())
    assert json.loads((tmp_path / "out/verdict.json").read_text())["answer"] is None
    assert pl.read_parquet(tmp_path / "out/outcomes.parquet").is_empty()


def test_the_number_of_texts_and_the_settings_of_the_outcome_can_be_chosen(tmp_path):
    own = ["--set", "outcome.decisive=0.9", "--set", "verdict.texts=5", "--replace-with", "word"]
    for examples, texts in (("7", 7), ("all", 20)):
        audit(tmp_path, "mock-1", *SMALL, *QUICK, "--tests", "outcome", "--examples", examples, *own)
        verdict = json.loads((tmp_path / "out/verdict.json").read_text())
        audited = verdict["settings"]["audit"]
        assert verdict["texts"] == texts and audited["outcome"]["decisive"] == 0.9 and audited["verdict"]["texts"] == 5


def test_a_report_can_be_written_without_any_text(tmp_path, reviews):
    output = audit(tmp_path, str(reviews), "--text", "t", "--label", "y", *SMALL, *QUICK, "--no-texts", "--json")
    document = output[output.index("{") :]
    assert '"outcomes"' in document and not re.search(r"\b(film|fine|poor)\b", document)
    for name in ("report.html", "verdict.json"):
        content = (tmp_path / "out" / name).read_text()
        assert not [word for word in ("film", "fine", "poor") if re.search(rf"\b{word}\b", content)]
    assert pl.read_parquet(tmp_path / "out/rows.parquet")["item"].null_count() == len(
        pl.read_parquet(tmp_path / "out/rows.parquet")
    )


def test_a_finished_run_is_audited_and_its_figures_are_written(tmp_path):
    heedful("train", "mock-1", *SMALL, "--runs", str(tmp_path / "runs"))
    (key,) = (place.name for place in (tmp_path / "runs").iterdir())
    audit(tmp_path, "--model", key, *QUICK, "--tests", "permutation,erase_one,adversarial_attention,uniform")
    places = ["--audits", str(tmp_path / "audits"), "--figures", str(tmp_path / "figures")]
    assert {path.rsplit(".", 1)[1] for path in heedful("report", key, *places).split()} == {"svg", "png"}


@pytest.mark.cluster
def test_seeds_are_audited_together(tmp_path):
    output = audit(tmp_path, "mock-1", *TAUGHT, *QUICK, "--seeds", "2", "--tests", "uniform,erase_one")
    assert "seeds 0, 1" in output and "(seeds)" in output and "No answer: `--tests` does not include" in output
    assert len(list((tmp_path / "runs").iterdir())) == 2
    verdict = json.loads((tmp_path / "out/verdict.json").read_text())
    assert [training["seed"] for training in verdict["trainings"]] == [0, 1]
    for line in verdict["lines"]:
        assert [own["seed"] for own in line["by_seed"]] == [0, 1]
        mean = sum(own["value"] for own in line["by_seed"]) / 2
        assert line["value"] == pytest.approx(mean, abs=1e-9)


@pytest.mark.cluster
def test_an_audit_that_trains_does_three_seeds(tmp_path):
    places = ["--runs", str(tmp_path / "runs"), "--audits", str(tmp_path / "audits"), "--out", str(tmp_path / "out")]
    output = heedful("audit", "mock-1", *SMALL, *QUICK, "--tests", "uniform", *places)
    assert "seeds 0, 1, 2" in output and len(list((tmp_path / "runs").iterdir())) == 3
    assert len(json.loads((tmp_path / "out/verdict.json").read_text())["trainings"]) == 3


@pytest.mark.cluster
def test_the_answer_is_calibrated_and_its_page_written(tmp_path):
    world = "two words decide together"
    output = heedful("calibrate", "--draws", "1", "--world", world, "--workers", "1", "--out", str(tmp_path / "out"))
    assert "2 of 2 rows are met, with one draw of each." in " ".join(output.split())
    assert "| two words decide together | on both | Yes |" in (tmp_path / "out/calibration.md").read_text()


def test_an_unknown_world_is_named_before_anything_is_started(tmp_path):
    with pytest.raises(SettingError, match="unknown world 'many weak word'. Did you mean 'many weak words'?"):
        heedful("calibrate", "--world", "many weak word", "--out", str(tmp_path))


@pytest.mark.cluster
def test_a_deep_audit_retrains_without_attention_and_against_it(tmp_path):
    output = audit(tmp_path, "mock-1", *SMALL, *QUICK, "--tests", "uniform", "--deep", "--adversaries", "2")
    assert "Is attention needed at all?" in output and "(retrained)" in output
    page = " ".join((tmp_path / "out" / "report.html").read_text().split())
    assert "Trained again with the same weight on every word" in page
    assert "The best of 2 models trained to make the same predictions by other attention" in page
    assert len(list((tmp_path / "runs").iterdir())) == 4
    assert "AtteFa over the adversaries" in (tmp_path / "out" / "report.html").read_text()
    rows = pl.read_parquet(tmp_path / "out" / "rows.parquet")
    assert {"attefa", "adversarial_models", "uniform_retrained"} <= set(rows["test"])


def test_a_model_trained_with_uniform_attention_can_be_given(tmp_path):
    runs = ["--runs", str(tmp_path / "runs")]
    heedful("train", "mock-1", *SMALL, "--attention", "uniform", *runs)
    (uniform,) = (tmp_path / "runs").iterdir()
    output = audit(tmp_path, "mock-1", *SMALL, *QUICK, "--tests", "uniform", "--uniform", uniform.name)
    assert "retrained" in output


@pytest.mark.cluster
def test_without_data_an_honest_and_a_deceptive_model_are_audited(tmp_path, monkeypatch):
    tiny = {
        method: {
            "data": {"source": "reviews", "train_limit": 60, "test_limit": 20},
            "network": {"encoder": "bilstm", "embed_size": 8, "hidden_size": 5},
            "training": {"epochs": 3, "method": method},
        }
        for method in ("vanilla", "deceptive")
    }
    monkeypatch.setattr("heedful.cli.audit_command.DEMONSTRATION", tiny)
    output = audit(tmp_path, *QUICK, "--seed", "3", "--seeds", "1")
    for model in ("bilstm, additive attention, seed 3", "bilstm, additive attention, deceptive, seed 3"):
        assert f"reviews: {model}, 20 test texts" in output
    audits = json.loads((tmp_path / "out/verdict.json").read_text())["audits"]
    assert [each["settings"]["run"]["training"]["method"] for each in audits] == ["vanilla", "deceptive"]
    assert {each["settings"]["run"]["seed"] for each in audits} == {3} and {each["texts"] for each in audits} == {20}
    usual = [test for name, test in BATTERY.items() if test.cost == "default" and name != "same_mixture"]
    asked = {question.name for test in usual if not test.needs_rationales for question in test.questions}
    # Synonyms are not asked for: there are no word vectors to find them by.
    for each in audits:
        assert {line["name"] for line in each["lines"]} == asked - {"word_substitution"}
    assert all(list(each["skipped"]) == ["word_substitution"] for each in audits)
    assert len(list((tmp_path / "runs").iterdir())) == len(list((tmp_path / "audits").iterdir())) == 2


def test_all_that_decides_the_demonstration_is_pinned():
    honest, deceptive = demonstration(4)
    assert honest.network == deceptive.network and honest.network.embedding_start == "normal"
    assert (honest.network.hidden_size, honest.network.embed_size, honest.data.source) == (64, 300, "reviews")
    assert (honest.training.method, deceptive.training.method) == ("vanilla", "deceptive")
    for settings in DEMONSTRATION.values():
        assert {"epochs", "patience"} <= {*settings["training"]}


LISTED = {
    "tests": ["outcome", *BATTERY],
    "rankings": ATTRIBUTIONS,
    "encoders": [*ENCODERS, "hf:MODEL"],
    "attentions": ATTENTIONS,
    "heads": HEADS,
    "methods": METHODS,
    "metrics": METRICS,
    "datasets": {**DATASETS, **named_sets()},
    "studies": STUDIES,
}


def test_every_name_is_listed_with_what_it_is():
    for kind, known in LISTED.items():
        lines = [line.split(maxsplit=1) for line in heedful("list", kind).splitlines()]
        assert [name for name, *_ in lines] == list(known)
        assert [name for name, *what in lines if len("".join(what)) < 8] == []
    tests = {line.split()[0]: line for line in heedful("list", "tests").splitlines()}
    assert tests["embedding_attack"].endswith("[with --deep, or named]") and not tests["certificate"].endswith("]")
    assert tests["sensitivity"].endswith("[only where named in --tests]")


def test_wrong_input_is_one_line_and_exit_code_2(monkeypatch, capsys, tmp_path):
    for arguments, message in [
        (["train", "mock-1", "--encoder", "bilsmt"], "Did you mean 'bilstm'?"),
        (["train", "mock-1", "--epochs", "2", "--record-flow", "0,3"], "must name epochs up to the last one, 2"),
        (["train", "mock-1", "--set", "nonsense"], "--set takes PART.NAME=VALUE"),
        (["train", "mock-1", "--reference", "abc"], "no run 'abc'"),
        (["audit", "mock-1", "--model", "abc"], "there is no model 'abc'"),
        (["audit", "--encoder", "cnn"], "--encoder describes a model to train, and there is no DATA"),
        (["audit", "--model", "abc", "--set", "seed=1"], "--set seed=1 cannot be combined with --model"),
        (["report", "abc", "--audits", "nowhere"], "heedful audit --model abc"),
    ]:
        if arguments[0] == "train":
            arguments = [*arguments, "--runs", str(tmp_path), "--set", "data.train_limit=20"]
        monkeypatch.setattr(sys, "argv", ["heedful", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        assert left.value.code == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1
        assert list(tmp_path.iterdir()) == []


def test_our_own_mistakes_keep_their_traceback(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["heedful", "list", "encoders"])
    monkeypatch.setitem(KINDS, "encoders", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main()


def test_a_wrong_setting_is_named_with_what_is_known():
    run = make_run({}, ["network.kernels=[3, 5]", "network.encoder=cnn", "training.options={}"])
    assert run.network.kernels == (3, 5) and run.network.encoder == "cnn"  # read as JSON or as text
    for setting, message in (
        ("network.color=red", "network.color'. .*Known: encoder, embed_size"),
        ("network.hidden_size=0", "setting 'network.hidden_size'"),
        ("training.record_flow=[first]", "setting 'training.record_flow'"),
    ):
        with pytest.raises(SettingError, match=message):
            make_run({}, [setting])
    for setting, message in (
        ("audit.eps=2", "unknown setting 'audit.eps'. Known: tests, deep, split"),
        ("audit.shown=-1", "setting 'audit.shown'"),
    ):
        with pytest.raises(SettingError, match=message):
            audit_settings(None, None, False, split_audit([setting])[1])
    for tests, options, message in (
        (("permutatoin",), {}, "unknown test 'permutatoin'. Did you mean 'permutation'?"),
        ((), {"adversarial_attention": {"eps": 2}}, "option 'eps' of test 'adversarial_attent"),
        ((), {"permutation": {"cuont": 2}}, "unknown option 'cuont' of test 'permutation'"),
    ):
        with pytest.raises(SettingError, match=re.escape(message)):
            chosen_tests(AuditSettings(tests=tests, options=options))


HEAVY = {"torch", "numpy", "polars", "scipy", "sklearn", "distributed", "altair", "tokenizers", "jinja2"}


def test_help_answers_at_once():
    """Half a second is the promise on an idle machine, kept by importing nothing heavy."""
    code = f"""
import sys
from heedful.__main__ import main
sys.argv = ["heedful", "--help"]
try:
    main()
finally:
    print("imported:", *{HEAVY} & set(sys.modules))
"""
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "Can you trust attention as an explanation?" in result.stdout
    assert result.stdout.splitlines()[-1] == "imported:"
