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

from sidelight import Constraints
from sidelight.cluster import COPKMeans
from sidelight.display import ClusterDisplay
from sidelight.evaluation import pairwise_f1
from sidelight.mixture import ChunkletMixture, GaussianMixture

rng = np.random.default_rng(0)
column, row = np.repeat([0, 1], 100), np.arange(200) % 2
X = np.column_stack([2.4 * column, 5.0 * row]) + rng.normal(0, 0.5, (200, 2))
known = Constraints.sample(column, protocol="teachers", n_teachers=4, size=6, random_state=0)
free = np.setdiff1d(np.arange(200), known.mentioned)

models = {
    "GaussianMixture": GaussianMixture(2, n_init=5, random_state=0).fit(X),
    "COPKMeans": COPKMeans(2, random_state=0).fit(X, constraints=known),
    "ChunkletMixture": ChunkletMixture(2, random_state=0).fit(X, constraints=known),
}

figure, axes = plt.subplots(1, 3, figsize=(12, 5.4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    given = None if name == "GaussianMixture" else known
    size = np.where(np.isin(np.arange(200), free) | (given is None), 16, 60)
    ClusterDisplay.from_estimator(
        model, X, constraints=given, like=column, names=False, legend=False, s=size, ax=ax
    )
    score = pairwise_f1(column[free], model.labels_[free])
    ax.set_title(f"{name}\npairwise F1 of the other points: {score:.2f}")
    ax.set_aspect("equal")
plt.show()
