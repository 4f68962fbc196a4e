import pytest

from heedful.errors import SettingError
from heedful.runs.cluster import connected, cores


def test_no_scheduler_is_the_users_error():
    with pytest.raises(SettingError, match="no Dask scheduler answers at 'nonsense"), connected("nonsense://1"):
        pass


def test_a_machine_has_a_core():
    assert cores() >= 1
