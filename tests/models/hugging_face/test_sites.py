import pytest

from heedful.errors import SettingError
from heedful.models.hugging_face.sites import SCOPES, Site, check_site, parse_scope, parse_site
from heedful.models.hugging_face.structure import Call, ModelStructure, ReadRows

WRITTEN = ("last", "layer:3", "head:3.7", "rollout", "value-norm", "all")


def anatomy(layers=6, heads=8, pooled=()):
    calls = tuple(Call(heads, f"layer.{n}", n, is_over_tokens=n not in pooled) for n in range(layers))
    return ModelStructure(calls, ReadRows(0), padding_is_ignored=True, is_time_first=False)


def test_sites_are_written_as_they_are_read():
    for written in WRITTEN:
        assert str(parse_site(written)) == written


def test_other_words_are_refused():
    for written in ["", "first", "layer", "layer:", "layer:-1", "head:3", "head:3.x", "Last"]:
        with pytest.raises(SettingError, match=r"must be one of last, layer:3, head:3\.7, rollout, value-norm, all"):
            parse_site(written)


def test_scopes_are_named():
    assert [parse_scope(scope) for scope in SCOPES] == ["row", "row-all-layers", "all-rows"]
    with pytest.raises(SettingError, match="unknown scope 'all-row'. Did you mean 'all-rows'?"):
        parse_scope("all-row")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("layer:6", "a layer from 0 to 5; it was 'layer:6', and the model has 6 layers"),
        ("head:7.0", "a layer from 0 to 5; it was 'head:7.0'"),
        ("head:5.8", "a head from 0 to 7; it was 'head:5.8', and layer 5 has 8 heads"),
    ],
)
def test_ranges_are_named(written, message):
    with pytest.raises(SettingError, match=message):
        check_site(parse_site(written), "row", anatomy(), is_encoder_decoder=False)


def test_a_rollout_needs_layers_that_attend_to_the_same_tokens():
    with pytest.raises(SettingError, match="an encoder-decoder's do not"):
        check_site(Site("rollout"), "row", anatomy(), is_encoder_decoder=True)


def test_pooled_layers_are_refused_where_they_would_be_needed():
    pooled = anatomy(pooled=(1, 2))
    check_site(Site("last"), "row", pooled, is_encoder_decoder=False)
    for site, scope in ((Site("layer", 1), "row"), (Site("all"), "row"), (Site("rollout"), "row")):
        with pytest.raises(SettingError, match=r"layer 1 of this model does not .* Layers that do: 0, 3, 4, 5\."):
            check_site(site, scope, pooled, is_encoder_decoder=False)
    with pytest.raises(SettingError, match="scope 'row-all-layers' needs layers"):
        check_site(Site("last"), "row-all-layers", pooled, is_encoder_decoder=False)
