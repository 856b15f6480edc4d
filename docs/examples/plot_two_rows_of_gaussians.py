"""
Two rows of Gaussians
=====================

Four clouds in two rows. Left and right are wanted, but the rows are further apart than the columns.
A mixture of two Gaussians finds the rows. Four people have sorted six points each, which links
points across the rows (solid) and keeps columns apart (dashed). k-means under these constraints
satisfies all of them and leaves everything else where it was: the linked points (drawn large) are
islands in the wrong cluster. :class:`~sidelight.mixture.ChunkletMixture` sums over the labellings
that comply, so that linked points speak about the *shape* of the components: its Gaussians stand
upright, and points in no constraint follow (Book 2009, chapter 3).
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from sidelight import Constraints
from sidelight.cluster import COPKMeans
from sidelight.evaluation import pairwise_f1
from sidelight.mixture import ChunkletMixture, GaussianMixture

rng = np.random.default_rng(0)
column, row = np.repeat([0, 1], 100), np.arange(200) % 2
X = np.column_stack([2.4 * column, 5.0 * row]) + rng.normal(0, 0.5, (200, 2))
known = Constraints.sample(column, protocol="teachers", n_teachers=4, size=6, random_state=0)
mentioned = known.mentioned
free = np.setdiff1d(np.arange(200), mentioned)

models = {
    "GaussianMixture": GaussianMixture(2, n_init=5, random_state=0).fit(X),
    "COPKMeans": COPKMeans(2, random_state=0).fit(X, constraints=known),
    "ChunkletMixture": ChunkletMixture(2, random_state=0).fit(X, constraints=known),
}


def draw_component(ax, mean, covariance):
    """Two standard deviations."""
    variances, directions = np.linalg.eigh(covariance)
    angle = np.degrees(np.arctan2(*directions[::-1, 1]))
    width, height = 4 * np.sqrt(variances[::-1])
    ax.add_patch(Ellipse(mean, width, height, angle=angle, fill=False, color="0.2", lw=1.5))


figure, axes = plt.subplots(1, 3, figsize=(11, 4.8), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    ax.scatter(*X.T, c=model.labels_, cmap="Set2", s=14, vmin=0, vmax=7)
    if name != "GaussianMixture":
        for pairs, style in ((known.must_link, "-"), (known.cannot_link, ":")):
            for i, j in pairs:
                ax.plot(*X[[i, j]].T, style, color="0.6", lw=0.6, zorder=0)
        ax.scatter(
            *X[mentioned].T,
            c=model.labels_[mentioned],
            cmap="Set2",
            s=70,
            vmin=0,
            vmax=7,
            edgecolors="0.2",
        )
    for s in range(2) if hasattr(model, "covariances_") else ():
        draw_component(ax, model.means_[s], model.covariances_[s])
    score = pairwise_f1(column[free], model.labels_[free])
    ax.set_title(f"{name}\npairwise F1 of the other points: {score:.2f}")
    ax.set_aspect("equal")
plt.show()
