import pytest
import torch

from heedful.errors import HeedfulError
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.models.hugging_face.classifier import load_inspected
from heedful.models.hugging_face.tokenized_texts import read_texts
from support.tiny_transformers import TEXTS, tiny_batch, tiny_module, tiny_tokenizer, tokenizer_of


def test_the_first_batch_must_be_answered_as_by_the_untouched_model():
    classifier = load_inspected("tiny", tiny_module("bert"), tiny_tokenizer())
    with torch.no_grad():
        # As if the model file did something else when its attention is looked at.
        classifier.untouched.classifier.bias = torch.nn.Parameter(classifier.untouched.classifier.bias + 1)
    model = TransformerModel(classifier)
    batch = tiny_batch(model)
    with pytest.raises(HeedfulError, match="its logits differ by 1 from those of the untouched model"):
        model.encode(model.embed(batch), batch)
    assert not classifier.is_checked


def test_a_model_without_a_padding_token_reads_texts_of_one_length_together():
    module = tiny_module("gpt2", pad_token_id=None)
    classifier = load_inspected("tiny", module, tokenizer_of("gpt2"))
    assert not classifier.anatomy.padding_is_ignored
    model = TransformerModel(classifier)
    (batch,) = read_texts(classifier, TEXTS, [0, 0, 0]).batches()
    with torch.no_grad():
        encoded = model.encode(model.embed(batch), batch)
        logits = model.decode(encoded, encoded.attention)
        for row, mask in enumerate(batch.mask):
            expected = module(input_ids=batch.tokens[row, mask][None]).logits[0]
            torch.testing.assert_close(logits[row], expected)
    assert len(encoded.parts) == 2


def test_the_softmax_can_be_listened_to_in_any_model():
    """Both transports give the same on a model file that knows the attention interface."""
    views = [
        TransformerModel(load_inspected("tiny", tiny_module("bert"), tiny_tokenizer(), transport=transport))
        for transport in ("interface", "softmax")
    ]
    batch = tiny_batch(views[0])
    with torch.no_grad():
        encoded = [view.encode(view.embed(batch), batch) for view in views]
        torch.testing.assert_close(encoded[0].attention, encoded[1].attention)
        other = encoded[0].attention.flip(1).where(encoded[0].items, 0.0)
        answers = [view.decode(part, other) for view, part in zip(views, encoded, strict=True)]
    torch.testing.assert_close(*answers)
    assert all(view.one_row is not None for view in views)
