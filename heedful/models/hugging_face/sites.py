"""Sites, which attention of a transformer is shown, and scopes, where other attention is imposed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from heedful.errors import SettingError, lookup
from heedful.models.hugging_face.structure import ModelStructure

SiteKind = Literal["last", "layer", "head", "rollout", "value-norm", "all"]
Scope = Literal["row", "row-all-layers", "all-rows"]

SCOPES: dict[Scope, str] = {
    "row": "the row that the classifier reads, in the site's own layers",
    "row-all-layers": "that row in all layers",
    "all-rows": "every row in all layers",
}
"""Where other attention is imposed, in words."""

FORMS = "last, layer:3, head:3.7, rollout, value-norm, all"
"""How sites are written."""


@dataclass(frozen=True)
class Site:
    """Which attention is shown, over words; layers and heads are numbered from 0.

    `last`: the mean over heads of the last layer; `layer`: of any other; `head`: a single head; `all`: the mean over
    all heads of all layers; `rollout`: the product of all layers' means, each halved with the identity (Abnar and
    Zuidema 2020, arXiv:2005.00928); `value-norm`: in the last layer, the length of what each word adds to the row,
    weight x value after the output projection, summed over heads (Kobayashi et al. 2020, arXiv:2004.10102).
    """

    kind: SiteKind = "last"
    layer: int | None = None
    head: int | None = None

    def __str__(self) -> str:
        place = ".".join(str(number) for number in (self.layer, self.head) if number is not None)
        return f"{self.kind}:{place}" if place else self.kind

    def layers_of(self, anatomy: ModelStructure) -> range:
        """The layers in which the site's attention is, for scope `row`; a rollout ends in the last."""
        if self.layer is not None:
            return range(self.layer, self.layer + 1)
        return range(anatomy.layers) if self.kind == "all" else range(anatomy.layers - 1, anatomy.layers)


def parse_site(text: str) -> Site:
    """The site that is written so.

    >>> parse_site("head:3.7")
    Site(kind='head', layer=3, head=7)
    >>> parse_site("layer:three")
    Traceback (most recent call last):
    heedful.errors.SettingError: site must be one of last, layer:3, head:3.7, rollout, value-norm, all; it was ...
    """
    kinds: dict[str, SiteKind] = {kind: kind for kind in get_args(SiteKind)}
    if text in kinds and text not in ("layer", "head"):
        return Site(kinds[text])
    if match := re.fullmatch(r"layer:(\d{1,4})", text):
        return Site("layer", int(match[1]))
    if match := re.fullmatch(r"head:(\d{1,4})\.(\d{1,4})", text):
        return Site("head", int(match[1]), int(match[2]))
    raise SettingError(f"site must be one of {FORMS}; it was '{text}'. Layers and heads are numbered from 0.")


def parse_scope(text: str) -> Scope:
    """The scope of that name.

    >>> parse_scope("rows")
    Traceback (most recent call last):
    heedful.errors.SettingError: unknown scope 'rows'. Did you mean 'row'? Known: row, row-all-layers, all-rows.
    """
    return lookup("scope", text, {scope: scope for scope in SCOPES})


def check_site(site: Site, scope: Scope, anatomy: ModelStructure, *, is_encoder_decoder: bool) -> None:
    """Raise unless the network has that site, and attention to impose on in that scope."""
    if site.layer is not None and site.layer >= anatomy.layers:
        raise SettingError(
            f"site must name a layer from 0 to {anatomy.layers - 1}; it was '{site}', and the model has "
            f"{anatomy.layers} layers."
        )
    if site.layer is not None and site.head is not None and site.head >= anatomy.calls[site.layer].heads:
        heads = anatomy.calls[site.layer].heads
        raise SettingError(
            f"site must name a head from 0 to {heads - 1}; it was '{site}', and layer {site.layer} has {heads} heads."
        )
    if site.kind == "rollout" and is_encoder_decoder:
        raise SettingError(
            "site 'rollout' is for models in which every layer attends to the same tokens; an encoder-decoder's do "
            "not. Choose last, layer:N, head:N.M, value-norm or all."
        )
    shown = range(anatomy.layers) if site.kind == "rollout" else site.layers_of(anatomy)
    _check_over_tokens(f"site '{site}'", shown, anatomy)
    _check_over_tokens(f"scope '{scope}'", shown if scope == "row" else range(anatomy.layers), anatomy)


def _check_over_tokens(what: str, layers: Sequence[int], anatomy: ModelStructure) -> None:
    if pooled := [layer for layer in layers if not anatomy.calls[layer].is_over_tokens]:
        usable = [layer for layer, call in enumerate(anatomy.calls) if call.is_over_tokens]
        raise SettingError(
            f"{what} needs layers that attend to every token of the text; layer {pooled[0]} of this model does not "
            f"(it is pooled or windowed). Layers that do: {', '.join(map(str, usable))}."
        )
