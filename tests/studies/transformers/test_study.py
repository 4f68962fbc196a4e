from heedful.studies import STUDIES
from heedful.studies.study import Results
from support.synthetic_results import results_of

STUDY = STUDIES["transformers"]


def test_every_set_is_fine_tuned_from_enough_seeds_for_its_claims():
    for scale in STUDY.scales:
        runs = STUDY.runs_at(scale)
        assert {each.data for each in runs} == {"sst2", "rotten_tomatoes", "tweeteval_hate", "ag_news"}
        assert len(runs) >= 5 and len({each.run.run.finetune.model for each in runs}) == 1


def test_scales_grow():
    small, medium, paper = (STUDY.runs_at(scale)[0] for scale in ("small", "medium", "paper"))
    texts = [each.measurement.settings["deleted"] for each in (small, medium, paper)]
    assert texts == sorted(texts) and len(set(texts)) == 3
    assert small.run.run.data.train_limit < medium.run.run.data.train_limit
    assert paper.run.run.data.train_limit is None


def test_accuracy_has_a_row_for_each_set_and_scope():
    table = next(table for table in STUDY.tables(results_of(STUDY)) if table.name == "Accuracy")
    assert [about for about, _ in table.rows][:3] == [
        ("sst2", "[CLS], last layer"),
        ("sst2", "[CLS], all layers"),
        ("sst2", "all rows, all layers"),
    ]
    assert len(table.rows) == 12


def test_figures_show_each_head_and_none_where_there_are_no_rows():
    results = results_of(STUDY)
    claims = {claim.id: claim for claim in STUDY.claims(results)}
    names = [figure.name for figure in STUDY.figures(results, claims)]
    assert names == ["agreement", "polarity", "accuracy_uniform", "accuracy_blind", "heads"]
    assert STUDY.figures(Results("small", ()), {}) == []
