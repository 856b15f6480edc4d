"""
Error against the number of clusters: global k-means and random starts
======================================================================

A random start may land anywhere between good and bad, and more so with more clusters. Global
k-means adds one centre at a time where it pays most: one run, nothing left to chance, and the
solutions for all smaller numbers of clusters come with it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from sidelight.cluster import GlobalKMeans, KMeans

X, _ = make_blobs(300, centers=12, cluster_std=0.6, random_state=3)
numbers = np.arange(1, 19)

paths = {
    "global, every candidate tried": GlobalKMeans(18, search="full").fit(X).search_["inertia"],
    "global, fast": GlobalKMeans(18).fit(X).search_["inertia"],
    "global, fast, kd-tree": GlobalKMeans(18, candidates="kd-tree").fit(X).search_["inertia"],
}
starts = np.array(
    [
        [
            KMeans(k, init="random", n_init=1, random_state=seed).fit(X).inertia_
            for seed in range(25)
        ]
        for k in numbers
    ]
)

# %%
# The band is what 25 random starts find. It is widest near the true number of clusters, 12, where
# the bend of the curve would tell it; the global searches stay at its lower edge or below. They
# need one run each, but the bends at 4 and 5 clusters show that the fast ones can be misled.

shown = numbers >= 3
lowest = paths["global, every candidate tried"][:, None]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, base in ((left, np.ones_like(lowest)), (right, lowest)):
    spread = (starts / base)[shown]
    ax.fill_between(
        numbers[shown],
        spread.min(axis=1),
        spread.max(axis=1),
        color="0.88",
        label="random starts, best to worst",
    )
    ax.plot(numbers[shown], np.median(spread, axis=1), color="0.5", label="random starts, median")
    for (label, errors), style in zip(paths.items(), ("-o", "--s", ":^"), strict=True):
        ax.plot(numbers[shown], (errors / base[:, 0])[shown], style, markersize=4, label=label)
    ax.axvline(12, color="0.7", linewidth=0.8)
    ax.set_xlabel("number of clusters")
left.set_ylabel("error")
left.set_yscale("log")
left.legend(fontsize="small")
right.set_ylabel("error / error of the exhaustive search")
plt.show()
