from heedful.models.pretrained.lengths import longest_text
from support.tiny_transformers import tiny_module, tiny_tokenizer


def test_limits_are_those_of_tokenizer_and_model():
    assert longest_text(tiny_tokenizer(), tiny_module("bert", max_position_embeddings=40)) == 40
    # RoBERTa counts positions from after that of padding, 0 here.
    assert longest_text(tiny_tokenizer(), tiny_module("roberta", max_position_embeddings=40)) == 39
    assert longest_text(tiny_tokenizer(), tiny_module("t5")) is None
