"""Settings made, changed and bound to functions, always validated: a misspelt name is an error, never silence."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from heedful.errors import SettingError

Settings = TypeVar("Settings", bound=BaseModel)

OPTIONS = ConfigDict(arbitrary_types_allowed=True, allow_inf_nan=False)

SHOWN = 80
"""Characters of a wrong value that an error shows."""


def validate_settings(kind: type[Settings], tree: Mapping[str, Any], prefix: str = "") -> Settings:
    """Settings of that kind; what is wrong with them is one clear error.

    Args:
        prefix: what stands before a setting's name in the error ("audit.").

    >>> from heedful.settings import NetworkSettings
    >>> validate_settings(NetworkSettings, {"hiden_size": 5})
    Traceback (most recent call last):
    heedful.errors.SettingError: there is no setting 'hiden_size'. Did you mean 'hidden_size'? Known: encoder, ...
    """
    try:
        return kind.model_validate(tree)
    except ValidationError as error:
        raise _explained(error, prefix, kind) from None


def update_settings(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The settings with these changes, validated. An unknown name is an error.

    Args:
        changes: by dotted name, {"network.encoder": "cnn", "seed": 1}; a whole part can be replaced as well.

    >>> from heedful.settings import Run
    >>> update_settings(Run(), {"network.encoder": "cnn", "seed": 1}).network.encoder
    'cnn'
    """
    flat = flatten_settings(settings.model_dump())
    return validate_settings(type(settings), nest_settings({**flat, **changes}))


def flatten_settings(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A tree of settings by dotted name; an empty table stays, to be able to say "no options".

    >>> flatten_settings({"network": {"encoder": "cnn"}, "training": {"options": {}}, "seed": 0})
    {'network.encoder': 'cnn', 'training.options': {}, 'seed': 0}
    """
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        is_inner = isinstance(value, Mapping) and bool(value)
        flat |= flatten_settings(value, f"{prefix}{name}.") if is_inner else {f"{prefix}{name}": value}
    return flat


def nest_settings(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The tree that `flatten_settings` flattens.

    >>> nest_settings({"network.encoder": "cnn", "seed": 0})
    {'network': {'encoder': 'cnn'}, 'seed': 0}
    """
    tree: dict[str, Any] = {}
    for place, value in flat.items():
        *parts, name = place.split(".")
        inner = tree
        for part in parts:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise SettingError(f"'{place}' cannot be set: '{part}' is not a table of settings.")
        inner[name] = dict(value) if isinstance(value, Mapping) else value
    return tree


def bind_options(function: Callable[..., Any], options: Mapping[str, Any], owner: str) -> Callable[..., Any]:
    """The function with these of its keyword-only parameters set, checked against their types.

    Args:
        owner: whose options they are, as errors say it: "test 'permutation'".

    >>> bind_options(lambda trace, *, radius=0.1: radius, {"radus": 1}, "method 'seat'")
    Traceback (most recent call last):
    heedful.errors.SettingError: unknown option 'radus' of method 'seat'. Known: radius.
    """
    known = option_parameters(function)
    for name in options:
        if name not in known:
            raise SettingError(f"unknown option '{name}' of {owner}. Known: {', '.join(known) or 'none'}.")
    types = {name: (_option_type(known[name]), ...) for name in options}
    schema = create_model("Options", __config__=OPTIONS, **types)  # pyright: ignore[reportCallIssue, reportArgumentType]
    try:
        checked = schema.model_validate(dict(options))
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"].removeprefix("Input ")
        raise SettingError(
            f"option '{first['loc'][0]}' of {owner} {message}; it was {shortened(first['input'])}."
        ) from None
    return partial(function, **{name: getattr(checked, name) for name in options})


def option_parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The keyword-only parameters of a function, which are its options."""
    parameters = inspect.signature(function).parameters.values()
    return {parameter.name: parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}


def _option_type(parameter: inspect.Parameter) -> Any:
    return Any if parameter.annotation is parameter.empty else parameter.annotation


def _explained(error: ValidationError, prefix: str, kind: type[BaseModel]) -> SettingError:
    """The first thing that is wrong, in one line: which setting, what it must be, what it was, and the known ones."""
    first = error.errors()[0]
    parts = [str(part) for part in first["loc"]]
    place = prefix + ".".join(parts)
    if first["type"] == "extra_forbidden":
        return _unknown(place, parts, kind)
    message = first["msg"].removeprefix("Input ").removeprefix("Value error, ")
    if not parts:  # what is wrong is not with a single setting
        return SettingError(f"{prefix}{message}.")
    return SettingError(f"setting '{place}' {message}; it was {shortened(first['input'])}.")


def _unknown(place: str, parts: Sequence[str], kind: type[BaseModel]) -> SettingError:
    """That there is no such setting, which is nearest, and which there are."""
    fields = kind.model_fields
    for part in parts[:-1]:
        inner = fields[part].annotation if part in fields else None
        kinds = (inner, *get_args(inner))  # a part may be absent: Part | None
        fields = next((known for kind in kinds if (known := getattr(kind, "model_fields", None))), {})
    near = get_close_matches(parts[-1], fields, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    known = f" Known: {', '.join(fields)}." if fields else ""
    return SettingError(f"there is no setting '{place}'.{hint}{known}")


def shortened(value: object) -> str:
    """A value as an error shows it.

    >>> shortened("a"), len(shortened([0] * 1000))
    ("'a'", 83)
    """
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # too many digits, too deep
        return "too long to show"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
