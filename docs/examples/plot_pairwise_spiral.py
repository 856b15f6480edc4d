"""
A spiral, ten labels per arm, and pairs
=======================================

Kernel logistic regression on ten labels per arm gets much of the spiral wrong. Must-links join
the rows of which it is least sure to a labeled row of their arm: nobody has to know *which* class a
row is, only that it is the same as that of another. The rows beside them follow.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight import Constraints
from sidelight.datasets import make_spirals
from sidelight.display import DecisionDisplay
from sidelight.semi_supervised import PairwiseLogisticRegression

spiral = make_spirals(random_state=0)
X, truth = spiral.data, spiral.target
rng = np.random.default_rng(1)
y = np.full(len(X), -1)
for arm in (0, 1):
    y[rng.permutation(np.flatnonzero(truth == arm))[:10]] = arm

plain = PairwiseLogisticRegression(gamma=20.0).fit(X, y)
doubt = np.where(y < 0, np.abs(plain.decision_function(X)), np.inf)
ambiguous = np.argsort(doubt)[:20]
partners = [rng.choice(np.flatnonzero(y == truth[row])) for row in ambiguous]
pairs = Constraints(np.column_stack([ambiguous, partners]), n_samples=len(X))

rest = np.setdiff1d(np.flatnonzero(y < 0), ambiguous)
figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
for ax, (title, loss, known) in zip(
    axes,
    (
        ("labels alone", "convex", None),
        ("20 pairs, convex", "convex", pairs),
        ("20 pairs, not convex", "nonconvex", pairs),
    ),
    strict=True,
):
    model = PairwiseLogisticRegression(loss, gamma=20.0).fit(X, y, constraints=known)
    DecisionDisplay.from_estimator(model, X, y, constraints=known, ax=ax)
    error = np.mean(model.predict(X[rest]) != truth[rest])
    ax.set(title=f"{title}: {error:.0%} wrong", xlabel="", ylabel="", aspect="equal")
figure.suptitle("Rows that neither a label nor a pair names")
plt.show()
