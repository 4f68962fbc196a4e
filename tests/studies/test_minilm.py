from heedful.studies.minilm import encoders_with_minilm, remark_on_minilm
from heedful.studies.study import Results
from support.synthetic_results import made_cell, made_results


def test_it_comes_after_the_others_where_it_is_wanted():
    assert encoders_with_minilm(("rnn",)) == ("rnn", "minilm")
    assert encoders_with_minilm(("rnn",), wanted=False) == ("rnn",)


def test_what_is_missing_is_said():
    assert remark_on_minilm(made_results(made_cell("sst2", "minilm")), "it") == []
    (remark,) = remark_on_minilm(Results("small", ()), "what it shows")
    assert remark.startswith("MiniLM was not at hand, so what it shows is missing: set HEEDFUL_MINILM to ")
