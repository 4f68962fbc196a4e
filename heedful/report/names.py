"""What the reader calls an audited model: by the settings that tell it from the others."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

UNNAMED = ("fingerprint", "reference")
"""Settings that name a run to a machine, not to a reader."""
TELLING = ("encoder", "attention", "method", "source")
"""Settings whose value says enough without their name, in the order in which they are said."""


def flatten(settings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Each setting by its dotted name, as the reader would write it.

    >>> list(flatten({"network": {"encoder": "cnn", "kernels": [1, 3]}, "seed": 0, "vectors": None}))
    [('network.encoder', 'cnn'), ('network.kernels', '1, 3'), ('seed', '0'), ('vectors', 'none')]
    """
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", _said(value)


def short_name(settings: Mapping[str, Any], otherwise: str) -> str:
    """The run's encoder, and its seed where that is not 0; or the other name where there is no encoder.

    >>> short_name({"run": {"network": {"encoder": "cnn"}, "seed": 2}}, "4f1c")
    'cnn, seed 2'
    """
    run = settings.get("run")
    flat = {_last(key): value for key, value in flatten(run if isinstance(run, dict) else {})}
    if "encoder" not in flat:
        return printable(otherwise)
    seed = flat.get("seed", "0")
    return printable(flat["encoder"] if seed == "0" else f"{flat['encoder']}, seed {seed}")


def distinct_names(names: Sequence[str], settings: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The names; where one stands twice, with the settings in which the runs differ, or else with a number.

    >>> distinct_names(["cnn", "cnn"], [{"method": "seat"}, {"method": "vanilla"}])
    ('cnn, seat', 'cnn, vanilla')
    >>> distinct_names(["cnn", "cnn"], [{}, {}])
    ('cnn (1)', 'cnn (2)')
    """
    flat = [dict(flatten(one)) for one in settings]
    told = [
        ", ".join([name, *_differences(flat, at)]) if names.count(name) > 1 else name for at, name in enumerate(names)
    ]
    return tuple(f"{name} ({at})" if told.count(name) > 1 else name for at, name in enumerate(told, start=1))


def printable(name: str) -> str:
    """The name without control characters, which no drawing can hold."""
    return "".join(character if character.isprintable() else " " for character in name)


def _differences(flat: Sequence[dict[str, str]], at: int) -> list[str]:
    """At most three settings in which this run differs from some other, the telling ones first."""
    differs = [
        key
        for key, value in flat[at].items()
        if _last(key) not in UNNAMED and any(other.get(key) != value for other in flat)
    ]
    telling = sorted(differs, key=lambda key: TELLING.index(_last(key)) if _last(key) in TELLING else len(TELLING))
    said = (flat[at][key] if _last(key) in TELLING else f"{_last(key)} {flat[at][key]}" for key in telling[:3])
    return [printable(one) for one in said]


def _last(key: str) -> str:
    return key.rsplit(".", 1)[-1]


def _said(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_said(one) for one in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
