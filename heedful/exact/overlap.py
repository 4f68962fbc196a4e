"""The divergence of attentions, item by item, in numpy: see adversary.py for the formula."""

from math import log

import numpy as np
from jaxtyping import Float

TINY = np.finfo(float).tiny


def times_log(x: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """Each x ln x; 0 at 0."""
    return x * np.log(x + TINY)


def overlap_loss(weight: Float[np.ndarray, "*#n"], share: Float[np.ndarray, "*#n"]) -> Float[np.ndarray, "..."]:
    """As `adversary.loss_of_overlap`: what an item with these two weights adds to the divergence less ln 2.

    >>> overlap_loss(np.array([0.5, 0.5]), np.array([0.0, 0.5])).round(4)
    array([ 0.    , -0.3466])
    """
    return (times_log(weight) + times_log(share) - times_log(weight + share)) / 2


def divergence(weight: Float[np.ndarray, "*#n item"], other: Float[np.ndarray, "*#n item"]) -> Float[np.ndarray, "..."]:
    """Jensen-Shannon divergence; items where `other` has no weight may be left out of both.

    >>> divergence(np.array([[0.75, 0.25]]), np.array([[0.0, 1.0]])).round(4)
    array([0.3804])
    """
    return log(2) + overlap_loss(weight, other).sum(-1)
