"""
Pairs that may be wrong
=======================

Four clouds; left and right are meant, although above and below make as good a clustering. Thirty
pairs say so, but six of them are wrong. A mixture whose prior weighs every pair
(:class:`~sidelight.mixture.PenalizedMixture`) is told how far to trust them: a certainty of one
half says nothing, and the wrong clustering is found. With certainty 1 every pair is satisfied, the
wrong ones too, and the border moves. In between the pairs settle which clustering is meant while
the wrong ones are left violated, in red (Lu and Leen, chapter 4 of *Constrained Clustering*).
"""

import matplotlib.pyplot as plt

from sidelight import Constraints
from sidelight.datasets import make_corner_gaussians
from sidelight.display import ClusterDisplay
from sidelight.mixture import PenalizedMixture

data = make_corner_gaussians(random_state=4)
X, y = data.data, data.target
known = Constraints.sample(y, 30, protocol="disjoint", random_state=4).flip(0.2, random_state=0)


def believe(certainty):
    """The same pairs, each believed with this certainty."""
    return Constraints(
        known.must_link,
        known.cannot_link,
        n_samples=len(X),
        must_link_weight=certainty,
        cannot_link_weight=certainty,
    )


figure, axes = plt.subplots(1, 3, figsize=(13, 4.8), sharey=True, layout="constrained")
for ax, certainty in zip(axes, (0.5, 0.8, 1.0), strict=True):
    model = PenalizedMixture(2, weights_are_probabilities=True, n_init=10, random_state=0)
    model.fit(X, constraints=believe(certainty))
    ClusterDisplay.from_estimator(
        model, X, constraints=known, like=y, regions=True, names=False, legend=False, ax=ax
    )
    ax.set_title(f"certainty {certainty:g}: {model.n_violations_} of 30 pairs violated")
    ax.set_aspect("equal")
plt.show()
