"""Hugging Face classifiers among the models that a command is given."""

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any

from heedful.errors import SettingError

if TYPE_CHECKING:
    from heedful.schema import Verdict
    from heedful.settings import DataSettings
    from heedful.store.store import Store


def classifiers_among(
    models: Sequence[str], store: "Store", site: str | None = None, scope: str | None = None
) -> list[str]:
    """Those models that are Hugging Face classifiers: all, or none of them; fine-tuned runs by their folders.

    A key of a finished run comes first: a folder of the same name is given as ./NAME.
    """
    from heedful.models.hugging_face.sites import parse_scope, parse_site
    from heedful.runs.classifiers import is_classifier
    from heedful.store.store import find_finetuned, is_finetuned

    parse_site(site or "last")
    parse_scope(scope or "row")
    if empty := [name for name in models if not name.strip()]:
        raise SettingError(f"--model must name a finished run or a Hugging Face model; it was '{empty[0]}'.")
    named = []
    for name in models:
        is_key = store.has_prefix(name)
        if is_key and is_finetuned(store, name):
            named.append(str(find_finetuned(store, name).folder))
        elif not is_key and is_classifier(name):
            named.append(name)
    if named and len(named) < len(models):
        other = next(name for name in models if name not in named)
        raise SettingError(f"--model must be given once for a finished run; it names {named[0]} and {other}.")
    if not named and len(models) > 1:
        raise SettingError(
            f"--model must be given once for a finished run; it names {models[0]} and {models[1]}. `--seeds` audits "
            "several seeds of a run; `heedful compare` compares audits."
        )
    if len({*named}) < len(named):
        raise SettingError("--model must name different checkpoints; some are named twice.")
    if not named and (site or scope):
        option = "--site" if site else "--scope"
        raise SettingError(f"{option} must be left out: it is for Hugging Face models, and --model names none.")
    return named


def own_among(arguments: Mapping[str, Any]) -> str:
    """The model of the user's own, FILE.py:FUNCTION, that --model names; empty where it names none.

    Args:
        arguments: of the command.
    """
    from heedful.runs.custom_models import is_custom

    models = arguments["model"] or []
    own = next((name for name in models if is_custom(name)), "")
    others = ("scores", "seeds", "deep", "uniform", "site", "scope")
    given = [f"--{name}" for name in others if arguments[name]]
    given += ["DATA"] if arguments["data"] is not None else []
    given += ["another --model"] if len(models) > 1 else []
    if own and given:
        raise SettingError(f"{given[0]} must be left out with --model {own}: it is audited alone, on its own batches.")
    return own


def data_for(classifiers: Sequence[str], given: "DataSettings | None") -> "DataSettings":
    """The data that classifiers are audited on: what is given, or what fine-tuned ones were all trained on."""
    from heedful.runs.classifiers import trained_on

    if given is not None:
        return given
    known = {name: trained_on(name) for name in classifiers}
    unknown = [name for name, data in known.items() if data is None]
    if unknown:
        raise SettingError(f"DATA must be given with --model {unknown[0]}: texts with the labels of that model.")
    first, *others = [data for data in known.values() if data is not None]
    if any(other.fingerprint != first.fingerprint for other in others):
        raise SettingError("DATA must be given: the models that --model names were trained on different data.")
    return first


def explained_by(verdict: "Verdict") -> str:
    """The options that name the audited model to `heedful explain`; empty for one of the user's own."""
    if "classifier" not in verdict.settings:
        return verdict.run if verdict.settings.get("run") else ""
    options = [quote(str(verdict.settings.get("model", "")).split(", ")[0])]
    usual = {"site": "last", "scope": "row"}
    options += [f"--{name} {verdict.settings[name]}" for name in usual if verdict.settings.get(name) != usual[name]]
    return " ".join(options)
