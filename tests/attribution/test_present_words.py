import torch

from heedful.attribution.gradient_x_input import odds_at
from heedful.attribution.present_words import odds_of_present, seeded_by
from heedful.models.trace import trace
from support.models import BATCH, make, make_batch


def test_with_all_items_present_the_odds_are_the_text_s_and_with_none_those_of_zeros():
    model = make("bilstm")
    seen, texts = trace(model, make_batch()), torch.tensor([1, 0, 1])
    odds = odds_of_present(model, seen)
    everything, nothing = torch.ones(3, 7).double(), torch.zeros(3, 7).double()
    torch.testing.assert_close(odds(everything, texts), odds_at(model, seen, seen.embedded[texts], texts).detach())
    torch.testing.assert_close(odds(nothing, texts), odds_at(model, seen, 0 * seen.embedded[texts], texts).detach())


def test_an_absent_sentence_takes_all_its_words_with_it():
    model = make("hierarchical")
    seen, texts = trace(model, make_batch()), torch.tensor([0])
    without = seen.embedded.detach().clone()
    without[0, 3:6] = 0
    present = torch.tensor([[1.0, 0.0, 1.0]]).double()
    wanted = odds_at(model, seen, without[:1], texts).detach()
    torch.testing.assert_close(odds_of_present(model, seen)(present, texts), wanted)
    assert BATCH > 1


def test_what_is_drawn_inside_depends_on_the_generator_and_leaves_torch_s_own_alone():
    torch.manual_seed(5)
    wanted = torch.rand(2)
    torch.manual_seed(5)
    drawn = []
    for seed in (1, 1, 2):
        with seeded_by(torch.Generator().manual_seed(seed)):
            drawn.append(torch.rand(3))
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
    assert torch.equal(torch.rand(2), wanted)
