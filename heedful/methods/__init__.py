"""Ways to train; one name here is one choice of `--method`."""

from heedful.methods import adversary, vanilla
from heedful.methods.contract import Method, bind

__all__ = ["METHODS", "Method", "bind"]

METHODS: dict[str, Method] = {
    "vanilla": vanilla.METHOD,
    "adversary": adversary.METHOD,
    "adversary_kl": adversary.METHOD_KL,
}
