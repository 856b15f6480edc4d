"""
A mixture that grows: greedy EM from one Gaussian to as many as the data ask for
================================================================================

Greedy EM begins with a single Gaussian and adds one component at a time, the best of many that
random splits of the data suggest. Nothing has to be initialised, and the mixtures of all smaller
numbers of components come with the last one.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight.datasets import make_separated_gaussians
from sidelight.display import ClusterDisplay, DensityDisplay, SearchDisplay
from sidelight.mixture import GaussianMixture, GreedyMixture
from sidelight.pictures import Curve, Curves

X = make_separated_gaussians(800, n_components=10, separation=1.5, random_state=2).data
model = GreedyMixture(n_components=14, selection="bic", random_state=0).fit(X)

# %%
# Six mixtures of the path. After every insertion all components move: those that had to cover
# several groups give them up one by one.

figure, panels = plt.subplots(2, 3, figsize=(12, 8), sharex=True, sharey=True, layout="constrained")
L = -model.search_["objective"]
before = None
for k, ax in zip((1, 2, 4, 6, 8, 10), panels.flat, strict=True):
    drawn = ClusterDisplay.from_estimator(
        model.mixtures_[k - 1], X, like=before, names=False, s=6, ax=ax
    )
    before = drawn
    ax.set_title(f"{k} component{'s' if k > 1 else ''}, L = {L[k - 1]:.2f}")
    ax.set_aspect("equal")
plt.show()

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
top = starts.max(axis=1)
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
picture = Curves(
    curves=[
        Curve("greedy EM, one run", numbers, L - top),
        Curve("20 starts, median", numbers, np.median(starts, axis=1) - top),
    ],
    axis_titles=("number of components", "log-likelihood per row,\nabove the best of 20 starts"),
    whole=True,
)
SearchDisplay(picture).plot(left)
left.fill_between(numbers, starts.min(axis=1) - top, 0, color="0.5", alpha=0.25, label="20 starts")
left.legend(loc="lower right")
SearchDisplay.from_estimator(model, ax=right)
plt.show()

# %%
# The density of the mixture that was chosen.

DensityDisplay.from_estimator(model, X)
plt.show()
