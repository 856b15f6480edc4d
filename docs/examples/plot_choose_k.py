"""
Choosing the number of clusters with held-out statements
========================================================

Statements that were not used in fitting tell how many clusters there are.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from sidelight import Constraints
from sidelight.cluster import PCKMeans
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

k = [p["n_clusters"] for p in search.cv_results_["params"]]
mean = search.cv_results_["mean_test_score"]
spread = search.cv_results_["std_test_score"]
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.errorbar(k, mean, yerr=spread, marker="o", capsize=3)
ax.axvline(search.best_params_["n_clusters"], color="0.6", linestyle="--")
ax.set_xlabel("number of clusters")
ax.set_ylabel("held-out statements satisfied")
ax.set_title("Held-out statements choose k")
plt.show()
