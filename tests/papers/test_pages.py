"""The pages in docs/ that studies wrote."""

import json
import re
from pathlib import Path

from heedful.papers import STUDIES
from heedful.papers.claim_rule import claims_of

PAGES = Path(__file__).parents[2] / "docs" / "studies"
LINK = re.compile(r"\]\(([^)]+)\)")


def test_every_study_has_a_page_that_opens_with_the_finding_and_that_its_command_made():
    for name in STUDIES:
        text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
        written = json.loads((PAGES / f"{name}.json").read_text(encoding="utf-8"))
        assert f"Made by `heedful reproduce {name} " in text and written["errors"] == {}
        for claim in written["claims"]:
            assert f"**{claim['verdict']}**" in text and claim["statement"] in text
        counts, finding = written["summary"], text.split("\n\n")[1]
        assert finding.startswith(f"**Of {sum(counts.values())} claims, {counts['confirmed']} ")
        assert f"{counts['not confirmed']} not confirmed, {counts['contradicted']} contradicted" in finding


def test_the_pages_state_the_claims_as_they_are_tested_and_link_to_their_files():
    stated = ("statement", "quote", "source", "measured", "unit", "margin", "kind", "baseline")
    for name, study in STUDIES.items():
        written = json.loads((PAGES / f"{name}.json").read_text(encoding="utf-8"))["claims"]
        claims = claims_of(study.folder)
        assert [claim["id"] for claim in written] == list(claims)
        for claim in written:
            assert [claim[field] for field in stated] == [getattr(claims[claim["id"]], field) for field in stated]
    for name in STUDIES:
        pages = [PAGES / f"{name}.md", *(PAGES / name).glob("*.md")]
        linked = {(page.parent / link).resolve() for page in pages for link in LINK.findall(page.read_text("utf-8"))}
        assert linked == {path.resolve() for path in (pages[0], *(PAGES / name).iterdir())}
