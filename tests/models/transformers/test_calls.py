import pytest

from heedful.models.transformers.calls import Listener, current_hearing, heard_by


class Silent:
    def weights(self, call, weights):
        return weights

    def context(self, call, weights, values):
        return None


def test_a_pass_is_heard_only_inside():
    assert current_hearing() is None
    with heard_by(Silent()) as outer:
        assert current_hearing() is outer
        with heard_by(Silent()) as inner:
            assert current_hearing() is inner
        assert current_hearing() is outer
    assert current_hearing() is None


def test_an_error_ends_the_hearing():
    with pytest.raises(RuntimeError), heard_by(Silent()):
        raise RuntimeError
    assert current_hearing() is None


def test_a_listener_is_known_by_its_two_methods():
    assert isinstance(Silent(), Listener)
    assert not isinstance(object(), Listener)
