"""
Pairs that teach the metric
===========================

Three long thin clusters side by side: they differ along one direction only, and what varies most
has nothing to do with them. k-means cuts across. Sixty statements about pairs do not change that
for PCKMeans: Euclidean distance outweighs them, and hardly more than the rows that are mentioned
move. MPCKMeans learns from the violated pairs how to measure. The ellipses are all the points at
the same learned distance from their center, twice the typical one: one shape for all clusters with
a shared metric, a shape for each with a metric per cluster.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight import Constraints
from sidelight.cluster import KMeans, MPCKMeans, PCKMeans
from sidelight.display import ClusterDisplay, PairDistancesDisplay
from sidelight.evaluation import adjusted_rand_index

rng = np.random.default_rng(0)
y = np.repeat([0, 1, 2], 150)
along = rng.normal(size=450) * np.array([4.0, 4.0, 2.0])[y]
across = 2.0 * y + rng.normal(size=450) * np.array([0.25, 0.25, 0.6])[y]
turn = np.array([[np.cos(0.5), np.sin(0.5)], [-np.sin(0.5), np.cos(0.5)]])
X = np.column_stack([along, across]) @ turn
known = Constraints.sample(y, 60, random_state=0)

PRICE = "PCKMeans: pairs at a price"
fits = {
    "KMeans: nothing known": KMeans(3, random_state=0),
    PRICE: PCKMeans(3, random_state=0),
    "MPCKMeans: one metric": MPCKMeans(3, random_state=0),
    "MPCKMeans: a metric per cluster": MPCKMeans(3, metric_type="per-cluster", random_state=0),
}
truth = ClusterDisplay.from_labels(X, y)
truth.ax_.set(title="What is meant", aspect="equal")
plt.show()

# %%
# Each method has the same rows, and all but the first the same pairs.

figure, axes = plt.subplots(2, 2, figsize=(12, 9), layout="constrained")
for ax, (title, model) in zip(axes.flat, fits.items(), strict=True):
    given = None if isinstance(model, KMeans) else known
    model.fit(X, constraints=given)
    score = adjusted_rand_index(y, model.labels_)
    ClusterDisplay.from_estimator(
        model, X, constraints=given, like=y, names=False, legend=model is fits[PRICE], ax=ax
    )
    ax.set_title(f"{title}\nARI {score:.2f}, {model.n_violations_} pairs violated")
    ax.set_aspect("equal")
plt.show()

# %%
# What the metric did to pairs that it has *not* seen: those that belong together come close, those
# that do not are taken apart.

unseen = Constraints.sample(y, 400, random_state=1)
PairDistancesDisplay.from_estimator(fits["MPCKMeans: one metric"], X, unseen)
plt.show()
