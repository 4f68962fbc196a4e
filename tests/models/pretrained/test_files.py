"""What is refused of a model's folder is tested with classifiers, in tests/models/transformers/test_loading.py."""

import pytest

from heedful.errors import StoreError
from heedful.models.pretrained.files import check_files, first_line


def test_a_name_on_the_hub_is_no_folder():
    check_files("bert-base-uncased")
    check_files("someone/some-model")


@pytest.mark.parametrize("path", ["./none", "/none", "~/none", "a/b/c"])
def test_a_path_is_no_name_on_the_hub(path):
    with pytest.raises(StoreError, match="there is no folder"):
        check_files(path)


def test_an_error_of_another_library_is_one_line():
    assert first_line(OSError("first\nsecond")) == "first"
    assert first_line(OSError()) == "OSError"
