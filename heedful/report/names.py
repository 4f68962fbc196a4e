"""What the reader calls an audited model: by the settings that tell it from the others."""

from collections.abc import Mapping, Sequence
from typing import Any

from heedful.settings.validation import flatten_settings

UNNAMED = ("fingerprint", "vectors_fingerprint", "encoder_fingerprint", "reference")
"""Settings that name a run to a machine, not to a reader."""
SPEAKING = ("encoder", "attention", "method", "source")
"""Settings whose value says enough without their name, in the order in which they are named."""


def shown_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Each setting by its dotted name, as the reader would write it.

    >>> shown_settings({"network": {"encoder": "cnn", "kernels": [1, 3]}, "seed": 0, "vectors": None})
    {'network.encoder': 'cnn', 'network.kernels': '1, 3', 'seed': '0', 'vectors': 'none'}
    """
    return {name: _shown(value) for name, value in flatten_settings(settings).items()}


def short_name(settings: Mapping[str, Any], otherwise: str) -> str:
    """The run's encoder, and its seed where that is not 0; or the other name where there is no encoder.

    >>> short_name({"run": {"network": {"encoder": "cnn"}, "seed": 2}}, "4f1c")
    'cnn, seed 2'
    """
    run = settings.get("run")
    flat = {_last(key): value for key, value in shown_settings(run if isinstance(run, dict) else {}).items()}
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
    flat = [shown_settings(each) for each in settings]
    distinct = [
        ", ".join([name, *_differences(flat, at)]) if names.count(name) > 1 else name for at, name in enumerate(names)
    ]
    return tuple(f"{name} ({at})" if distinct.count(name) > 1 else name for at, name in enumerate(distinct, start=1))


def printable(name: str) -> str:
    """The name without control characters, which no drawing can hold."""
    return "".join(character if character.isprintable() else " " for character in name)


def _differences(flat: Sequence[dict[str, str]], at: int) -> list[str]:
    """At most three settings in which this run differs from some other, the speaking ones first."""
    differs = [
        key
        for key, value in flat[at].items()
        if _last(key) not in UNNAMED and any(other.get(key) != value for other in flat)
    ]
    ordered = sorted(differs, key=lambda key: SPEAKING.index(_last(key)) if _last(key) in SPEAKING else len(SPEAKING))
    shown = (flat[at][key] if _last(key) in SPEAKING else f"{_last(key)} {flat[at][key]}" for key in ordered[:3])
    return [printable(name) for name in shown]


def _last(key: str) -> str:
    return key.rsplit(".", 1)[-1]


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == {} else str(value)
