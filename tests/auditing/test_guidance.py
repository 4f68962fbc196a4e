"""What the audit says about explaining decisions: which ranking, and how far to trust it, in the headline's words."""

import pytest
from heedful.verdict.counting import counted
from heedful.verdict.headline import headline

from heedful.auditing.explanation import Guidance
from heedful.auditing.guidance import guidance_of
from heedful.errors import SettingError
from heedful.schema import Advice, Ranking, Training, Verdict, updated
from support.lines import countable_line as line
from support.lines import countable_verdict

HOLDS, FAILS = line(), line(0.2, 0.4)
INSTEAD = Advice(
    action="instead", ranking="attention_x_gradient", sentence="Show attention x gradient instead: it is better."
)
ATTENTION = Advice(action="attention", ranking="attention", sentence="Attention may be shown; no other is better.")
NOTHING = Advice(
    action="nothing", ranking="gradient_x_input", sentence="Show nothing: no other ranking is surely better."
)


def verdict_of(*lines, **changes) -> Verdict:
    return counted(updated(countable_verdict(*lines), **changes))


def guidance(verdict: Verdict | None) -> Guidance:
    return guidance_of(verdict, "`heedful audit --model k`")


@pytest.mark.parametrize(
    ("verdict", "action", "ranking", "name", "lead"),
    [
        (verdict_of(*[HOLDS] * 3, advice=ATTENTION), "attention", "attention", "attention", "Attention may be shown."),
        (
            verdict_of(FAILS, advice=INSTEAD),
            "instead",
            "attention_x_gradient",
            "attention x gradient",
            "Show attention x gradient, not attention.",
        ),
        (
            verdict_of(FAILS, advice=NOTHING),
            "nothing",
            "gradient_x_input",
            "gradient x input",
            "The audit advises to show nothing.",
        ),
        (None, "not audited", "leave_one_out", "leave-one-out", "No audit of this model is at hand."),
    ],
)
def test_the_advice_decides_what_is_shown(verdict, action, ranking, name, lead):
    made = guidance(verdict)
    assert (made.action, made.ranking, made.name, made.lead) == (action, ranking, name, lead)
    assert made.is_reliable is (action in ("attention", "instead"))


@pytest.mark.parametrize("lines", [[HOLDS] * 3, [FAILS], [HOLDS, FAILS], []])
@pytest.mark.parametrize("advice", [ATTENTION, INSTEAD, NOTHING, None])
def test_trust_is_in_the_words_of_the_headline(lines, advice):
    verdict = verdict_of(*lines, advice=advice)
    words = headline(verdict)
    trust = guidance(verdict).trust
    assert trust.endswith(f"May attention be shown? {words.lead} {words.advice}")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"learnt": False}, "On these texts the model is not surely better than always giving the most common answer."),
        ({"texts": 2}, "Only 2 texts were audited, and 20 are the fewest that say anything."),
    ],
)
def test_behind_a_shut_gate_nothing_is_shown_and_the_reason_is_given(changes, reason):
    verdict = verdict_of(*[HOLDS] * 3, **changes)
    made, words = guidance(verdict), headline(verdict)
    assert (made.action, made.ranking, made.is_reliable) == ("nothing", "leave_one_out", False)
    assert made.trust.endswith(f"{words.lead} {reason} {words.advice}")


def test_without_another_ranking_attention_is_shown_only_if_it_holds():
    assert guidance(verdict_of(*[HOLDS] * 3)).action == "attention"
    assert guidance(verdict_of(HOLDS, HOLDS)).action == "nothing"
    assert guidance(verdict_of(FAILS)).ranking == "leave_one_out"


@pytest.mark.parametrize(
    ("trainings", "texts", "beginning"),
    [
        (0, 1200, "Audit of one training and 1,200 texts; another seed may answer otherwise. May"),
        (1, 1, "Audit of one training and 1 text. May"),
        (3, 20, "Audit of 3 trainings and 20 texts. May"),
    ],
)
def test_trust_says_on_how_much_it_rests(trainings, texts, beginning):
    verdict = verdict_of(FAILS, trainings=(Training(run="r"),) * trainings, texts=texts)
    assert guidance(verdict).trust.startswith(beginning)


def test_without_an_audit_trust_says_how_to_make_one():
    assert guidance(None).trust.endswith("To find out, run `heedful audit --model k`.")


def test_a_ranking_that_nobody_knows_is_an_error():
    unknown = Advice(action="instead", ranking="gradients")
    with pytest.raises(
        SettingError, match="unknown ranking 'gradients'. .*Known: gradient_x_input, attention_x_gradient"
    ):
        guidance(verdict_of(FAILS, advice=unknown))


def test_scores_from_outside_cannot_be_shown_of_a_new_text():
    advised = Advice(action="instead", ranking="mine", sentence="Show mine instead: it is better.")
    own = guidance(verdict_of(FAILS, advice=advised, rankings=(Ranking(name="mine", title="mine"),)))
    assert (own.action, own.ranking) == ("nothing", "leave_one_out") and not own.is_reliable
    assert own.lead.startswith("Show mine, not attention. Those scores came from outside and cannot be computed here")


def test_a_method_that_is_known_by_name_can():
    advised = Advice(action="instead", ranking="integrated_gradients", sentence="Show integrated gradients instead.")
    own = guidance(verdict_of(FAILS, advice=advised))
    assert (own.action, own.ranking, own.name) == ("instead", "integrated_gradients", "integrated gradients")
