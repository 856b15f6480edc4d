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

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
for name, models in runs.items():
    questions = [n for n, _ in models[0].history_]
    scores = [[pairwise_f1(y, labels) for _, labels in model.history_] for model in models]
    left.plot(questions, np.mean(scores, axis=0), marker="o", label=name)
left.set(xlabel="questions", ylabel="pairwise F1", title="The same number of questions")
left.legend()

# %%
# What the questions were about, in one run: NPU gathers where two species meet.

right.scatter(X[:, 2], X[:, 3], c=y, cmap="Set2", s=18)
for name, colour in (("random", "0.6"), ("NPU", "tab:red")):
    for n, entry in enumerate(runs[name][0].answers_):
        label = name if n == 0 else None
        right.plot(*X[[entry.i, entry.j], 2:].T, color=colour, linewidth=0.7, label=label)
right.set(xlabel="petal length", ylabel="petal width", title="Pairs that were asked about")
right.legend()
plt.show()
