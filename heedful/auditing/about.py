"""What is to be known of the attention of a transformer before its audit is read."""

from pathlib import Path
from typing import Any

from heedful.battery.question import Columns
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.models.hugging_face.sites import SCOPES, Scope

BEYOND: dict[Scope, str] = {
    "row": "Words reach that row through earlier layers all the same, so what follows holds for its last step.",
    "row-all-layers": "Words reach that row through other rows all the same, so what follows holds for it alone.",
    "all-rows": "No word reaches another position in any other way.",
}
"""What other attention leaves as it is, by scope."""


def about_attention(model: TransformerModel, columns: Columns) -> tuple[str, ...]:
    """Which attention is shown, where other attention is imposed, and what the mean over heads leaves out."""
    sentences = [
        f"Attention is that of {_site(model)}, over words; special tokens keep theirs.",
        f"Other attention is imposed on {SCOPES[model.scope]}. {BEYOND[model.scope]}",
    ]
    if "mean_of_heads.tvd" in columns:
        means = {name: columns[f"mean_of_heads.{name}"].mean().item() for name in ("special_weight", "tvd", "flips")}
        sentences.append(
            f"Special tokens have {100 * means['special_weight']:.0f} % of the weight. Put into every head alike, what "
            f"is shown moves the prediction by {means['tvd']:.2f} and changes {100 * means['flips']:.0f} of 100 "
            "answers: the heads differ from their mean."
        )
    return tuple(sentences)


def settings_of(model: TransformerModel) -> dict[str, Any]:
    """What was audited, for the audit's files."""
    classifier = model.classifier
    return {
        "model": classifier.name,
        "site": str(model.site),
        "scope": model.scope,
        "classifier": {
            "architecture": type(classifier.untouched).__name__,
            "fingerprint": classifier.fingerprint,
            "layers": classifier.anatomy.layers,
            "heads": max(call.heads for call in classifier.anatomy.calls),
            "reads": "one row" if classifier.anatomy.rows.place is not None else "several rows",
        },
    }


def short_name_of(model: TransformerModel) -> str:
    """What tables and figures call the model.

    The folder's own name, or what the hub calls it; with the site and scope, where these are not the usual ones.
    """
    name = Path(model.classifier.name).name or model.classifier.name
    return ", ".join([name, *(part for part in (str(model.site), model.scope) if part not in ("last", "row"))])


def _site(model: TransformerModel) -> str:
    site, anatomy = model.site, model.classifier.anatomy
    whose = "the row that the classifier reads" if anatomy.rows.place is not None else "all rows, on average"
    layers = anatomy.layers
    match site.kind:
        case "head":
            return f"head {site.head} of layer {site.layer} (counted from 0, of {layers}), {whose}"
        case "layer":
            return f"layer {site.layer} (counted from 0, of {layers}), the mean over its heads, {whose}"
        case "all":
            return f"all {layers} layers, the mean over all heads, {whose}"
        case "rollout":
            return f"the rollout of all {layers} layers (Abnar and Zuidema 2020), {whose}"
        case "value-norm":
            return f"the last of {layers} layers, by the length of what each word adds (Kobayashi et al. 2020), {whose}"
        case _:
            return f"the last of {layers} layers, the mean over its heads, {whose}"
