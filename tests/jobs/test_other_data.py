"""A finished run on data that it was not trained on."""

import pytest

from heedful.errors import DataError
from heedful.jobs.work import load_data
from heedful.runs.other_data import load_for
from heedful.settings import DataSettings
from heedful.training.loop import train
from support.runs import changed, toy


@pytest.fixture(scope="module")
def trained():
    return train(changed(training__epochs=1), toy())


def write(path, rows, head="text,label"):
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return str(path)


ROWS = [f"the film was so {('bad', 'good')[n % 2]} {n},{('bad', 'good')[n % 2]}" for n in range(40)]


def test_every_text_of_a_file_is_new_to_the_model(tmp_path, trained):
    data = load_for(trained, DataSettings(source=write(tmp_path / "new.csv", ROWS)))
    assert (len(data.train), len(data.dev) + len(data.test)) == (0, 40)
    assert [example.row for example in data.test] == sorted(example.row for example in data.test)
    assert not any("taken for test" in note for note in data.notes)


def test_labels_are_numbered_as_the_models_classes(tmp_path, trained):
    swapped = load_for(trained, DataSettings(source=write(tmp_path / "new.csv", ROWS[::-1])))
    assert swapped.labels == trained.labels
    for example in (*swapped.dev, *swapped.test):
        assert trained.labels[example.label] in example.tokens


def test_a_label_that_the_model_does_not_know_is_shown_beside_those_it_does(tmp_path, trained):
    rows = [*ROWS, *(f"text {n},so-so" for n in range(10))]
    with pytest.raises(DataError, match="the run's labels, 'bad', 'good'; .* also has 'so-so'"):
        load_for(trained, DataSettings(source=write(tmp_path / "new.csv", rows)))


def test_columns_that_are_not_named_are_those_of_the_run(tmp_path):
    own = train(changed(training__epochs=1, data__text="Post body", data__label="verdict"), toy())
    source = write(tmp_path / "new.csv", ROWS, "Post body,verdict")
    assert len(load_for(own, DataSettings(source=source)).test) > 20
    other = write(tmp_path / "other.csv", ROWS, "words,verdict")
    assert len(load_for(own, DataSettings(source=other, text="words")).test) > 20


def test_texts_without_labels_are_all_audited(tmp_path, trained):
    lines = [row.rpartition(",")[0] for row in ROWS]
    data = load_for(trained, DataSettings(source=write(tmp_path / "new.csv", lines, "text")))
    assert data.labels == trained.labels and len(data.test) == 40 and {each.label for each in data.test} == {-1}
    assert any("no labels" in note for note in data.notes)
    numbered = [f"{n},{line}" for n, line in enumerate(lines)]
    ids = load_for(trained, DataSettings(source=write(tmp_path / "ids.csv", numbered, "id,text"))).test
    assert [each.id for each in ids][:2] == ["0", "1"]


def test_queries_must_fit_the_model(tmp_path, trained):
    rows = [f"{row},why" for row in ROWS]
    with pytest.raises(DataError, match="reads texts without a query"):
        load_for(trained, DataSettings(source=write(tmp_path / "a.csv", rows, "text,label,question"), query="question"))
    asking = train(changed(training__epochs=1), toy("qa"))
    with pytest.raises(DataError, match="reads a query with each text"):
        load_for(asking, DataSettings(source=write(tmp_path / "b.csv", ROWS)))


def test_the_file_that_it_was_trained_on_keeps_its_splits(tmp_path):
    source = write(tmp_path / "own.csv", ROWS)
    run, dataset = load_data(changed(training__epochs=1, data__source=source))
    data = load_for(train(run, dataset), DataSettings(source=source))
    assert (data.train, data.test, data.fingerprint) == (dataset.train, dataset.test, dataset.fingerprint)


def test_a_named_set_keeps_its_splits(trained):
    data = load_for(
        train(changed(training__epochs=1), toy(labels=("negative", "positive"))), DataSettings(source="mock-1")
    )
    assert len(data.train) > 0
    assert data.labels == ("negative", "positive")
