"""
A dendrogram that listens
=========================

Two long clouds lie side by side. Complete linkage cuts across them, because it likes clusters that
are round. A few pairs change the tree: must-linked rows are joined at height 0, and no branch ever
joins rows that must be apart, so that the two clouds remain as two trees (what is never joined
stands at infinite height in ``linkage_`` and is drawn dashed above all others).
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight import Constraints
from sidelight.cluster import ConstrainedAgglomeration
from sidelight.display import ClusterDisplay, DendrogramDisplay

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 30)
X = np.column_stack([rng.uniform(0, 10, 60), rng.normal(2.0 * y, 0.35)])
known = Constraints.sample(y, 40, protocol="balanced", random_state=0)

figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), layout="constrained", width_ratios=(1, 1.6))
for (points, tree), constraints in zip(axes, (None, known), strict=True):
    model = ConstrainedAgglomeration(n_clusters=2).fit(X, constraints=constraints)
    ClusterDisplay.from_estimator(model, X, constraints=constraints, legend=False, ax=points)
    DendrogramDisplay.from_estimator(model, ax=tree)
    points.set_title("no constraints" if constraints is None else "with 40 pairs")
    tree.set_title(f"the closest pairs end with {model.n_clusters_dead_end_} cluster(s)")
plt.show()
