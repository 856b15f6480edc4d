"""
Two rings, twenty labels, one stump at a time
=============================================

A stump splits one column once: with twenty labels on two rings it is little better than chance.
SemiBoost trains one stump after the other on pseudo-labels that similar rows agree on. The
boundary after some rounds shows how unlabeled rows, not labels, bend it around the inner ring. The
width of the similarities matters: here rows count as similar only within a ring.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight.datasets import make_rings
from sidelight.semi_supervised import SemiBoostClassifier

rings = make_rings(500, radii=(1, 2), noise=0.15, near_distance=None, random_state=0)
X, truth = rings.data, rings.target
rng = np.random.default_rng(0)
y = np.full(len(X), -1)
for ring in (0, 1):
    y[rng.permutation(np.flatnonzero(truth == ring))[:10]] = ring
labeled = y >= 0

model = SemiBoostClassifier(
    "stump",
    n_estimators=60,
    similarity="rbf",
    percentile=2.0,
    sampling="weight",
    unlabeled_weight=0.002,
    random_state=0,
).fit(X, y)

side = np.linspace(-2.6, 2.6, 200)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
shown = (1, 2, 3, 12, 60)
stages = zip(model.staged_decision_function(grid), model.staged_predict(X), strict=True)
boundaries = {
    number: (values.reshape(200, 200), np.mean(classes[~labeled] == truth[~labeled]))
    for number, (values, classes) in enumerate(stages, start=1)
    if number in shown
}
figure, axes = plt.subplots(1, len(boundaries), figsize=(13, 3), layout="constrained")
for ax, (number, (values, accuracy)) in zip(axes, boundaries.items(), strict=True):
    ax.contourf(side, side, values > 0, levels=1, colors=["#dbe7ff", "#ffe6cc"])
    ax.scatter(*X.T, c=np.where(truth == 1, "#e08a2e", "#3b6fd4"), s=2, alpha=0.4)
    ax.scatter(*X[labeled].T, c=y[labeled], cmap="coolwarm", s=40, edgecolor="black")
    ax.set(title=f"round {number}: {accuracy:.0%}", xticks=[], yticks=[], aspect="equal")
figure.suptitle("Accuracy on the unlabeled rows")
plt.show()
