"""
Choosing the number of clusters with held-out statements
========================================================

Statements that were not used in fitting tell how many clusters there are.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from sidelight import Constraints
from sidelight.cluster import PCKMeans
from sidelight.display import ClusterDisplay, SearchDisplay
from sidelight.evaluation import ConstraintSearchCV

X, y = make_blobs(400, centers=5, cluster_std=1.4, random_state=7)
known = Constraints.sample(y, 120, random_state=0)

search = ConstraintSearchCV(
    PCKMeans(random_state=0), {"n_clusters": list(range(2, 10))}, random_state=0
)
search.fit(X, constraints=known)
print(search.best_params_)

# %%
# The satisfaction of held-out pairs peaks at the number of blobs; more clusters break must-links.

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
SearchDisplay.from_estimator(search, ax=left)
ClusterDisplay.from_estimator(search, X, constraints=known, ax=right)
plt.show()
