"""Leave-one-out of a single text is that of an audit."""

import pytest

from heedful.server.evidence import TextEvidence


def test_leave_one_out_is_that_of_the_audit(each):
    whole = each.evidence()
    alone = TextEvidence(whole.model, whole.trace, whole.context)
    assert each.real(alone.leave_one_out) == pytest.approx(each.real(whole.leave_one_out), abs=1e-12)
    assert "deletion_logits" not in vars(alone), "nothing else is computed for it"
