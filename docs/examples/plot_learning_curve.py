"""
How much does another statement bring?
======================================

Adjusted Rand index on the rows that no statement mentions, against the number of random pairs: the
honest figure, since a hard method gets the mentioned rows right by construction.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from sidelight import Constraints
from sidelight.cluster import COPKMeans, PCKMeans
from sidelight.evaluation import adjusted_rand_index

X, y = load_iris(return_X_y=True)
counts = [0, 15, 30, 60, 90]
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for estimator in (PCKMeans(3), COPKMeans(3)):
    curve = []
    for m in counts:
        scores = []
        for seed in range(10):
            known = Constraints.sample(y, m, random_state=seed)
            model = estimator.set_params(random_state=seed).fit(X, constraints=known)
            free = np.setdiff1d(np.arange(len(y)), known.mentioned)
            scores.append(adjusted_rand_index(y[free], model.labels_[free]))
        curve.append((np.mean(scores), np.std(scores)))
    mean, spread = np.transpose(curve)
    ax.errorbar(counts, mean, yerr=spread, marker="o", capsize=3, label=type(estimator).__name__)
ax.set_xlabel("random pairs")
ax.set_ylabel("ARI on unmentioned rows")
ax.set_title("Iris")
ax.legend()
plt.show()
