"""
How much does another statement bring?
======================================

Adjusted Rand index on the rows that no statement mentions, against the number of random pairs: the
honest figure, since a hard method gets the mentioned rows right by construction.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from sidelight.cluster import COPKMeans, MPCKMeans, PCKMeans
from sidelight.display import LearningCurveDisplay

X, y = load_wine(return_X_y=True)
LearningCurveDisplay.from_estimator(
    [PCKMeans(3), COPKMeans(3), MPCKMeans(3)], scale(X), y, n_statements=(0, 25, 50, 100, 200)
)
plt.show()
