import pytest
import torch

from heedful.attribution.reuse.scoring import SCORINGS, mapped, scoring_of
from heedful.models.attention import ATTENTIONS
from heedful.models.trace import trace
from support.models import BATCH, HIDDEN, TIME, give_attention, make, make_batch


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("has_query", [False, True])
@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_halves_of_a_state_add_up_to_its_score(attention, has_query, temperature):
    if attention == "frozen" and temperature != 1:
        pytest.skip("frozen attention has no temperature")
    model = make("bilstm", attention, has_query=has_query, temperature=temperature)
    seen = trace(model, give_attention(make_batch(has_query), hierarchical=False))
    scoring = scoring_of(model.attention, model.temperature, seen.encoded, seen.scores)
    halves = [slice(0, HIDDEN), slice(HIDDEN, 2 * HIDDEN)]
    states, text = seen.encoded.hidden.flatten(0, 1), torch.arange(BATCH).repeat_interleave(TIME)
    first, second = (mapped(scoring.weight[..., half], states[:, half], text) for half in halves)
    projected = (first + second).unflatten(0, (BATCH, TIME))
    scores = scoring.readout((projected + scoring.constant).detach())
    items = seen.encoded.items
    torch.testing.assert_close(scores[items], seen.scores[items] / temperature, atol=1e-14, rtol=0)


def test_every_kind_of_attention_has_its_scoring():
    assert set(SCORINGS) == set(ATTENTIONS.values())
