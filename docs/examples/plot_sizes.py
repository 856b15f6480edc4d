"""
As many in each
===============

Households around a few villages are to be shared out among six drivers. k-means gives some drivers
several times the work of others. Bounds on the sizes change that, and every assignment is the
cheapest one within the bounds: no move, swap or chain of moves would shorten the ways. A household
far out may be left to somebody else, at a price (grey).
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight.cluster import KMeans, SizeConstrainedKMeans
from sidelight.display import ClusterDisplay, SizesDisplay

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
    "at most 100, far ones left": SizeConstrainedKMeans(
        k, min_size=90, max_size=100, outlier_cost=25.0, random_state=0
    ),
}

# %%
# Below each map the sizes with the bounds as lines; the title says how much longer the squared ways
# are than without bounds.

figure, axes = plt.subplots(2, 4, figsize=(16, 6.5), height_ratios=(2, 1), layout="constrained")
first = None
for (above, below), (title, model) in zip(axes.T, fits.items(), strict=True):
    model.fit(X)
    squares = getattr(model, "inertia_", model.objective_)  # without the price of rows left out
    longer = squares / fits["KMeans"].objective_ - 1
    drawn = ClusterDisplay.from_estimator(model, X, like=first, names=False, ax=above)
    above.set_title(f"{title}: {longer:+.0%}" if first else title)
    above.set_aspect("equal")
    SizesDisplay.from_estimator(model, like=drawn, ax=below)
    below.set(title="", ylim=(0, 230))
    first = first or drawn
plt.show()
