"""Gradient flow: how fast training moves the scores of every token, term by term.

Sun and Lu (2020, section 4 and supplementary material) take gradient descent in the limit of small steps,
d theta / d tau = -(gradient of the mean loss), and write the rates at which it changes a token's polarity s_e = W . h_e
and attention score a_e as sums of terms. Here they are computed exactly, for all tokens of the vocabulary at once.
"""

from dataclasses import dataclass, replace

from jaxtyping import Float
from torch import Tensor

from heedful.data.batching import EncodedSplit
from heedful.errors import SettingError
from heedful.models.attention_model import AttentionModel
from heedful.token_scores.token_view import TokenGradients, TokenView, token_gradients, token_view


@dataclass(frozen=True)
class Terms:
    """The rate of change of one score of each token, split by cause; all in float64.

    Args:
        label: the token's own embedding moves along the gradient to its polarity, towards the labels of its texts.
        weight: the token's own embedding moves along the gradient to its attention score.
        layer: the layer that computes the score moves: the head for polarity, attention for the attention score.
        encoder_label: as label, through the map before attention, which all tokens share; None if there is no such map.
        encoder_weight: as weight, through that map.
    """

    label: Float[Tensor, "token *classes"]
    weight: Float[Tensor, "token *classes"]
    layer: Float[Tensor, "token *classes"]
    encoder_label: Float[Tensor, "token *classes"] | None = None
    encoder_weight: Float[Tensor, "token *classes"] | None = None

    @property
    def total(self) -> Float[Tensor, "token *classes"]:
        """The sum of the terms: d score / d tau."""
        terms = self.label + self.weight + self.layer
        if self.encoder_label is None or self.encoder_weight is None:
            return terms
        return terms + self.encoder_label + self.encoder_weight


@dataclass(frozen=True)
class Flow:
    """How training changes each token's two scores.

    In the paper's letters (equations 19 and 27) A, B, C are weight, label and layer of polarity, and D, E, F are
    label, weight and layer of attention. Polarity is one number per token for two labels, one per token and label for
    more.
    """

    polarity: Terms
    attention: Terms

    def by_letter(self) -> dict[str, Float[Tensor, "token *classes"]]:
        """Every term under the paper's letter; an affine encoder adds the terms of its map, as "A_encoder"."""
        polarity, attention = self.polarity, self.attention
        terms = {
            "A": polarity.weight,
            "B": polarity.label,
            "C": polarity.layer,
            "D": attention.label,
            "E": attention.weight,
            "F": attention.layer,
            "A_encoder": polarity.encoder_weight,
            "B_encoder": polarity.encoder_label,
            "D_encoder": attention.encoder_label,
            "E_encoder": attention.encoder_weight,
        }
        return {letter: term for letter, term in terms.items() if term is not None}


def flow(model: AttentionModel, split: EncodedSplit) -> Flow:
    """The terms of d s_e / d tau and d a_e / d tau for every token e of the vocabulary.

    Over texts t and places j, with attention alpha, errors r_t = onehot(label) - p and s_t = sum_j alpha_tj s_tj,

        pi(e) = sum over (t, j) = e of alpha_tj r_t,    rho(e) = sum over (t, j) = e of alpha_tj r_t . (s_tj - s_t).

    Two labels have one row of each; then r = y beta in the paper's letters. With dot attention on the embeddings,

        ds_e = [(W V) rho(e) / lambda + W W' pi(e) + sum_u pi(u) (e . u)] / m                            A + B + C
        da_e = [(W V) . pi(e) / lambda + |V|^2 rho(e) / lambda^2 + sum_u rho(u) (e . u) / lambda^2] / m    D + E + F

    since a sum over places is a sum over token types: all terms take O(places + V d). For other models, V / lambda
    becomes G_e = d a_e / d h_e, the last sum runs over attention's own parameters, and h = M e adds the terms of M.

    Covers two or more labels; dot attention with any `scale` and additive attention (exactly, where the paper's
    supplement takes tanh x = x); the encoders 'identity' and 'affine'; any temperature (another lambda); with or
    without a bias in the head, and with or without start and end symbols. The loss is the mean of -ln p(label) over the
    split, without dropout or class weights, and all parameters share one learning rate. Other models raise an error.

    For more than two labels, two terms differ from the supplement, where they are misprinted: it omits the attention
    weight in pi and rho for the polarity, and divides F by lambda rather than lambda^2.

    >>> import torch
    >>> from heedful.models.attention_model import build_model
    >>> from heedful.settings import NetworkSettings
    >>> network = NetworkSettings(encoder="identity", attention="dot", embed_size=1, head_bias=False)
    >>> model = build_model(network, vocabulary=5, classes=2)
    >>> _ = [parameter.data.fill_(1.0) for parameter in model.parameters()]
    >>> text = EncodedSplit((torch.tensor([4]),), (), (), torch.tensor([1]), framed=False)
    >>> flow(model, text).polarity.total[4]  # B + C = 2 (1 - sigmoid(1)): the token is all of the text, so A = 0
    tensor(0.5379, dtype=torch.float64)
    """
    view, texts = token_view(model), len(split.texts)
    summed = token_gradients(split, view.polarity, view.attention.scores, view.bias)
    mean = TokenGradients(summed.polarity / texts, summed.score / texts)
    terms = _own_terms(view, mean)
    return terms if view.matrix is None else _with_encoder_terms(terms, view, mean)


def has_flow(model: AttentionModel) -> bool:
    """Whether `flow` covers the model."""
    try:
        token_view(model)
    except SettingError:
        return False
    return True


def _own_terms(view: TokenView, gradients: TokenGradients) -> Flow:
    """The terms through each token's own embedding and through the two layers after the encoder."""
    head, slopes = view.head, view.attention.slopes
    if view.matrix is not None:  # as the embeddings see them: the paper's W' = M'W, V' = M'V
        head, slopes = head @ view.matrix, slopes @ view.matrix
    products = slopes @ head.T
    polarity = Terms(
        label=_squeezed(gradients.polarity @ (head @ head.T)),
        weight=_squeezed(gradients.score[:, None] * products),
        layer=_squeezed(_gram_product(view.hidden, gradients.polarity)),
    )
    attention = Terms(
        label=(gradients.polarity * products).sum(-1),
        weight=gradients.score * slopes.square().sum(-1),
        layer=view.attention.kernel_product(gradients.score),
    )
    return Flow(polarity, attention)


def _with_encoder_terms(own: Flow, view: TokenView, gradients: TokenGradients) -> Flow:
    """Those terms plus the ones through the encoder's map: h_e moves by the sum over u of (e . u) x gradient to h_u."""
    head, slopes = view.head, view.attention.slopes
    label = _gram_product(view.embedded, gradients.polarity)
    weight = _gram_product(view.embedded, gradients.score[:, None] * slopes)
    polarity = replace(
        own.polarity, encoder_label=_squeezed(label @ (head @ head.T)), encoder_weight=_squeezed(weight @ head.T)
    )
    attention = replace(
        own.attention,
        encoder_label=(label * (slopes @ head.T)).sum(-1),
        encoder_weight=(weight * slopes).sum(-1),
    )
    return Flow(polarity, attention)


def _gram_product(
    vectors: Float[Tensor, "token width"], values: Float[Tensor, "token column"]
) -> Float[Tensor, "token column"]:
    """Sum over tokens u of (e . u) values(u), for every e, without forming the V x V matrix of dot products."""
    return vectors @ (vectors.T @ values)


def _squeezed(term: Float[Tensor, "token rows"]) -> Float[Tensor, "token *classes"]:
    return term[:, 0] if term.shape[1] == 1 else term
