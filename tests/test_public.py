import subprocess
import sys

import pytest

import heedful


def test_every_public_name_is_there_and_no_other_is_promised():
    assert sorted(heedful.__all__) == heedful.__all__
    assert sorted(name for names in heedful._HOMES.values() for name in names) == heedful.__all__
    for name in heedful.__all__:
        assert getattr(heedful, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'adit'"):
        _ = heedful.adit


def test_importing_heedful_loads_no_torch():
    code = "import sys, heedful; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
