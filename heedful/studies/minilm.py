"""MiniLM as an encoder of studies: frozen, under the attention and the head of the others, where it is at hand."""

from heedful.models.pretrained.minilm import HOW, NAME, has_minilm
from heedful.studies.study import Results

MINILM = NAME
ENCODER = f"hf:{NAME}"
"""What settings call it."""


def encoders_with_minilm(encoders: tuple[str, ...], *, wanted: bool = True) -> tuple[str, ...]:
    """These encoders and MiniLM, where it is wanted and at hand."""
    return (*encoders, MINILM) if wanted and has_minilm() else encoders


def remark_on_minilm(results: Results, stands_for: str) -> list[str]:
    """What is missing where MiniLM was not at hand, as a sentence.

    Args:
        stands_for: what it would show.
    """
    if any(cell.encoder == MINILM for cell in results.cells):
        return []
    return [f"MiniLM was not at hand, so {stands_for} is missing: {HOW}."]
