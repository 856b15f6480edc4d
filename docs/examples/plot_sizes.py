"""
As many in each
===============

Households around a few villages are to be shared out among six drivers. k-means gives some drivers
several times the work of others. Bounds on the sizes change that, and every assignment is the
cheapest one within the bounds: no move, swap or chain of moves would shorten the ways. A household
far out may be left to somebody else, at a price.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight.cluster import KMeans, SizeConstrainedKMeans

rng = np.random.default_rng(11)
villages = rng.uniform(0, 10, size=(9, 2))
share = rng.dirichlet(np.full(9, 1.5))
X = villages[rng.choice(9, size=594, p=share)] + rng.normal(scale=0.8, size=(594, 2))
X = np.concatenate([X, [[17, 3], [16, 9], [-6, 0], [18, 6], [-5, 9], [6, -8]]])
k = 6

fits = {
    "KMeans": KMeans(k, random_state=0),
    "80 to 130 each": SizeConstrainedKMeans(k, min_size=80, max_size=130, random_state=0),
    "100 each": SizeConstrainedKMeans(k, min_size=1 / k, max_size=1 / k, random_state=0),
    "at most 100 each,\nfar ones left out": SizeConstrainedKMeans(
        k, min_size=90, max_size=100, outlier_cost=25.0, random_state=0
    ),
}

# %%
# Below each map the sizes, in the order of their colours, with the bounds as lines; the title says
# how much longer the squared ways are than without bounds.

figure, axes = plt.subplots(2, 4, figsize=(14, 5), height_ratios=(3, 1), layout="constrained")
colours = plt.colormaps["Set2"].colors
for (above, below), (title, model) in zip(axes.T, fits.items(), strict=True):
    model.fit(X)
    inside = model.labels_ >= 0
    longer = model.inertia_ / fits["KMeans"].inertia_ - 1
    above.scatter(*X[inside].T, c=model.labels_[inside], cmap="Set2", vmin=0, vmax=7, s=8)
    above.scatter(*X[~inside].T, marker="x", color="0.3", s=30)
    above.plot(*model.cluster_centers_.T, "k+", markersize=10)
    above.set_title(title if model is fits["KMeans"] else f"{title}: {longer:+.0%}", fontsize=10)
    above.set_aspect("equal")
    sizes = np.bincount(model.labels_[inside], minlength=k)
    below.bar(range(k), sizes, color=colours[:k])
    below.bar_label(below.containers[0], fontsize=8)
    for bound in (getattr(model, "min_size", None), getattr(model, "max_size", None)):
        if bound is not None:
            below.axhline(bound if bound > 1 else bound * len(X), color="0.3", linewidth=0.8)
    below.set_ylim(0, 230)
    below.set_xticks([])
plt.show()
