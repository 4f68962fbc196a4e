"""The writers of docs/scores.md, for packages that are not installed here, on objects of the form that these return."""

import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import torch

from heedful.attribution.external_scores import TextWords, match_scores, read_scores
from heedful.data.rationales import word_spans_of

PAGE = (Path(__file__).parents[1] / "docs" / "scores.md").read_text(encoding="utf-8")
TEXT = "An unreal film!"


def writers():
    names = {}
    for code in re.findall(r"^```py\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE):
        exec(compile(code, "docs/scores.md", "exec"), names)
    return names


def tokenizer(text, return_offsets_mapping):
    assert text == TEXT and return_offsets_mapping
    return {"offset_mapping": [(0, 0), (0, 2), (3, 5), (5, 9), (10, 14), (14, 15), (0, 0)]}


def matched(path):
    spans = tuple(word_spans_of(TEXT))
    return match_scores(read_scores(path), [TextWords(0, "7", len(spans), TEXT, spans)]).scores


@dataclass
class Explanation:
    """As ferret has it."""

    text: str
    tokens: list
    scores: object
    explainer: str
    target: int


def test_scores_by_ferret_arrive_at_the_words(tmp_path):
    tokens, values = ["[CLS]", "an", "un", "##real", "film", "!", "[SEP]"], [9.0, 0.5, 1.0, 2.0, -1.0, 0.25, 9.0]
    own = [Explanation(TEXT, tokens, torch.tensor(values).numpy(), name, 1) for name in ("Partition SHAP", "LIME")]
    writers()["write_ferret"]({"7": own}, tokenizer, tmp_path / "ferret.jsonl")
    scores = matched(tmp_path / "ferret.jsonl")
    assert set(scores) == {"Partition_SHAP", "LIME"}
    assert scores["LIME"][0].tolist() == [0.5, 3.0, -0.75]


def test_scores_by_inseq_arrive_at_the_words(tmp_path):
    attributions = torch.tensor([9.0, 0.5, 1.0, 2.0, -1.0, 0.25, 9.0])[:, None, None].expand(7, 1, 4) / 4
    output = SimpleNamespace(sequence_attributions=[SimpleNamespace(source_attributions=attributions)])
    writers()["write_inseq"]({"7": output}, {"7": TEXT}, tokenizer, tmp_path / "inseq.jsonl", "saliency")
    assert matched(tmp_path / "inseq.jsonl")["saliency"][0].tolist() == [0.5, 3.0, -0.75]
