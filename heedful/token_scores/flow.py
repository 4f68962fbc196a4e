"""Gradient flow: how fast training moves the scores of every token, term by term.

Sun and Lu (2020, section 4 and supplementary material) take gradient descent in the limit of small steps, with
d theta / d tau = -(gradient of the mean loss), and write what it does to a token's polarity s_e = W . h_e and to its
attention score a_e as sums of terms. Here these are exact, for all tokens of the vocabulary at once.
"""

from dataclasses import dataclass, replace

from jaxtyping import Float
from torch import Tensor

from heedful.data.batching import EncodedSplit
from heedful.errors import SettingError
from heedful.models.attention_model import AttentionModel
from heedful.token_scores.token_gradients import Pulls, pulls
from heedful.token_scores.token_view import Sight, sight_of


@dataclass(frozen=True)
class Terms:
    """The rate of change of one score of each token, by what it comes from; all in float64.

    Args:
        label: the errors of the texts that the token is in move its own embedding so that it says more for their label.
        weight: the same errors move its own embedding so that its weight suits them.
        layer: the layer that the score is read with moves: the head for polarity, attention for the attention score.
        encoder_label: as label, by the map before attention, which all tokens share; None where there is no such map.
        encoder_weight: as weight, by that map.
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
    """What training does to each token's two scores.

    In the paper's letters (equations 19 and 27) A, B, C are weight, label and layer of polarity, and D, E, F are
    label, weight and layer of attention. Polarity has one number a token for two labels, for more one a label.
    """

    polarity: Terms
    attention: Terms

    def by_letter(self) -> dict[str, Float[Tensor, "token *classes"]]:
        """Every term under the paper's letter; with an affine encoder those of its map as well, as "A_encoder"."""
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

    since a sum over places is one over types: all terms take O(places + V d). The other forms replace V / lambda by
    G_e = d a_e / d h_e, the last sum by that over attention's own parameters, and with h = M e add what M does.

    Covered are two or more labels, dot attention with any `scale` and additive attention (exact, where the paper's
    supplement takes tanh x = x), with the encoders 'identity' and 'affine', any temperature T (which divides rho), with
    or without a bias in the head and start and end symbols. The loss is the mean of -ln p(label) over the split, no
    dropout, no weights of classes; every parameter is trained by the same step. Other models are refused.

    Differs from the supplement in two terms for more than two labels, which are misprinted there: it leaves out the
    attention weight in pi and rho for the polarity, and divides F by lambda rather than lambda^2.

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
    sight = sight_of(model)
    found = pulls(split, sight.polarity, sight.reading.scores, sight.bias, model.temperature)
    mean = Pulls(found.label / len(split.texts), found.weight / len(split.texts))
    own = _own_moves(sight, mean)
    return own if sight.matrix is None else _with_shared_moves(own, sight, mean)


def has_flow(model: AttentionModel) -> bool:
    """Whether `flow` covers the model."""
    try:
        sight_of(model)
    except SettingError:
        return False
    return True


def _own_moves(sight: Sight, pull: Pulls) -> Flow:
    """What comes through each token's own embedding and through the two layers after the encoder."""
    head, slopes = sight.head, sight.reading.slopes
    if sight.matrix is not None:  # as the embeddings see them: the paper's W' = M'W, V' = M'V
        head, slopes = head @ sight.matrix, slopes @ sight.matrix
    products = slopes @ head.T
    polarity = Terms(
        label=_squeezed(pull.label @ (head @ head.T)),
        weight=_squeezed(pull.weight[:, None] * products),
        layer=_squeezed(_summed_products(sight.hidden, pull.label)),
    )
    attention = Terms(
        label=(pull.label * products).sum(-1),
        weight=pull.weight * slopes.square().sum(-1),
        layer=sight.reading.moves(pull.weight),
    )
    return Flow(polarity, attention)


def _with_shared_moves(own: Flow, sight: Sight, pull: Pulls) -> Flow:
    """That, and what comes through the encoder's map: it moves every state by e . u of the pull on each u's."""
    head, slopes = sight.head, sight.reading.slopes
    label = _summed_products(sight.embedded, pull.label)
    weight = _summed_products(sight.embedded, pull.weight[:, None] * slopes)
    polarity = replace(
        own.polarity, encoder_label=_squeezed(label @ (head @ head.T)), encoder_weight=_squeezed(weight @ head.T)
    )
    attention = replace(
        own.attention,
        encoder_label=(label * (slopes @ head.T)).sum(-1),
        encoder_weight=(weight * slopes).sum(-1),
    )
    return Flow(polarity, attention)


def _summed_products(
    vectors: Float[Tensor, "token width"], pull: Float[Tensor, "token column"]
) -> Float[Tensor, "token column"]:
    """Sum over tokens u of (e . u) pull(u), for every e: never the V x V products themselves."""
    return vectors @ (vectors.T @ pull)


def _squeezed(term: Float[Tensor, "token rows"]) -> Float[Tensor, "token *classes"]:
    return term[:, 0] if term.shape[1] == 1 else term
