import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.attribution.chunks import of_similar_length


@given(st.lists(st.integers(0, 30), min_size=1, max_size=11), st.integers(1, 100))
def test_every_text_comes_once_and_no_chunk_is_too_large(lengths, most):
    chunks = [chunk.tolist() for chunk in of_similar_length(torch.tensor(lengths), most)]
    assert sorted(text for chunk in chunks for text in chunk) == list(range(len(lengths)))
    for chunk in chunks:
        assert len(chunk) == 1 or len(chunk) * max(lengths[text] for text in chunk) <= most
