import torch

from heedful.models.hugging_face.frozen_states import WordStates
from heedful.models.hugging_face.pretrained_modules import piece_reader, pretrained_module

TEXT = ("the", "unlikely", "film")


def states(encoder):
    module = pretrained_module(encoder).double()
    return WordStates(module, piece_reader(encoder, module))


@torch.no_grad()
def test_the_state_of_a_word_is_the_mean_of_its_pieces(encoder):
    reader = states(encoder)
    (window,) = reader.reader.read(TEXT)
    pieces = reader.module(input_ids=torch.tensor([window.pieces])).last_hidden_state[0]
    expected = torch.stack([pieces[1], pieces[2:5].mean(0), pieces[5]])
    torch.testing.assert_close(reader.of([TEXT])[0], expected, rtol=0, atol=1e-12)


@torch.no_grad()
def test_what_is_read_beside_a_text_does_not_matter(encoder):
    reader = states(encoder)
    alone, beside = reader.of([TEXT])[0], reader.of([("good",) * 9, TEXT, ()])
    torch.testing.assert_close(beside[1], alone, rtol=0, atol=1e-12)
    assert [len(each) for each in beside] == [9, 3, 0]


@torch.no_grad()
def test_windows_are_read_one_by_one(encoder):
    reader = states(encoder)
    short = WordStates(reader.module, type(reader.reader)(reader.reader.tokenizer, 5))
    expected = torch.cat(reader.of([("good", "film", "is"), ("bad",)]))
    torch.testing.assert_close(short.of([("good", "film", "is", "bad")])[0], expected, rtol=0, atol=1e-12)


def test_nothing_to_read_is_nothing_read(encoder):
    assert [tuple(each.shape) for each in states(encoder).of([(), ()])] == [(0, 16), (0, 16)]
