"""
Customers and weeks: clusters of both sides
===========================================

A shop knows in which weeks its customers bought. Co-clustering finds groups of customers and the
weeks that go with them. Plain groups of weeks have holes, where a group was left and came again;
with the order of the weeks known, and no hole of more than one week in any rectangle of ones, the
weeks of a group follow each other. Ones of a co-cluster have its color, others are grey.
"""

import matplotlib.pyplot as plt

from sidelight.cluster import CDKMeans
from sidelight.constraints import Ordering
from sidelight.datasets import make_purchases
from sidelight.display import CoclusterDisplay, TimelineDisplay

bought = make_purchases(80, 26, over="weeks", density=0.5, noise=0.15, random_state=0)
weeks = Ordering(range(26), max_gap=1, ids=bought.columns)
models = {
    "no order": CDKMeans(3, min_rows=3, min_columns=2, random_state=0).fit(bought.X),
    "gaps of at most a week": CDKMeans(3, min_rows=3, min_columns=2, random_state=0).fit(
        bought.X, column_order=weeks
    ),
}

figure, axes = plt.subplots(2, 2, figsize=(12, 7.6), layout="constrained", height_ratios=(3, 1))
for above, below, (name, model) in zip(axes[0], axes[1], models.items(), strict=True):
    CoclusterDisplay.from_estimator(model, bought.X, column_order=weeks, ax=above)
    TimelineDisplay.from_labels(model.column_labels_, weeks, title=name, ax=below)
plt.show()
