from support.by_hand import findings_of


def test_leave_one_out_agreement():
    # Left out, the first token (weight .75) moves the logit from 2 to -4, the second from 2 to 4.
    values = findings_of("leave_one_out_agreement", [4, -4], [0.75, 0.25])
    assert values["tau"] == 1.0 and values["tau_gradient"] == 1.0
