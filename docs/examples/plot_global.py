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
from sidelight.display import SearchDisplay
from sidelight.pictures import Curve, Curves

X, _ = make_blobs(300, centers=12, cluster_std=0.6, random_state=3)

searches = {
    "global, every candidate tried": GlobalKMeans(18, method="full").fit(X),
    "global, fast": GlobalKMeans(18).fit(X),
    "global, fast, kd-tree": GlobalKMeans(18, candidates="kd-tree").fit(X),
}
numbers = np.arange(1, 19)
starts = np.array(
    [
        [
            KMeans(k, init="random", n_init=1, random_state=seed).fit(X).objective_
            for seed in range(25)
        ]
        for k in numbers
    ]
)

# %%
# Left: the band is what 25 random starts find; the three global searches, which agree here to the
# last digit, run along its lower edge. Right: how much more than the global search the best, the
# median and the worst of the 25 starts leave. They part most near the true number of clusters, 12,
# where the bend of the curve would tell it.

lowest = searches["global, every candidate tried"].search_["objective"]
relative = starts / lowest[:, None]
ratios = {"worst": np.max, "median": np.median, "best": np.min}
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
SearchDisplay.from_estimator(searches, ax=left)
band = starts.min(axis=1), starts.max(axis=1)
left.fill_between(numbers, *band, color="0.5", alpha=0.25, label="25 random starts", zorder=0)
left.set(yscale="log", ylabel="error")
left.legend()
picture = Curves(
    curves=[Curve(f"{name} of 25", numbers, one(relative, axis=1)) for name, one in ratios.items()],
    axis_titles=("number of clusters", "error / that of global k-means"),
    whole=True,
)
SearchDisplay(picture).plot(right)
for ax in (left, right):
    ax.axvline(12, color="0.6", linewidth=0.8, zorder=0)
plt.show()
