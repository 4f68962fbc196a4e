import pytest
import torch

from heedful.errors import SettingError
from heedful.models.hugging_face.classifier import load_inspected
from heedful.models.hugging_face.network import Inputs
from heedful.models.hugging_face.structure import check_rows
from support.tiny_transformers import CONFIGS, WITHOUT_SYMBOLS, tiny_model, tiny_module, tiny_tokenizer, transformers

FROM_END = (*WITHOUT_SYMBOLS, "bart", "t5", "xlnet")
READ_PADDING = ("xlnet", "convbert", "mobilebert", "mistral")
"""Mistral's rows of padding have nothing to attend to but padding: in float64 that is no number."""

FLOAT32_ATTENTION = ("gptj", "xlm")
"""In these rounding may look like an influence of padding."""


def test_the_row_that_is_read_is_found():
    for name in [name for name in CONFIGS if name not in ("modernbert", "eurobert", "gpt-oss")]:
        anatomy = tiny_model(name).classifier.anatomy
        assert anatomy.rows.place == (-1 if name in FROM_END else 0)
        if name not in FLOAT32_ATTENTION:
            assert anatomy.padding_is_ignored == (name not in READ_PADDING)
        assert anatomy.is_time_first == (name == "xlnet")


def test_layers_are_calls_in_their_order():
    assert [call.block for call in tiny_model("bert").classifier.anatomy.calls] == [
        "bert.encoder.layer.0",
        "bert.encoder.layer.1",
    ]
    bart = tiny_model("bart").classifier.anatomy
    assert bart.layers == 6 and list(bart.last_block) == [4, 5]
    # The same module, entered twice.
    albert = tiny_model("albert").classifier.anatomy
    assert albert.calls[0].block == albert.calls[1].block and list(albert.last_block) == [1]


def test_windowed_and_pooled_attention_is_refused():
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = transformers.LongformerConfig(**sizes, vocab_size=20, attention_window=4, num_labels=2, pad_token_id=0)
    longformer = transformers.AutoModelForSequenceClassification.from_config(config)
    with pytest.raises(SettingError, match="LongformerForSequenceClassification is windowed, pooled or of another"):
        load_inspected("x", longformer, tiny_tokenizer())
    pooled = tiny_module("funnel", block_sizes=[1, 1])
    with pytest.raises(SettingError, match=r"weights of shape .* for 8 tokens could be seen"):
        load_inspected("x", pooled, tiny_tokenizer())


def test_a_text_in_which_another_row_is_read_is_refused():
    """GPT-2 reads the last token that is not padding; a text may end in the padding symbol."""
    classifier = tiny_model("gpt2").classifier
    usual, ending = torch.tensor([[5, 6, 7]]), torch.tensor([[5, 6, 0]])
    mask = torch.ones_like(usual, dtype=torch.bool)
    check_rows(classifier.network, classifier.anatomy, Inputs(usual, mask))
    with pytest.raises(SettingError, match=r"reads row -1 of some and rows \[1\] of one with 3 tokens"):
        check_rows(classifier.network, classifier.anatomy, Inputs(ending, mask))
