from itertools import combinations, product

import pytest
import torch

from heedful.data.batching import EncodedSplit, read
from heedful.errors import SettingError
from heedful.models.attention_model import build_model
from heedful.settings import NetworkSettings
from heedful.token_scores import NEUTRAL, OTHER, flow, global_scores, head_alignment, local_scores, measurements
from heedful.token_scores.measurements import embedding_products
from support.models import VOCABULARY, make

LABELS = ("bad", "good")
CLASSES = torch.tensor([OTHER, OTHER, OTHER, OTHER, 0, 0, 1, NEUTRAL, NEUTRAL, NEUTRAL, OTHER])
TEXTS = (torch.tensor([4, 7, 6]), torch.tensor([5]), torch.tensor([8, 9, 4, 4, 10]))
SPLIT = EncodedSplit(TEXTS, (), (), torch.tensor([0, 1, 1]), framed=False)
OF_THE_MODEL = {"V.W", "norm_V", "norm_W"}
PRODUCTS = {f"product[{a},{b}]" for a, b in combinations(("bad", "good", "(neutral)"), 2)}
PRODUCTS |= {f"product[{a},{a}]" for a in ("bad", "good", "(neutral)")}
PRODUCTS_OF_STATES = {name.replace("product", "product'") for name in PRODUCTS}
SCORES = {"polarity", "attention"}
FLOW = {f"flow_{letter}" for letter in "ABCDEF"}
ENCODER_FLOW = {f"flow_{letter}_encoder" for letter in "ABDE"}


@pytest.mark.parametrize(
    ("encoder", "more"),
    [
        ("identity", FLOW),
        ("affine", FLOW | ENCODER_FLOW | PRODUCTS_OF_STATES | {"V'.W'"}),
        ("average", set()),
        ("bilstm", {"polarity_local", "attention_local"}),
    ],
)
@pytest.mark.parametrize("attention", ["dot", "additive"])
def test_a_model_has_the_measures_that_are_known_of_it(encoder, more, attention):
    measured = measurements(make(encoder, attention), SPLIT, CLASSES, LABELS)
    assert measured.keys() == OF_THE_MODEL | PRODUCTS | SCORES | more
    for name, value in measured.items():
        assert value.shape == (
            () if name in OF_THE_MODEL | PRODUCTS | PRODUCTS_OF_STATES | {"V'.W'"} else (VOCABULARY,)
        )
        assert not value.requires_grad and value.dtype == torch.float64


def test_values_are_those_of_the_functions_they_are_named_for():
    model = make("affine", "dot")
    measured = measurements(model, SPLIT, CLASSES, LABELS)
    alone, terms = global_scores(model, VOCABULARY), flow(model, SPLIT)
    M, V, W = (
        weight.detach()
        for weight in (model.encoder.layers.weight, model.attention.query.weight[0], model.head.linear.weight[0])
    )
    wanted = {
        "polarity": alone.polarity,
        "attention": alone.attention,
        "flow_A": terms.polarity.weight,
        "flow_E_encoder": terms.attention.encoder_weight,
        "V.W": head_alignment(model)[0].detach(),
        "V'.W'": (M.T @ V) @ (M.T @ W),
        "product'[good,(neutral)]": (model.word_vectors[6] @ M.T) @ (model.word_vectors[7:10] @ M.T).mean(0),
        "norm_V": V.square().sum().sqrt(),
        "norm_W": W.square().sum().sqrt(),
    }
    torch.testing.assert_close({name: measured[name] for name in wanted}, wanted)


def test_context_adds_means_over_the_texts_read_as_they_are():
    model = make("bilstm")
    framed = EncodedSplit(
        tuple(torch.tensor([2, *text.tolist(), 3]) for text in TEXTS), (), (), SPLIT.labels, framed=True
    )
    measured = measurements(model, framed, CLASSES, LABELS)
    means = local_scores(model, read(framed, 2, torch.device("cpu")), VOCABULARY)
    torch.testing.assert_close(measured["attention_local"], means.attention, equal_nan=True)
    torch.testing.assert_close(measured["attention"], global_scores(model, VOCABULARY, framed=True).attention)


def test_more_labels_have_one_measure_each():
    labels = ("a", "b", "c")
    measured = measurements(make("identity", "dot", 3), SPLIT, CLASSES, labels)
    for name in ("polarity", "flow_A", "flow_B", "flow_C", "V.W", "norm_W"):
        assert name not in measured and {f"{name}[{label}]" for label in labels} <= measured.keys()
    assert measured["attention"].shape == measured["polarity[c]"].shape == measured["flow_D"].shape == (VOCABULARY,)


def test_the_model_is_left_as_it_was_and_dropout_plays_no_part():
    network = NetworkSettings(encoder="bilstm", embed_size=5, hidden_size=2, embedding_dropout=0.5, context_dropout=0.5)
    model = build_model(network, VOCABULARY, 2).train()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    once, again = (measurements(model, SPLIT, CLASSES, LABELS) for _ in range(2))
    torch.testing.assert_close(once, again, atol=0, rtol=0, equal_nan=True)
    assert model.training and all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    assert model.embedding.weight.dtype == torch.float32


def test_products_are_means_over_all_pairs_of_different_tokens():
    embedded = torch.randn(VOCABULARY, 3, generator=torch.Generator().manual_seed(0)).double()
    measured = embedding_products(embedded, CLASSES, LABELS)
    members = {"bad": [4, 5], "good": [6], "(neutral)": [7, 8, 9]}
    for first, second in product(members, members):
        if f"product[{first},{second}]" not in measured:
            continue
        pairs = [(a, b) for a, b in product(members[first], members[second]) if a != b]
        wanted = sum(float(embedded[a] @ embedded[b]) for a, b in pairs) / len(pairs) if pairs else torch.nan
        assert measured[f"product[{first},{second}]"].item() == pytest.approx(wanted, nan_ok=True)


def test_a_label_named_neutral_is_not_the_neutral_tokens():
    measured = embedding_products(torch.eye(VOCABULARY), CLASSES, ("bad", "neutral"))
    assert measured["product[neutral,neutral]"].isnan() and measured["product[(neutral),(neutral)]"] == 0


def test_a_model_without_polarity_is_refused():
    with pytest.raises(SettingError, match="polarity needs a linear head"):
        measurements(make(head="tanh"), SPLIT, CLASSES, LABELS)


def test_a_model_without_a_direction_of_attention_is_refused():
    with pytest.raises(SettingError, match="to have a direction V of its own"):
        measurements(make(attention="uniform"), SPLIT, CLASSES, LABELS)
