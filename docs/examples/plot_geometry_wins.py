"""
When pairs are not enough
=========================

Four clouds, two clusters wanted: left and right. The gap between top and bottom is wider, so
k-means splits there. Two must-links that join top and bottom do not change its mind: at a low price
it violates them (red), at a high price it moves one end of each link (drawn large) and nothing
else. The partition that was meant is never the cheapest one, for *any* price (Law 2006, section
5.2). Methods that learn from pairs how to measure distance, or that spread what is known to the
neighbours, are made for this.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight.cluster import PCKMeans
from sidelight.datasets import make_four_gaussians
from sidelight.display import ClusterDisplay

data = make_four_gaussians(random_state=0)
known = data.constraints
size = np.full(len(data.data), 14)
size[known.mentioned] = 120

figure, axes = plt.subplots(1, 3, figsize=(12, 4.5), layout="constrained", sharey=True)
for ax, penalty in zip(axes, (5.0, 500.0, 50_000.0), strict=True):
    model = PCKMeans(2, penalty=penalty, n_init=10, random_state=0)
    model.fit(data.data, constraints=known)
    ClusterDisplay.from_estimator(
        model, data.data, constraints=known, names=False, legend=False, s=size, ax=ax
    )
    ax.set_title(f"penalty {penalty:g}: {model.n_violations_} violated")
plt.show()
