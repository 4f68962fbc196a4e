"""Folders with a tiny pretrained encoder, random weights and all; and a cache of their states that nobody else has."""

import pytest
import torch

from support.tiny_transformers import tiny_module, tokenizer_of

WORDS = ("the", "film", "is", "good", "bad", "plot", "not", "goodish", "unlikely")


def save_encoder(folder, name="bert", **changes) -> str:
    """A tiny encoder of that architecture in the folder; what `--encoder` calls it."""
    tiny_module(name, torch.float32, **changes).base_model.save_pretrained(folder)
    tokenizer_of(name).save_pretrained(folder)
    return f"hf:{folder}"


def own_cache(monkeypatch, folder) -> None:
    """Keep states in that folder, and forget those in memory."""
    from heedful.models.hugging_face import frozen_states

    monkeypatch.setenv("HEEDFUL_CACHE", str(folder))
    frozen_states._shared.cache_clear()


@pytest.fixture
def encoder(tmp_path, monkeypatch) -> str:
    """A tiny BERT with a cache of its own."""
    own_cache(monkeypatch, tmp_path / "cache")
    return save_encoder(tmp_path / "tiny bert")
