"""Writes docs/claims.md, all claims of all papers in three lists, from the studies' JSON: `python docs/claims.py`.

The same files give the same page. `heedful reproduce PAPER` writes a study's page and JSON;
`python benchmarks/claims.py --write` simulates the rule.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from heedful.measures import Estimate
from heedful.papers import STUDIES
from heedful.papers.claim_rule import (
    HOW,
    ORIGINS,
    claims_of,
    effect_text,
    judge_claim,
    margins_hash,
    sets_text,
    summary_sentence,
)
from heedful.papers.reproduction import JudgedClaim, SetEffect, Study

DOCS = Path(__file__).parent
PAGE, RATES = DOCS / "claims.md", DOCS / "claim_rates.json"
FOLDERS = ("papers", "studies")
"""Where a study's JSON can be; the first counts."""

HEAD = f"""\
# Every claim, and the result

{HOW}

Sizes in words have one meaning on all pages: *the vast majority* is more than 75%, *most* more than half, *many* or *a
significant number* more than 10%. Two or three seeds say little about how much seeds vary, so the variance between
seeds of each dataset is averaged with that of the claim's other datasets (weight: two degrees of freedom). Shares and
AUROC have intervals on the logit scale. There is no correction for the number of claims: if nothing is there, a dataset
holds in at most 2.5% of cases, and two of two in 0.06%. Margins, with their reasons, are in each paper's `claims.toml`.

Claims in the paper's words, our readings of a paper (a threshold or the scope is ours, or its text was not available)
and our own findings are three lists, and are never added up.

This page is made by `python docs/claims.py` from the files that `heedful reproduce` writes.
"""


def result_file(name: str) -> Path | None:
    """The JSON of a study; None if it was not run."""
    files = (DOCS / folder / f"{name}.json" for folder in FOLDERS)
    return next((file for file in files if file.exists()), None)


def studies_done() -> dict[str, Study]:
    """The studies that were run, in their order."""
    return {name: study for name, study in STUDIES.items() if result_file(name)}


def read_claims(name: str) -> tuple[str, list[JudgedClaim]]:
    """The scale at which a study was last run, and its claims; claims without a stored result are not tested."""
    file, stated = result_file(name), claims_of(STUDIES[name].folder)
    content = json.loads(file.read_text(encoding="utf-8")) if file else {"scale": "", "claims": []}
    stored = {each["claim"]["id"]: each for each in content["claims"] if "word" in each}
    return content["scale"], [
        _judged(claim, stored[key]) if key in stored else judge_claim(claim, {}) for key, claim in stated.items()
    ]


def outdated(name: str) -> list[str]:
    """Claims of a study that were judged by other margins than those of `claims.toml`."""
    return [each.claim.id for each in read_claims(name)[1] if each.sets and each.margins != margins_hash(each.claim)]


def _judged(claim: Any, content: Mapping[str, Any]) -> JudgedClaim:
    return JudgedClaim(
        claim=claim,
        sets=tuple(SetEffect(**{**each, "effect": _estimate(each["effect"])}) for each in content["sets"]),
        word=content["word"],
        p=nan if content["p"] is None else content["p"],
        mean=content["mean"] and _estimate(content["mean"]),
        new_set=content["new_set"] and tuple(content["new_set"]),
        decides=content["decides"],
        margins=content["margins"],
    )


def _estimate(content: Mapping[str, float | None]) -> Estimate:
    return Estimate(**{name: nan if number is None else number for name, number in content.items()})


def claims_page() -> str:
    """The whole page."""
    judged = {name: read_claims(name)[1] for name in studies_done()}
    parts = [HEAD, *_papers(judged)]
    for origin, title in ORIGINS.items():
        own = [(name, each) for name, claims in judged.items() for each in claims if each.claim.origin == origin]
        rows = [[f"[{name}](papers/{name}.md)", *claim_cells(each)] for name, each in own]
        parts += [f"## {title}\n", table(["paper", *CELLS], rows) + "\n"]
    return "\n".join([*parts, *rates_table()]) + "\n"


def _papers(judged: Mapping[str, Sequence[JudgedClaim]]) -> list[str]:
    rows = [[f"[{_cited(STUDIES[name])}](papers/{name}.md)", summary_sentence(own)] for name, own in judged.items()]
    return ["## Paper by paper\n", table(["paper", "claims in its words"], rows) + "\n"]


def _cited(study: Study) -> str:
    """Authors, year and title: the reference without where it appeared."""
    return re.sub(r", (?:arXiv:[\d.]+|aclanthology\.org\S+)", "", study.paper)


CELLS = ("claim", "result", "holds", "ours (the paper's), by dataset", "what would decide it")


def claim_cells(judged: JudgedClaim) -> list[str]:
    """The claim, its word, on which datasets, our effect next to the paper's, and what would decide an open claim."""
    claim = judged.claim
    effects = [
        f"{each.data} {effect_text(claim, each.effect.value)}"
        + (f" ({effect_text(claim, each.paper)})" if each.paper is not None else "")
        for each in judged.sets
        if each.counts
    ]
    return [claim.statement, f"**{judged.word}**", sets_text(judged), ", ".join(effects), judged.decides]


def rates_table() -> list[str]:
    """How often the rule says "replicated" in simulated worlds, as `benchmarks/claims.py --write` left it."""
    content = json.loads(RATES.read_text(encoding="utf-8"))
    rows = [[str(row[name]) for name in content["columns"]] for row in content["rows"]]
    return ["## How often the rule is right\n", f"{content['about']}\n", table(content["columns"], rows)]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(claims_page(), encoding="utf-8")
