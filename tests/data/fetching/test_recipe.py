"""What every recipe must keep."""

import re
from urllib.parse import urlsplit

import pytest

from heedful.data.fetching import RECIPES
from heedful.data.fetching.recipe import github
from heedful.data.sources.columns import LABELS, QUERIES, TEXTS

each = pytest.mark.parametrize("name", RECIPES)


@each
def test_a_recipe_says_what_it_is_and_under_which_terms(name):
    recipe = RECIPES[name]
    assert len(recipe.title) > 3 and len(recipe.task) > 8 and recipe.terms
    assert not recipe.remark.endswith(".")


@each
def test_files_of_repositories_are_named_by_commit(name):
    for address in RECIPES[name].files.values():
        parts = urlsplit(address)
        assert parts.scheme == "https" and parts.path.strip("/")
        if "github" in parts.netloc:
            assert re.fullmatch(r"/[\w-]+/[\w-]+/[0-9a-f]{40}/.+", parts.path)


@each
def test_columns_are_those_that_are_read_by_default(name):
    columns = RECIPES[name].columns
    assert columns[0] in TEXTS
    assert set(columns) & set(LABELS)
    assert set(columns) <= {*TEXTS, *LABELS, *QUERIES, "rationale"}


def test_a_file_at_a_commit_has_an_address():
    address = github("owner/name", "0" * 40, "data/a.txt")
    assert address == f"https://raw.githubusercontent.com/owner/name/{'0' * 40}/data/a.txt"
