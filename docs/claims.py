"""Writes docs/claims.md, all claims of all papers in one table, from the studies' JSON: `python docs/claims.py`.

The same files give the same page. `heedful reproduce PAPER --out docs/studies` writes a study's page and JSON.
"""

import json
import re
import sys
from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import Any, get_args

sys.path.insert(0, str(Path(__file__).parents[1]))

from heedful.measures import Estimate
from heedful.papers import STUDIES
from heedful.papers.claim_rule import claim_number, summary_sentence, verdict_counts
from heedful.papers.reproduction import OldClaim, Study, Verdict

DOCS = Path(__file__).parent
PAGE = DOCS / "claims.md"
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

HEAD = """\
# Every claim, and what became of it

Each paper's claims, put to the same statistical test: *confirmed* or *contradicted* only if the whole 95 % interval
lies beyond the smallest difference that matters, allowing for the number of the paper's claims; *not confirmed* says no
more than that; *not tested* means fewer than five trained models. A claim is quoted from the paper, or it is our
reading of it, and then says so. Numbers are ours, each in its own unit.

This page is made by `python docs/claims.py` from the files that `heedful reproduce` writes.
"""


def studies_done() -> dict[str, Study]:
    """The studies that were run, in their order."""
    return {name: study for name, study in STUDIES.items() if (DOCS / "studies" / f"{name}.json").exists()}


def read_claims(name: str) -> tuple[str, list[OldClaim]]:
    """The scale at which a study was last done, and its claims as they were tested."""
    content = json.loads((DOCS / "studies" / f"{name}.json").read_text(encoding="utf-8"))
    return content["scale"], [_claim(claim) for claim in content["claims"]]


def _claim(content: dict[str, Any]) -> OldClaim:
    parts = {name: _estimate(part) for name, part in content["parts"].items()}
    p = nan if content["p"] is None else content["p"]
    return OldClaim(**{**content, "parts": parts, "pooled": _estimate(content["pooled"]), "p": p})


def _estimate(content: dict[str, float | None]) -> Estimate:
    return Estimate(**{name: nan if number is None else number for name, number in content.items()})


def claims_page() -> str:
    """The whole page."""
    studies = [(study, *read_claims(name)) for name, study in studies_done().items()]
    everything = [claim for _, _, claims in studies for claim in claims]
    parts = [
        HEAD,
        f"**{summary_sentence(everything)}**\n",
        "## Paper by paper\n",
        table(["paper", "scale", *VERDICTS], [_counts(*study) for study in studies]) + "\n",
        "## OldClaim by claim\n",
        table(
            ["paper", "claim", "verdict", "our number (95 % interval)", "whose words"],
            [[_short_link(study), *claim_cells(claim)] for study, _, claims in studies for claim in claims],
        ),
    ]
    return "\n".join(parts) + "\n"


def _counts(study: Study, scale: str, claims: Sequence[OldClaim]) -> list[str]:
    counts = verdict_counts(claims)
    return [f"[{_cited(study)}](papers/{study.name}.md)", scale, *(str(counts[verdict]) for verdict in VERDICTS)]


def _cited(study: Study) -> str:
    """Authors, year and title: the reference without where it appeared."""
    return re.sub(r", (?:arXiv:[\d.]+|aclanthology\.org\S+)", "", study.paper)


def _short_link(study: Study) -> str:
    return f"[{study.name}](studies/{study.name}.md)"


def claim_cells(claim: OldClaim) -> list[str]:
    """The claim, its verdict in bold where it is decided, its number, and whether the paper is quoted."""
    decided = claim.verdict in ("confirmed", "contradicted")
    verdict = f"**{claim.verdict}**" if decided else claim.verdict
    return [claim.statement, verdict, claim_number(claim), "quoted" if claim.quote else "our reading"]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(claims_page(), encoding="utf-8")
    print(PAGE)
