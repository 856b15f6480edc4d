"""
Clusters of any shape: mixtures of kernel densities
===================================================

Rings and moons are no Gaussians, and k-means cuts them like cake. ``NonparametricMixture`` gives
every cluster its own kernel density: a profile says how much each row counts in it. Since a row
must not explain itself, the profiles are learned from leave-one-out densities. The lines are levels
of the densities of the two clusters; the size of a point is its share in the profile of its
cluster.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from sidelight import Constraints
from sidelight.cluster import KMeans
from sidelight.datasets import make_rings
from sidelight.evaluation import adjusted_rand_index
from sidelight.mixture import GaussianMixture, NonparametricMixture

rings = make_rings(150, random_state=0)
problems = {
    "rings": (rings.data, rings.target),
    "moons": make_moons(300, noise=0.08, random_state=0),
}
colors = np.array(["#1b9e77", "#d95f02"])


def draw_densities(ax, model, X):
    low, high = X.min(axis=0) - 0.2, X.max(axis=0) + 0.2
    across, up = np.meshgrid(np.linspace(low[0], high[0], 90), np.linspace(low[1], high[1], 90))
    grid = np.column_stack([across.ravel(), up.ravel()])
    joint = np.exp(model.score_samples(grid))[:, None] * model.predict_proba(grid)
    for density, color in zip(joint.T, colors, strict=True):
        levels = density.max() * np.array([0.05, 0.2, 0.5])
        ax.contour(across, up, density.reshape(across.shape), levels, colors=color, linewidths=0.8)


figure, axes = plt.subplots(2, 3, figsize=(11, 7), layout="constrained")
for row, (X, y) in zip(axes, problems.values(), strict=True):
    methods = {
        "KMeans": KMeans(2, random_state=0),
        "GaussianMixture": GaussianMixture(2, n_init=5, random_state=0),
        "NonparametricMixture": NonparametricMixture(2, random_state=0),
    }
    for ax, (name, model) in zip(row, methods.items(), strict=True):
        labels = model.fit(X).labels_
        sizes = np.full(len(X), 8.0)
        if name == "NonparametricMixture":
            sizes = 3 + 1200 * model.profiles_[np.arange(len(X)), labels]
        ax.scatter(*X.T, c=colors[labels], s=np.minimum(sizes, 60), alpha=0.7, linewidths=0)
        if name != "KMeans":
            draw_densities(ax, model, X)
        ax.set_title(f"{name}, ARI {adjusted_rand_index(y, labels):.2f}")
        ax.set_aspect("equal")
        ax.set_xticks([])
        ax.set_yticks([])
plt.show()

# %%
# The width of the kernels decides. Forty pairs choose it: at each percentile of the distances, ten
# starts are made, and the one whose starts satisfy the most pairs on average is taken. The pairs do
# not enter the fits themselves, so that they judge fairly. Some starts fail at every width, so the
# averages differ less than the best starts do; the width that they choose is a good one.

X, y = problems["rings"]
known = Constraints.sample(y, 40, random_state=0)
model = NonparametricMixture(2, random_state=0).fit(X, constraints=known)
search = model.search_
scores = [
    adjusted_rand_index(y, NonparametricMixture(2, bandwidth=width, random_state=0).fit(X).labels_)
    for width in search["bandwidth"]
]

figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
ax.errorbar(
    search["percentile"],
    search["mean_satisfaction"],
    search["std_satisfaction"],
    marker="o",
    capsize=3,
    label="pairs satisfied, mean and deviation of ten starts",
)
ax.plot(search["percentile"], scores, "s--", color="0.5", label="ARI of the best start")
chosen = search["percentile"][search["bandwidth"] == model.bandwidth_]
ax.axvline(chosen[0], color="0.8", zorder=0)
ax.set_xlabel("bandwidth: percentile of the distances")
ax.set_ylim(-0.1, 1.1)
ax.legend(fontsize="small")
plt.show()
