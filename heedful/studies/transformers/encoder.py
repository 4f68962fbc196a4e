"""The encoder that the study fine-tunes: MiniLM, wherever it is at hand."""

from heedful.errors import HeedfulError, SettingError
from heedful.models.pretrained import minilm
from heedful.models.pretrained.fingerprint import model_folder

ENCODER, CALLED = minilm.NAME, "MiniLM"


def require_encoder() -> None:
    """Raise, with what to do, where the encoder cannot be had."""
    try:
        model_folder(ENCODER)
    except HeedfulError as error:
        raise SettingError(f"the study fine-tunes an encoder, {CALLED}, which cannot be read: {error}") from error
