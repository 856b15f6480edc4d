"""
A roll by many methods, and links that repair a map
===================================================

A sheet rolled up in space, by the methods that know distances or kernels only and by those that
know neighbors. The color is the position along the sheet: a map is right where it runs from end to
end.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from sidelight import Constraints
from sidelight.datasets import make_swiss_roll
from sidelight.evaluation import linear_recovery
from sidelight.manifold import (
    ClassicalScaling,
    Isomap,
    KernelPCA,
    LandmarkIsomap,
    LaplacianEigenmap,
    LocallyLinearEmbedding,
    SammonMapping,
)

roll = make_swiss_roll(1000, random_state=0)
methods = {
    "PCA": PCA(2),
    "classical scaling": ClassicalScaling(),
    "Sammon": SammonMapping(),
    "kernel PCA": KernelPCA(kernel="rbf", gamma=0.01),
    "Isomap": Isomap(),
    "landmark Isomap": LandmarkIsomap(random_state=0),
    "LLE": LocallyLinearEmbedding(n_neighbors=12),
    "Laplacian eigenmap": LaplacianEigenmap(),
}
figure, axes = plt.subplots(2, 4, figsize=(12, 6), layout="constrained")
for ax, (name, method) in zip(axes.ravel(), methods.items(), strict=True):
    places = method.fit_transform(roll.data)
    recovered = linear_recovery(roll.coordinates, places)
    ax.scatter(*places.T, c=roll.coordinates[:, 0], s=4)
    ax.set(title=f"{name}: {recovered:.2f}", xticks=[], yticks=[])
figure.suptitle("Share of the sheet that is linear in the map")
plt.show()

# %%
# With too many neighbors edges lead from sheet to sheet, and all paths through them. Ten
# cannot-links between such rows cut the edges around them too.

roll = make_swiss_roll(800, random_state=0)
crowded = Isomap(n_neighbors=15).fit(roll.data)
edges = crowded.graph_.tocoo()
along = np.abs(roll.coordinates[edges.row, 0] - roll.coordinates[edges.col, 0])
wrong = np.column_stack([edges.row, edges.col])[along > 3 * edges.data]
links = np.random.default_rng(0).permutation(wrong)[:10]
apart = Constraints(cannot_link=links, n_samples=800)

# %%
# Must-links do the opposite: here they join the two ends of the sheet, and the map bends into a
# ring.

order = np.argsort(roll.coordinates[:, 0])
together = Constraints(must_link=np.column_stack([order[:25], order[-25:]]), n_samples=800)

maps = {
    "15 neighbors": crowded,
    "ten cannot-links": Isomap(n_neighbors=15).fit(roll.data, constraints=apart),
    "10 neighbors": Isomap().fit(roll.data),
    "25 must-links": Isomap().fit(roll.data, constraints=together),
}
figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
for ax, (name, model) in zip(axes, maps.items(), strict=True):
    ax.scatter(*model.embedding_.T, c=roll.coordinates[:, 0], s=4)
    known = {"ten cannot-links": apart.cannot_link, "25 must-links": together.must_link}
    for pair in known.get(name, []):
        ax.plot(*model.embedding_[pair].T, color="red", lw=0.8)
    ax.set(title=name, xticks=[], yticks=[], aspect="equal")
plt.show()
