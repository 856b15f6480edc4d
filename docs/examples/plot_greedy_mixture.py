"""
A mixture that grows: greedy EM from one Gaussian to as many as the data ask for
================================================================================

Greedy EM begins with a single Gaussian and adds one component at a time, the best of many that
random splits of the data suggest. Nothing has to be initialised, and the mixtures of all smaller
numbers of components come with the last one.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from sidelight.datasets import make_separated_gaussians
from sidelight.mixture import GaussianMixture, GreedyMixture

X = make_separated_gaussians(800, n_components=10, separation=1.5, random_state=2).data
model = GreedyMixture(n_components=14, selection="bic", random_state=0).fit(X)


def draw(ax, mixture, highlight=None):
    """Ellipses at two standard deviations; the cross tells the weight of a component."""
    for s, (weight, mean, covariance) in enumerate(
        zip(mixture.weights_, mixture.means_, mixture.covariances_, strict=True)
    ):
        variances, axes = np.linalg.eigh(covariance)
        angle = np.degrees(np.arctan2(axes[1, 1], axes[0, 1]))
        width, height = 4 * np.sqrt(variances[::-1])
        color = "tab:red" if s == highlight else "tab:blue"
        ax.add_patch(
            Ellipse(mean, width, height, angle=angle, fill=False, edgecolor=color, linewidth=1.8)
        )
        ax.plot(*mean, "+", color=color, markersize=4 + 20 * weight)
    ax.plot(*X.T, ".", color="0.75", markersize=3, zorder=0)
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])


# %%
# Six mixtures of the path; the component that came last is red. After every insertion all
# components move: those that had to cover several groups give them up one by one.

figure, panels = plt.subplots(2, 3, figsize=(10, 7), sharex=True, sharey=True, layout="constrained")
L = -model.search_["objective"]
for k, ax in zip((1, 2, 4, 6, 8, 10), panels.flat, strict=True):
    draw(ax, model.mixtures_[k - 1], highlight=k - 1 if k > 1 else None)
    ax.set_title(f"{k} component{'s' if k > 1 else ''}, L = {L[k - 1]:.2f}")

# %%
# The log-likelihood ``L`` per row rises with every component, and the Bayesian information
# criterion has its minimum at the true number; the fit stops when it has risen twice. With few
# components a start by k-means may well do better, for a new component is chosen while the others
# stand still. At the number that the data have, the one greedy path is as good as the best of
# twenty starts.

numbers = model.search_["n_components"]
starts = np.array(
    [
        [-GaussianMixture(k, random_state=seed).fit(X).objective_ for seed in range(20)]
        for k in numbers
    ]
)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
top = starts.max(axis=1)
left.fill_between(
    numbers, starts.min(axis=1) - top, 0 * top, color="0.88", label="20 starts, worst to best"
)
left.plot(numbers, np.median(starts, axis=1) - top, color="0.5", label="20 starts, median")
left.plot(numbers, L - top, "-o", label="greedy EM, one run")
left.set_ylabel("log-likelihood per row,\nabove the best of 20 starts")
left.legend(loc="lower right")
right.plot(numbers, model.search_["bic"], "-o")
right.axvline(len(model.weights_), color="0.6", linestyle="--")
right.set_ylabel("BIC")
for ax in (left, right):
    ax.set_xlabel("number of components")
    ax.set_xticks(numbers)
plt.show()
