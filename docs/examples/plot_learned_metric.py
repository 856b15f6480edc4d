"""
Pairs that teach the metric
===========================

Three long thin clusters side by side: they differ along one direction only, and what varies most
has nothing to do with them. k-means cuts across. Sixty statements about pairs do not change that
for PCKMeans: Euclidean distance outweighs them, and hardly more than the rows that are mentioned
move. MPCKMeans learns from the violated pairs how to measure. The ellipses are all the points at
the same distance from their centre, twice the typical one: circles for Euclidean distance, one
shape for all clusters with a shared metric, a shape for each with a metric per cluster.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight import Constraints
from sidelight.cluster import KMeans, MPCKMeans, PCKMeans
from sidelight.evaluation import adjusted_rand_index

rng = np.random.default_rng(0)
y = np.repeat([0, 1, 2], 150)
along = rng.normal(size=450) * np.array([4.0, 4.0, 2.0])[y]
across = 2.0 * y + rng.normal(size=450) * np.array([0.25, 0.25, 0.6])[y]
turn = np.array([[np.cos(0.5), np.sin(0.5)], [-np.sin(0.5), np.cos(0.5)]])
X = np.column_stack([along, across]) @ turn
known = Constraints.sample(y, 60, random_state=0)

# %%
# The unit circle of a metric ``A`` is the image of the Euclidean one under ``A^(-1/2)``.

circle = np.array([np.cos(np.linspace(0, 2 * np.pi, 100)), np.sin(np.linspace(0, 2 * np.pi, 100))])


def draw_ellipses(ax, centers, metrics):
    for center, metric in zip(centers, metrics, strict=True):
        ellipse = 2 * np.linalg.inv(np.linalg.cholesky(metric)).T @ circle
        ax.plot(*(center[:, None] + ellipse), color="0.15", linewidth=1.5)
        ax.plot(*center, "+", color="0.15")


fits = {
    "KMeans: nothing known": KMeans(3, random_state=0),
    "PCKMeans: pairs at a price": PCKMeans(3, random_state=0),
    "MPCKMeans: one metric": MPCKMeans(3, random_state=0),
    "MPCKMeans: a metric per cluster": MPCKMeans(3, metric="per-cluster", random_state=0),
}
figure, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
for ax, (title, model) in zip(axes.flat, fits.items(), strict=True):
    model.fit(X, constraints=known)
    score = adjusted_rand_index(y, model.labels_)
    violated = known.violations(model.labels_).n
    ax.scatter(*X.T, c=model.labels_, cmap="Set2", s=10)
    if not isinstance(model, KMeans):
        for pairs, style in ((known.must_link, "-"), (known.cannot_link, ":")):
            for i, j in pairs:
                ax.plot(*X[[i, j]].T, color="0.5", linewidth=0.6, linestyle=style)
    spread = np.mean((X - model.cluster_centers_[model.labels_]) ** 2)
    metrics = getattr(model, "metrics_", np.eye(2) / spread)
    draw_ellipses(ax, model.cluster_centers_, np.broadcast_to(metrics, (3, 2, 2)))
    ax.set_title(f"{title}\nARI {score:.2f}, {violated} of {known.n_pairs} pairs violated")
    ax.set_aspect("equal")
plt.show()
