"""
Pairs that may be wrong
=======================

Four clouds; left and right are meant, although above and below make as good a clustering. Thirty
pairs say so, but six of them are wrong (red). A mixture whose prior weighs every pair
(:class:`~sidelight.mixture.PenalizedMixture`) is told how far to trust them: a certainty of one
half says nothing, and the wrong clustering is found. With certainty 1 every pair is satisfied, the
wrong ones too, and the border is blurred and moves. In between the pairs settle which clustering is
meant while the wrong ones are left violated (Lu and Leen, chapter 4 of *Constrained Clustering*).
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight import Constraints
from sidelight.datasets import make_corner_gaussians
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


grid = np.stack(np.meshgrid(np.linspace(-2.4, 2.4, 200), np.linspace(-2.4, 2.4, 200)), axis=-1)
figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True, layout="constrained")
for ax, certainty in zip(axes, (0.5, 0.8, 1.0), strict=True):
    model = PenalizedMixture(2, certainty=True, n_init=10, random_state=0)
    model.fit(X, constraints=believe(certainty))
    left = int(model.means_[:, 0].argmin())
    side = model.predict_proba(grid.reshape(-1, 2))[:, left].reshape(200, 200)
    ax.contourf(grid[..., 0], grid[..., 1], side, levels=20, cmap="PuOr", alpha=0.35)
    for pairs, style in ((known.must_link, "-"), (known.cannot_link, ":")):
        together = style == "-"
        for i, j in pairs:
            wrong = (y[i] == y[j]) != together
            ax.plot(*X[[i, j]].T, style, color="tab:red" if wrong else "0.35", lw=1.2)
    ax.scatter(*X.T, c=model.labels_ == left, cmap="PuOr", s=14, edgecolors="0.3", linewidths=0.4)
    ax.set_title(f"certainty {certainty:g}: {model.n_violations_} of 30 pairs violated")
    ax.set_aspect("equal")
plt.show()
