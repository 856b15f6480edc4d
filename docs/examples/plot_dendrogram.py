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
from scipy.cluster.hierarchy import dendrogram

from sidelight import Constraints
from sidelight.cluster import ConstrainedAgglomeration

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 30)
X = np.column_stack([rng.uniform(0, 10, 60), rng.normal(2.0 * y, 0.35)])
known = Constraints.sample(y, 40, protocol="balanced", random_state=0)

figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained", width_ratios=(1, 1.6))
for (points, tree), constraints in zip(axes, (None, known), strict=True):
    model = ConstrainedAgglomeration(n_clusters=2).fit(X, constraints=constraints)
    points.scatter(*X.T, c=model.labels_, cmap="Set2", s=40, zorder=2)
    if constraints is not None:
        for pairs, style in ((known.must_link, "-"), (known.cannot_link, ":")):
            for pair in pairs:
                points.plot(*X[pair].T, style, color="0.5", linewidth=1, zorder=1)
    points.set_title("no constraints" if constraints is None else "with 40 pairs")

    merges = model.linkage_.copy()
    highest = merges[np.isfinite(merges[:, 2]), 2].max()
    never = np.isinf(merges[:, 2])
    merges[never, 2] = 1.15 * highest
    drawn = dendrogram(merges, ax=tree, no_labels=True, color_threshold=0)
    if never.any():
        tree.axhline(1.08 * highest, color="0.3", linestyle="--")
    row_colors = plt.get_cmap("Set2")([0.0, 1.0])
    for place, row in enumerate(drawn["leaves"]):
        tree.plot(5 + 10 * place, 0, "s", color=row_colors[model.labels_[row]], clip_on=False)
    tree.set_title(f"the closest pairs end with {model.n_clusters_dead_end_} cluster(s)")
plt.show()
