"""Models of users' own that any process can load: FILE.py:FUNCTION, a function of theirs that returns what is audited.

Models are never sent from process to process: that would take pickle, which runs whatever is in it. A process that is
named a file runs that file, as `python FILE.py` would.
"""

import hashlib
import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from heedful.auditing.prepared import CustomModel, PreparedAudit, prepare_audit
from heedful.auditing.validation import first_line, named, validate_batches
from heedful.errors import SettingError
from heedful.jobs.request import AuditRequest
from heedful.settings import AuditSettings
from heedful.settings.comparison_models import ComparisonModels
from heedful.types import Batch, Model

PLACE = re.compile(r"(?P<file>.+\.py):(?P<function>[^\W\d]\w*)")
KNOWN = ("model", "data", *(field.name for field in fields(CustomModel)))
RETURNS = "a dict with `model` and `data`, a list of batches, and if you like words, name and labels"


@dataclass(frozen=True)
class LoadedCustomModel:
    """What the function of a user returned.

    Args:
        key: a hash of the file, of the function's name and of the model's weights.
        fingerprint: a hash of the batches.
    """

    model: Model
    batches: Sequence[Batch]
    described: CustomModel
    key: str
    fingerprint: str

    def request(self, settings: AuditSettings) -> AuditRequest:
        """The audit of it, as it is called on disk."""
        return AuditRequest(run=self.key, data=self.fingerprint, settings=settings)

    def prepare(self, settings: AuditSettings, device: str | None = None) -> PreparedAudit:
        """The audit of it, ready to be made."""
        return prepare_audit(self.model, self.batches, settings, ComparisonModels(), own=self.described, device=device)


def is_custom(name: str) -> bool:
    """Whether a name is FILE.py:FUNCTION.

    >>> is_custom("models/bag.py:load"), is_custom("hf:owner/name"), is_custom("bag.py")
    (True, False, False)
    """
    return PLACE.fullmatch(name) is not None


def absolute_own(name: str) -> str:
    """The name as any process of this machine may call it."""
    file, _, function = name.rpartition(":")
    return f"{Path(file).expanduser().resolve()}:{function}"


def load_custom(name: str) -> LoadedCustomModel:
    """What the function returns that FILE.py:FUNCTION names, checked."""
    path, _, function = absolute_own(name).rpartition(":")
    returned = _call(Path(path), function)
    if not isinstance(returned, dict) or not {"model", "data"} <= returned.keys():
        raise SettingError(f"{name} must return {RETURNS}; it returned {named(returned)}.")
    if unknown := [str(each) for each in returned if each not in KNOWN]:
        raise SettingError(f"{name} must return {RETURNS}; '{unknown[0]}' is none of them.")
    model, batches = returned["model"], validate_batches(returned["data"])
    described = CustomModel(**{part: value for part, value in returned.items() if part not in ("model", "data")})
    key = hashlib.sha256(Path(path).read_bytes() + function.encode() + _weights(model)).hexdigest()[:16]
    return LoadedCustomModel(model, batches, described, key, _fingerprint(batches))


def _call(path: Path, function: str) -> Any:
    if not path.is_file():
        raise SettingError(f"--model must name a file that is there, FILE.py:FUNCTION; there is no {path}.")
    specification = importlib.util.spec_from_file_location(f"heedful_own_{path.stem}", path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    try:
        specification.loader.exec_module(module)
        made = getattr(module, function, None)
        returned = made() if callable(made) else None
    except Exception as error:  # a stranger's file may raise anything
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise SettingError(f"{path} cannot be loaded, or its {function}() fails: {reason}.") from error
    if not callable(made):
        raise SettingError(
            f"--model must name a function of {path.name} that takes no argument; it has no {function}()."
        )
    return returned


def _weights(model: Any) -> bytes:
    """A hash of the weights of a module; of other models nothing is known but the file."""
    digest = hashlib.sha256()
    if isinstance(model, nn.Module):
        for name, value in model.state_dict().items():
            digest.update(name.encode())
            digest.update(_bytes(value) if isinstance(value, Tensor) else repr(value).encode())
    return digest.digest()


def _fingerprint(batches: Sequence[Batch]) -> str:
    digest = hashlib.sha256()
    for batch in batches:
        for field in fields(batch):
            if (value := getattr(batch, field.name)) is not None:
                digest.update(field.name.encode())
                digest.update(_bytes(value))
    return digest.hexdigest()[:16]


def _bytes(value: Tensor) -> bytes:
    whole = value.detach().cpu().contiguous()
    kind = f"{whole.dtype}{tuple(whole.shape)}".encode()
    return kind + whole.flatten().view(torch.uint8).numpy().tobytes()
