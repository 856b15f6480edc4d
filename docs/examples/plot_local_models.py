"""
Local models joined into one map
================================

A mixture of local linear models covers a bent surface with flat charts. Locally linear
coordination and charting arrange the charts on one map; views of the same objects are joined by a
few rows that are known to belong together.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_s_curve

from sidelight.constraints import Correspondences
from sidelight.manifold import Charting, CorrespondenceLLE, LocallyLinearCoordination
from sidelight.mixture import GaussianMixture

X, t = make_s_curve(1200, noise=0.02, random_state=0)
mixture = GaussianMixture(25, covariance_type="ppca", n_factors=2, random_state=0).fit(X)
llc = LocallyLinearCoordination(mixture=mixture).fit(X)
charting = Charting(n_charts=20, random_state=0).fit(X)

# %%
# On the left the rows with the centers of the charts, colored by the position along the S. The map
# of locally linear coordination needs an eigenproblem of 25 x 3 unknowns, that of charting one of
# 100 x 3, for five mixtures of 20 charts; both unroll the surface.

figure = plt.figure(figsize=(12, 4), layout="constrained")
ax = figure.add_subplot(1, 3, 1, projection="3d")
ax.scatter(*X.T, c=t, s=4, alpha=0.6)
ax.scatter(*mixture.means_.T, c="black", s=30)
ax.set_title("rows and 25 charts")
for place, model in ((2, llc), (3, charting)):
    ax = figure.add_subplot(1, 3, place)
    ax.scatter(*model.embedding_.T, c=t, s=4)
    ax.scatter(*model.offsets_.T, c="black", s=8)
    ax.set_title(type(model).__name__)
    ax.set_aspect("equal")
plt.show()

# %%
# Two views of one position: a spiral and a wave. Ten of 300 rows are known to show the same
# position in both. Each view has neighbors of its own, and the linked rows have one place on the
# map, which is enough to bring all others together: rows of both views with the same true position
# have nearly the same coordinate. Colors show it; circles are linked rows.

rng = np.random.default_rng(3)
u = rng.uniform(size=300)
spiral = np.column_stack([u * np.cos(9 * u), u * np.sin(9 * u)])
wave = np.column_stack([2 * u, np.sin(9 * u)])
rows = np.argsort(u)[np.linspace(0, 299, 10).astype(int)]
known = Correspondences(np.column_stack([rows, rows]), [300, 300])
model = CorrespondenceLLE(1).fit([spiral, wave], correspondences=known)

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, view, places, title in zip(
    axes, (spiral, wave), model.embeddings_, ("first view", "second view"), strict=False
):
    ax.scatter(*view.T, c=places[:, 0], s=8)
    ax.scatter(*view[rows].T, facecolors="none", edgecolors="black", s=60)
    ax.set_title(title)
for places, marker, title in zip(model.embeddings_, "ox", ("first", "second"), strict=True):
    axes[2].scatter(u, places[:, 0], s=10, marker=marker, label=f"{title} view")
axes[2].set_xlabel("true position")
axes[2].set_ylabel("coordinate on the map")
axes[2].legend()
plt.show()
