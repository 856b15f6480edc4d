"""
The same apples, five ways to listen
====================================

Three varieties of apples were measured. What differs most between them is not the variety, so
plain k-means finds another grouping. Forty statements about pairs, or a label here and there,
change that: as a start, as a fixed assignment, as hard constraints, or at a price.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight import Constraints
from sidelight.cluster import ConstrainedKMeans, COPKMeans, KMeans, PCKMeans, SeededKMeans
from sidelight.datasets import load_example
from sidelight.evaluation import adjusted_rand_index

apples, links = load_example()
X = apples.data
few_labels = np.where(np.arange(len(X)) % 12 == 0, apples.target, -1)
labels = Constraints.from_labels(few_labels)

fits = {
    "KMeans: nothing known": (KMeans(3, random_state=0), None),
    "SeededKMeans: a label in twelve, as a start": (SeededKMeans(3, random_state=0), labels),
    "ConstrainedKMeans: the same labels, kept": (ConstrainedKMeans(3, random_state=0), labels),
    "PCKMeans: pairs at a price": (PCKMeans(3, random_state=0), links),
    "COPKMeans: pairs as law": (COPKMeans(3, random_state=0), links),
}

# %%
# The first two principal components, the clusters in colour, must-links as lines and cannot-links
# as dashes.

centred = X - X.mean(axis=0)
plane = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
figure, axes = plt.subplots(2, 3, figsize=(13, 8), layout="constrained")
figure.suptitle("What is known decides what is found")
for ax, (title, (model, known)) in zip(axes.flat, fits.items(), strict=False):
    model.fit(X, constraints=known)
    score = adjusted_rand_index(apples.target, model.labels_)
    ax.scatter(*plane.T, c=model.labels_, cmap="Set2", s=18)
    if known is not None:
        for i, j in known.must_link:
            ax.plot(*plane[[i, j]].T, color="0.3", linewidth=0.8)
        for i, j in known.cannot_link:
            ax.plot(*plane[[i, j]].T, color="0.3", linewidth=0.8, linestyle=":")
    ax.set_title(f"{title}\nARI to the varieties {score:.2f}", fontsize=10)
    ax.set_xticks([])
    ax.set_yticks([])
axes.flat[-1].scatter(*plane.T, c=apples.target, cmap="Set2", s=18)
axes.flat[-1].set_title("The varieties", fontsize=10)
axes.flat[-1].set_xticks([])
axes.flat[-1].set_yticks([])
plt.show()
