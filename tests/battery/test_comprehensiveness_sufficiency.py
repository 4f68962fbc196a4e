import pytest
import torch

from heedful.auditing.rows import chosen_tests
from heedful.battery import Evidence
from heedful.battery.comprehensiveness_sufficiency import comprehensiveness_sufficiency
from heedful.errors import SettingError
from heedful.models.trace import trace
from heedful.settings import AuditSettings
from heedful.types import Batch
from support.by_hand import findings_of, sigmoid
from support.evidence import evidence_of
from support.evidence import evidence_of_kind as of_kind
from support.evidence import seeded as draw
from support.models import LENGTHS, make, make_batch


def test_necessary_and_sufficient_by_hand():
    # 2 x .3 - 1 x .2 + 4 x .5 = 2.4; without the last (.6 - .2) / .5 = .8, with it alone 4; the top two are the last
    # and the first, of which (2 + .6) / .8 = 3.25 is left, and -1 without them.
    values = findings_of("comprehensiveness_sufficiency", [2, -1, 4], [0.3, 0.2, 0.5], sizes=(1.0, 2.0))
    p = sigmoid(2.4)
    assert values["comprehensiveness_attention_1"] == pytest.approx(p - sigmoid(0.8))
    assert values["sufficiency_attention_1"] == pytest.approx(p - sigmoid(4.0))
    assert values["comprehensiveness_attention_2"] == pytest.approx(p - sigmoid(-1.0))
    assert values["sufficiency_attention_2"] == pytest.approx(p - sigmoid(3.25))
    two = (values["sufficiency_attention_1"] + values["sufficiency_attention_2"]) / 2
    assert values["sufficiency_attention"] == pytest.approx(two)


def test_a_size_that_takes_the_whole_text_counts_for_nothing():
    values = findings_of("comprehensiveness_sufficiency", [4, 2, -1], [0.5, 0.3, 0.2], sizes=(1.0, 3.0, 10.0))
    assert torch.tensor(values["sufficiency_attention_3"]).isnan()
    assert values["comprehensiveness_attention"] == values["comprehensiveness_attention_1"]


def test_uniform_attention_chooses_as_chance_does():
    values = findings_of("comprehensiveness_sufficiency", [4, 2, -1, -3, 1], [0.2] * 5, sizes=(1.0, 2.0))
    for kind in ("comprehensiveness", "sufficiency"):
        assert values[f"{kind}_attention"] == values[f"{kind}_random"]


def test_a_size_that_takes_all_the_weight_of_one_ranking_is_left_out_of_all():
    # Attention's two top words have all the weight: without them nothing is left, and the size counts for no ranking.
    values = findings_of("comprehensiveness_sufficiency", [3, -1, 2, 1], [0.6, 0.4, 0.0, 0.0], sizes=(1.0, 2.0))
    for name in ("attention", "random", "leave_one_out", "gradient_x_input"):
        assert torch.tensor(values[f"comprehensiveness_{name}_2"]).isnan()
    one, every = (values[f"comprehensiveness_attention{size}"] for size in ("_1", ""))
    assert every == pytest.approx(one) == pytest.approx(sigmoid(1.4) - sigmoid(-1.0))


def test_texts_are_shortened_and_read_anew():
    evidence = of_kind("recurrent")
    with torch.no_grad():
        values = comprehensiveness_sufficiency(evidence, draw(), sizes=(1.0,)).values
    for row, top in enumerate(evidence.attention.argmax(1)[:2].tolist()):
        tokens = evidence.trace.batch.tokens[row, : LENGTHS[row]].tolist()
        p, gone, alone = (
            read(evidence.model, text)[evidence.predicted[row]]
            for text in (tokens, tokens[:top] + tokens[top + 1 :], [tokens[top]])
        )
        torch.testing.assert_close(values["comprehensiveness_attention_1"][row], p - gone)
        torch.testing.assert_close(values["sufficiency_attention_1"][row], p - alone)


def read(model, tokens):
    tokens = torch.tensor([tokens])
    mask = torch.ones_like(tokens, dtype=torch.bool)
    with torch.no_grad():
        return trace(model, Batch(torch.tensor([0]), tokens, mask, mask, torch.tensor([0]))).logits.softmax(-1)[0]


def test_zeroing_is_another_thing_than_deleting():
    evidence = evidence_of(make())
    deleted, zeroed = (comprehensiveness_sufficiency(evidence, draw(), erase=how).values for how in ("delete", "zero"))
    assert (deleted["sufficiency_attention"][:2] != zeroed["sufficiency_attention"][:2]).all()
    with pytest.raises(SettingError, match="option 'erase' of test .* should be 'delete' or 'zero'; it was 'remove'"):
        chosen_tests(AuditSettings(options={"comprehensiveness_sufficiency": {"erase": "remove"}}, deep=True))


def test_random_words_are_drawn_anew_for_every_text():
    model = make()
    with torch.no_grad():
        seen = trace(model, make_batch())
        first, second = (
            comprehensiveness_sufficiency(Evidence(model, seen, generator=draw(seed)), draw()).values for seed in (0, 1)
        )
    assert (first["sufficiency_random_1"][:2] != second["sufficiency_random_1"][:2]).any()
    assert torch.equal(first["sufficiency_attention"][:2], second["sufficiency_attention"][:2])


def test_emptied_is_the_text_with_zeros_for_every_word():
    evidence = of_kind("recurrent")
    with torch.no_grad():
        values = comprehensiveness_sufficiency(evidence, draw(), sizes=(1.0,)).values
        blank = torch.zeros_like(evidence.trace.embedded)
        emptied = evidence.model.decode(
            encoded := evidence.model.encode(blank, evidence.trace.batch),
            evidence.model.attend(encoded, evidence.trace.batch)[1],
        ).softmax(-1)
    lost = evidence.probabilities.amax(-1) - emptied.gather(1, evidence.predicted[:, None])[:, 0]
    torch.testing.assert_close(values["emptied"][:2], lost[:2])
