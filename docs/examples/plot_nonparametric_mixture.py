"""
Clusters of any shape: mixtures of kernel densities
===================================================

Rings and moons are no Gaussians, and k-means cuts them like cake. ``NonparametricMixture`` gives
every cluster its own kernel density: a profile says how much each row counts in it. Since a row
must not explain itself, the profiles are learned from leave-one-out densities. The lines are levels
of the density, and say how many of the rows they hold.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from sidelight import Constraints
from sidelight.cluster import KMeans
from sidelight.datasets import make_rings
from sidelight.display import ClusterDisplay, DensityDisplay, SearchDisplay
from sidelight.evaluation import adjusted_rand_index
from sidelight.mixture import GaussianMixture, NonparametricMixture

rings = make_rings(150, random_state=0)
problems = {
    "rings": (rings.data, rings.target),
    "moons": make_moons(300, noise=0.08, random_state=0),
}

figure, axes = plt.subplots(2, 3, figsize=(12, 7.5), layout="constrained")
for row, (X, y) in zip(axes, problems.values(), strict=True):
    methods = {
        "KMeans": KMeans(2, random_state=0),
        "GaussianMixture": GaussianMixture(2, n_init=5, random_state=0),
        "NonparametricMixture": NonparametricMixture(2, random_state=0),
    }
    for ax, (name, model) in zip(row, methods.items(), strict=True):
        labels = model.fit(X).labels_
        if name == "KMeans":
            ClusterDisplay.from_estimator(model, X, names=False, s=12, ax=ax)
        else:
            DensityDisplay.from_estimator(model, X, ax=ax)
        ax.set_title(f"{name}, ARI {adjusted_rand_index(y, labels):.2f}")
        ax.set(aspect="equal", xlabel="", ylabel="")
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

display = SearchDisplay.from_estimator(model)
(line,) = display.ax_.plot(search["percentile"], scores, "s--", color="0.5")
display.ax_.set(xlabel="bandwidth: percentile of the distances", ylim=(-0.1, 1.1))
curve = display.drawn_.lines["NonparametricMixture"]
display.ax_.legend([curve, line], ["pairs satisfied", "ARI of the best start"], loc="center right")
plt.show()
