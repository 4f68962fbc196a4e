"""What the answers promise: undefined numbers are null."""

import json
from math import inf, nan

from heedful.server.contract import Decoded, RankedItems


def test_what_is_undefined_is_null():
    ranked = RankedItems(name="a", title="a", is_signed=False, weights=[nan, 1.0, None])
    assert json.loads(ranked.model_dump_json())["weights"] == [None, 1.0, None]
    decoded = Decoded(logits=[-inf, 0.0], probabilities=[0.0, 1.0], predicted=1, tvd=nan, jsd=0.0)
    assert json.loads(decoded.model_dump_json())["logits"] == [None, 0.0]
