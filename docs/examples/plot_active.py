"""
Questions worth asking
======================

Sixty questions of the form "do these two belong together?", asked in four ways. Pairs drawn at
random are mostly of two different classes and tell little; *Explore* first finds a row of every
class, then *Consolidate* asks where other rows belong; *Min-Max* asks about the row least like all
known ones; *NPU* about the row whose class is most uncertain, per question that it will take.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from sidelight.active import NPU, ActiveClusterer, LabelOracle
from sidelight.cluster import PCKMeans
from sidelight.display import ClusterDisplay, LearningCurveDisplay
from sidelight.evaluation import pairwise_f1

X, y = load_iris(return_X_y=True)
clusterer = PCKMeans(3, n_init=1)
strategies = {
    "random": "random",
    "Explore-Consolidate": "explore-consolidate",
    "Min-Max": "min-max",
    "NPU": NPU(n_estimators=20),
}
runs = {
    name: [
        ActiveClusterer(
            clusterer.set_params(random_state=seed), strategy, 60, random_state=seed
        ).fit(X, oracle=LabelOracle(y))
        for seed in range(4)
    ]
    for name, strategy in strategies.items()
}

# %%
# How good the clustering is after so many questions: mean of four runs.

questions = [n for n, _ in runs["random"][0].history_]
scores = {
    name: np.transpose(
        [[pairwise_f1(y, labels) for _, labels in model.history_] for model in models]
    )
    for name, models in runs.items()
}
LearningCurveDisplay.from_scores(questions, scores, axis_titles=("questions", "pairwise F1"))
plt.show()

# %%
# What the questions were about, in one run: NPU gathers where two species meet. Lines are the
# answers: the two belong together (solid) or not (dashed).

petals = ["petal length", "petal width"]
figure, axes = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained", sharey=True)
for ax, name in zip(axes, ("random", "NPU"), strict=True):
    asked = runs[name][0].answers_.constraints
    ClusterDisplay.from_labels(X[:, 2:], y, constraints=asked, feature_names=petals, ax=ax)
    ax.set_title(f"Pairs that were asked about: {name}")
plt.show()
