"""
When pairs are not enough
=========================

Four clouds, two clusters wanted: left and right. The gap between top and bottom is wider, so
k-means splits there. Two must-links that join top and bottom do not change its mind: at a low price
it violates them, at a high price it moves one end of each link (drawn large) and nothing else. The
partition that was meant is never the cheapest one, for *any* price (Law 2006, section 5.2). Methods
that learn from pairs how to measure distance, or that spread what is known to the neighbours, are
made for this.
"""

import matplotlib.pyplot as plt

from sidelight.cluster import PCKMeans
from sidelight.datasets import make_four_gaussians

data = make_four_gaussians(random_state=0)
known = data.constraints

figure, axes = plt.subplots(1, 3, figsize=(11, 4.5), layout="constrained")
for ax, penalty in zip(axes, (5.0, 500.0, 50_000.0), strict=True):
    model = PCKMeans(2, penalty=penalty, n_init=10, random_state=0)
    model.fit(data.data, constraints=known)
    ax.scatter(*data.data.T, c=model.labels_, cmap="Set2", s=12)
    for i, j in known.must_link:
        ax.plot(*data.data[[i, j]].T, color="0.2", zorder=1)
    linked = known.must_link.ravel()
    ax.scatter(
        *data.data[linked].T,
        c=model.labels_[linked],
        cmap="Set2",
        s=120,
        edgecolors="0.2",
        zorder=2,
    )
    ax.set_title(f"penalty {penalty:g}: {model.n_violations_} violated")
plt.show()
