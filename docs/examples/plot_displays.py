"""
All displays at a glance
========================

One picture of each kind, of one set of flowers. The guide on :doc:`/display/index` says what they
show.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from sidelight import Constraints, display
from sidelight.cluster import ConstrainedAgglomeration, KMeans, PCKMeans, SizeConstrainedKMeans
from sidelight.evaluation import ConstraintSearchCV, compare
from sidelight.metric import ITML
from sidelight.mixture import GaussianMixture

iris = load_iris(as_frame=True)
X, y = iris.data, iris.target
known = Constraints.sample(y, 40, random_state=0)

# %%
# The map of the rows: clusters in color, must-links solid, cannot-links dashed, violated ones red.

model = PCKMeans(3, penalty=0.1, random_state=0).fit(X, constraints=known)
display.ClusterDisplay.from_estimator(model, X, constraints=known)
plt.show()

# %%
# The same statements as a graph, without the rows: what belongs together has one color.

display.ConstraintsDisplay.from_constraints(known)
plt.show()

# %%
# Candidates side by side, on statements that they were not told.

found = compare(
    X,
    "pckmeans, mpckmeans, contracted-spectral-clustering",
    constraints=known,
    n_clusters=[2, 3, 4],
    n_jobs=1,
)
display.ComparisonDisplay.from_comparison(found)
plt.show()

# %%
# What a search tried and chose.

search = ConstraintSearchCV(PCKMeans(random_state=0), {"n_clusters": range(2, 8)}, random_state=0)
display.SearchDisplay.from_estimator(search.fit(X, constraints=known))
plt.show()

# %%
# What every further statement brings, on rows that no statement mentions.

display.LearningCurveDisplay.from_estimator(
    PCKMeans(3), X, y, n_statements=(0, 20, 40, 80), n_draws=5
)
plt.show()

# %%
# The objective from iteration to iteration, of three starts.

starts = {f"start {s}": KMeans(3, n_init=1, random_state=s).fit(X) for s in range(3)}
display.ConvergenceDisplay.from_estimator(starts)
plt.show()

# %%
# Sizes of the clusters against their bounds.

sized = SizeConstrainedKMeans(4, min_size=30, max_size=45, random_state=0).fit(X)
display.SizesDisplay.from_estimator(sized)
plt.show()

# %%
# The tree of merges; dashed is what must stay apart.

tree = ConstrainedAgglomeration(3).fit(X, constraints=known)
display.DendrogramDisplay.from_estimator(tree)
plt.show()

# %%
# Distances of pairs before and after a metric was learned.

metric = ITML().fit(X, constraints=known)
display.PairDistancesDisplay.from_estimator(metric, X, Constraints.sample(y, 300, random_state=1))
plt.show()

# %%
# The density of a mixture, in the plane of the first two principal components.

mixture = GaussianMixture(3, random_state=0).fit(X)
display.DensityDisplay.from_estimator(mixture, X)
plt.show()
