"""
Spirals, rings, moons, and ten constraints
==========================================

k-means cuts space into convex pieces; spectral clustering cuts a graph of neighbours where it is
thin. Where noise closes the gap, ten statements about pairs open it again.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_moons

from sidelight import Constraints
from sidelight.cluster import ContractedSpectralClustering, KMeans, SpectralClustering
from sidelight.display import ClusterDisplay
from sidelight.evaluation import adjusted_rand_index


def spirals(n, rng):
    turn = np.sqrt(rng.uniform(0.1, 1, n)) * 3 * np.pi
    arm = rng.integers(0, 2, n)
    angle = turn + np.pi * arm
    rows = np.column_stack([turn * np.cos(angle), turn * np.sin(angle)])
    return rows + rng.normal(0, 0.25, rows.shape), arm


rng = np.random.default_rng(0)
sets = {
    "spirals": spirals(600, rng),
    "rings": make_circles(500, factor=0.45, noise=0.06, random_state=0),
    "moons, much noise": make_moons(400, noise=0.17, random_state=4),
}
figure, axes = plt.subplots(3, 3, figsize=(10, 9), layout="constrained")
for row, (name, (X, y)) in zip(axes, sets.items(), strict=True):
    known = Constraints.sample(y, 10, protocol="balanced", random_state=1)
    results = {
        "k-means": KMeans(2, random_state=0).fit(X),
        "spectral": SpectralClustering(2, random_state=0).fit(X),
        "spectral, ten constraints": ContractedSpectralClustering(2, random_state=0).fit(
            X, constraints=known
        ),
    }
    first = None
    for ax, (method, model) in zip(row, results.items(), strict=True):
        given = known if "constraints" in method else None
        drawn = ClusterDisplay.from_estimator(
            model, X, constraints=given, like=first, names=False, legend=False, s=8, ax=ax
        )
        first = first or drawn
        score = adjusted_rand_index(y, model.labels_)
        ax.set(title=f"{method}: {score:.2f}", xlabel="", ylabel="", xticks=[], yticks=[])
    row[0].set_ylabel(name)
figure.suptitle("Agreement with the truth (adjusted Rand index)")
plt.show()
