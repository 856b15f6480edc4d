"""
Some of each kind in every cluster
==================================

Households around a few villages are divided among five nurses. A few households have somebody who
can drive (triangles), and every nurse needs at least eight of them to share the ways; every nurse
also gets at least sixty households. k-means leaves some nurses without a driver. Conditions say how
many rows of a kind every cluster has to hold, and the cheapest assignment that meets them is taken.
Crosses mark households that are nearer to another center.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight.cluster import KMeans
from sidelight.constraints import Conditions
from sidelight.privacy import ExistentialKMeans

rng = np.random.default_rng(4)
villages = rng.uniform(0, 10, size=(8, 2))
X = villages[rng.choice(8, size=500, p=rng.dirichlet(np.full(8, 2.0)))]
X = X + rng.normal(scale=0.9, size=X.shape)
drives = rng.random(500) < 0.02 + 0.2 * (X[:, 0] > 6)
wanted = Conditions({"drives": (drives, 8)}).at_least(60, name="households")

models = {
    "k-means": KMeans(5, random_state=0).fit(X),
    "8 drivers and 60 households each": ExistentialKMeans(5, random_state=0).fit(
        X, conditions=wanted
    ),
}

# %%
# Below each map the number of drivers in every cluster, with the bound as a line.

figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), height_ratios=(3, 1), layout="constrained")
colors = plt.get_cmap("tab10")
for (above, below), (title, model) in zip(axes.T, models.items(), strict=True):
    labels, centers = model.labels_, model.cluster_centers_
    longer = model.objective_ / models["k-means"].objective_ - 1
    above.scatter(*X[~drives].T, s=8, c=colors(labels[~drives]), alpha=0.6)
    above.scatter(*X[drives].T, s=45, c=colors(labels[drives]), marker="^", edgecolor="black")
    away = getattr(model, "not_nearest_", np.empty(0, int))
    above.scatter(*X[away].T, s=30, c="black", marker="x", linewidth=0.8)
    above.scatter(*centers.T, s=160, c=colors(range(5)), marker="*", edgecolor="black")
    above.set_aspect("equal")
    above.set_title(title if title == "k-means" else f"{title}: {longer:+.0%}")
    counts = wanted.counts(labels, 5)
    below.bar(range(5), counts[0], color=colors(range(5)))
    below.axhline(8, color="black", linewidth=1)
    below.set(xlabel="cluster", ylabel="drivers", xticks=range(5))
plt.show()
