"""Sphinx's settings: `make docs` builds the documentation of this folder into docs/site.

The pages are Markdown, as GitHub shows it too. What the package itself knows (its tests, methods, commands) is written
into docs/generated when a build begins: see generate.py.
"""

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

import generate

import heedful

project = "Heedful"
author = "The Heedful maintainers"
release = version = heedful.__version__
copyright = "the Heedful maintainers, Apache-2.0"
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["site"]
highlight_language = "sh"
smartquotes = False

myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]
myst_links_external_new_tab = False

nitpicky = True
nitpick_ignore_regex = [("py:(class|obj|data)", ".*")]
"""Types in signatures are linked only where they have an entry; every written link must lead somewhere."""

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_use_param = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"Heedful {release}"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["style"]
html_css_files = ["site.css"]

DOCTEST = ">>>"


def as_restructured(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with `code` in backticks: whatever else means something to Sphinx is escaped."""
    in_doctest = False
    for number, line in enumerate(lines):
        in_doctest = bool(line.strip()) and (in_doctest or line.lstrip().startswith(DOCTEST))
        if not in_doctest:
            lines[number] = _escaped(line)


def _escaped(line: str) -> str:
    parts = re.split(r"`+([^`]+)`+", line)
    return "".join(
        f"``{part}``" if place % 2 else re.sub(r"([|*_])", r"\\\1", part) for place, part in enumerate(parts)
    )


def setup(app: Any) -> None:
    """Writes the generated pages before anything is read."""
    app.connect("builder-inited", lambda app: generate.write_pages(Path(app.srcdir)))
    app.connect("autodoc-process-docstring", as_restructured, priority=400)
