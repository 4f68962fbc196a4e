"""Pretrained transformers of Hugging Face that read the words of a text: the encoder `hf:PATH`."""
