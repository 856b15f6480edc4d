"""
Regions of a map: every cluster one piece
=========================================

Areas of a map have attributes, and neighbors. k-means looks at the attributes alone, and its
clusters are scattered over the map; connected k-means gives regions of one piece each, at the price
of a larger sum of squares. The planted regions stand beside them.
"""

import matplotlib.pyplot as plt

from sidelight.cluster import KMeans
from sidelight.datasets import make_areas
from sidelight.display import ConnectedClustersDisplay
from sidelight.evaluation import adjusted_rand_index
from sidelight.relational import ConnectedKMeans

areas = make_areas(600, layout="planar", n_clusters=6, random_state=1)
partitions = {
    "planted": areas.target,
    "k-means": KMeans(6, random_state=0).fit(areas.X).labels_,
    "connected k-means": ConnectedKMeans(6, random_state=0)
    .fit(areas.X, relations=areas.relations)
    .labels_,
}

figure, axes = plt.subplots(1, 3, figsize=(14, 4.8), layout="constrained")
for ax, (name, labels) in zip(axes, partitions.items(), strict=True):
    ConnectedClustersDisplay.from_labels(areas.coordinates, areas.relations, labels, ax=ax)
    score = adjusted_rand_index(areas.target, labels)
    ax.set_title(name if name == "planted" else f"{name}: adjusted Rand index {score:.2f}")
plt.show()
