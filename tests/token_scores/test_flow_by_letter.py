"""The flow term by term: against the paper's formulas for two labels, written as loops."""

import pytest
import torch
from torch import Tensor

from heedful.data.batching import EncodedSplit, collate
from heedful.models.attention_model import AttentionModel
from heedful.models.trace import trace
from heedful.token_scores import flow, item_polarity
from support.token_flow import VOCABULARY, problem


class PaperSums:
    """The paper's sums over texts and places for two labels, written as loops over a real trace."""

    def __init__(self, model: AttentionModel, split: EncodedSplit, token: int):
        self.texts = []
        with torch.no_grad():
            for number, text in enumerate(split.texts):
                seen = trace(model, collate(split, [number]))
                y = 2 * int(split.labels[number]) - 1
                beta = 1 - torch.sigmoid(y * seen.logits[0, 1])
                each = item_polarity(model, seen.encoded)[0]
                self.texts.append((text.tolist(), y * beta * seen.attention[0], each, seen.attention[0] @ each))
        self.token = token

    def over(self, value, only_token=False, centred=False) -> Tensor:
        """The mean over texts of the sum over places of c_tj (or c_tj (s_tj - s_t)) times the value of the token."""
        total = torch.zeros((), dtype=torch.float64)
        for text, c, each, mean in self.texts:
            for place, token in enumerate(text):
                if not only_token or token == self.token:
                    total = total + c[place] * (each[place] - mean if centred else 1) * value(token)
        return total / len(self.texts)

    @property
    def pi(self) -> Tensor:
        return self.over(lambda token: 1.0, only_token=True)

    @property
    def rho(self) -> Tensor:
        return self.over(lambda token: 1.0, only_token=True, centred=True)


def assert_letters(terms: dict[str, Tensor], token: int, wanted: dict[str, Tensor]) -> None:
    assert terms.keys() == wanted.keys()
    for letter, term in wanted.items():
        torch.testing.assert_close(terms[letter][token], term, atol=1e-12, rtol=0, msg=letter)


@pytest.mark.parametrize("seed", [0, 1])
def test_dot_attention_on_embeddings_has_the_six_terms_of_equations_19_and_27(seed):
    model, split = problem(seed=seed, head_bias=False)
    e, terms = model.embedding.weight.detach(), flow(model, split).by_letter()
    V, W, scale = model.attention.query.weight[0].detach(), model.head.linear.weight[0].detach(), 1.7
    for token in (*split.texts[0].tolist(), VOCABULARY - 1):
        sums = PaperSums(model, split, token)
        wanted = {
            "A": (V @ W) / scale * sums.rho,
            "B": (W @ W) * sums.pi,
            "C": sums.over(lambda u, token=token: e[token] @ e[u]),
            "D": (V @ W) * scale / scale**2 * sums.pi,
            "E": (V @ V) / scale**2 * sums.rho,
            "F": sums.over(lambda u, token=token: e[token] @ e[u], centred=True) / scale**2,
        }
        assert_letters(terms, token, wanted)


def test_an_affine_map_has_ten_terms():
    model, split = problem("affine", head_bias=False)
    e, terms = model.embedding.weight.detach(), flow(model, split).by_letter()
    V, W, scale = model.attention.query.weight[0].detach(), model.head.linear.weight[0].detach(), 1.7
    M = model.encoder.layers.weight.detach()
    h, V_, W_ = e @ M.T, M.T @ V, M.T @ W
    for token in split.texts[0].tolist():
        sums = PaperSums(model, split, token)

        def product(vectors, centred=False, sums=sums, token=token):
            return sums.over(lambda u: vectors[token] @ vectors[u], centred=centred)

        wanted = {
            "A": (W_ @ V_) * sums.rho / scale,
            "B": (W_ @ W_) * sums.pi,
            "C": product(h),
            "D": (W_ @ V_) * sums.pi / scale,
            "E": (V_ @ V_) * sums.rho / scale**2,
            "F": product(h, centred=True) / scale**2,
            "A_encoder": (V @ W) / scale * product(e, centred=True),
            "B_encoder": (W @ W) * product(e),
            "D_encoder": (V @ W) / scale * product(e),
            "E_encoder": (V @ V) / scale**2 * product(e, centred=True),
        }
        assert_letters(terms, token, wanted)


def test_additive_attention_has_the_exact_terms():
    model, split = problem(attention="additive", head_bias=False)
    e, terms = model.embedding.weight.detach(), flow(model, split).by_letter()
    A, c = model.attention.hidden.weight.detach(), model.attention.hidden.bias.detach()
    v, W = model.attention.score.weight[0].detach(), model.head.linear.weight[0].detach()
    bent = (e @ A.T + c).tanh()
    slope = 1 - bent**2
    for token in split.texts[0].tolist():
        sums, G = PaperSums(model, split, token), A.T @ (slope[token] * v)

        def kernel(u, token=token):
            straight = (e[token] @ e[u] + 1) * (v * slope[token] * slope[u]) @ v
            return straight + bent[token] @ bent[u]

        wanted = {
            "A": (G @ W) * sums.rho,
            "B": (W @ W) * sums.pi,
            "C": sums.over(lambda u, token=token: e[token] @ e[u]),
            "D": (G @ W) * sums.pi,
            "E": (G @ G) * sums.rho,
            "F": sums.over(kernel, centred=True),
        }
        assert_letters(terms, token, wanted)


@pytest.mark.parametrize(("size", "least", "most"), [(0.1, 0, 0.05), (3.0, 0.2, 100)])
def test_taking_tanh_for_straight_is_close_for_small_embeddings_alone(size, least, most):
    """The supplement's additive form takes tanh x = x, and so slopes of 1."""
    model, split = problem(attention="additive", head_bias=False)
    with torch.no_grad():
        model.attention.hidden.bias.zero_()
        model.embedding.weight.uniform_(-size, size, generator=torch.Generator().manual_seed(0))
    e, A, v = model.embedding.weight.detach(), model.attention.hidden.weight.detach(), model.attention.score.weight[0]
    V, W, v = A.T @ v.detach(), model.head.linear.weight[0].detach(), v.detach()
    exact, off = flow(model, split).attention, []
    for token in split.texts[0].tolist():
        sums = PaperSums(model, split, token)

        def straight(u, token=token):
            return (e[token] @ e[u] + 1) * (v @ v) + (A @ e[token]) @ (A @ e[u])

        first = (V @ V) * sums.rho + (V @ W) * sums.pi + sums.over(straight, centred=True)
        off.append(float((first - exact.total[token]).abs() / exact.total.abs().max()))
    assert least <= max(off) < most
