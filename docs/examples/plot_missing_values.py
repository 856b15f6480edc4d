"""
Values that were not measured
=============================

Three of ten values are missing. Dropping every row with a gap leaves one row in four; filling gaps
with means puts rows where no cluster is. In a mixture a missing value is simply hidden, like the
component of its row: ``GaussianMixture`` takes NaN as it is, measures a row by the values it has,
and tells what the others probably are.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sidelight.display import ClusterDisplay, LearningCurveDisplay
from sidelight.evaluation import adjusted_rand_index
from sidelight.mixture import GaussianMixture

warnings.simplefilter("ignore", ConvergenceWarning)
rng = np.random.default_rng(0)
shapes = np.array([[[1.0, 0.9], [0.9, 1.0]], [[1.0, -0.9], [-0.9, 1.0]], [[0.3, 0.0], [0.0, 0.3]]])
centers = np.array([[0.0, 0.0], [3.0, 0.0], [1.5, 3.0]])


def draw(n):
    """Draw rows of four features: two views of three clusters."""
    y = rng.integers(3, size=n)
    views = [
        np.array([rng.multivariate_normal(centers[c], shapes[c]) for c in y]) for _ in range(2)
    ]
    return np.hstack(views), y


def with_gaps(X, share):
    return np.where(rng.random(X.shape) < share, np.nan, X)


X, y = draw(400)
holes = with_gaps(X, 0.3)
complete = holes[~np.isnan(holes).any(axis=1)]
filled = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
settings = {"n_components": 3, "n_init": 5, "random_state": 0}
models = {
    f"rows without gaps: {len(complete)} of {len(X)}": complete,
    "means in the gaps": filled,
    "gaps in the model": holes,
}
models = {name: (GaussianMixture(**settings).fit(rows), rows) for name, rows in models.items()}

# %%
# Two of the four features; ellipses are two standard deviations of each component. On the left all
# values, with the classes that they were drawn from. Means in the gaps make bars and flat
# components. In the right picture the gaps show what the model expects in them.

figure, panels = plt.subplots(
    1, 4, figsize=(16, 4.5), sharex=True, sharey=True, layout="constrained"
)
ClusterDisplay.from_labels(X, y, features=[0, 1], ax=panels[0])
panels[0].set_title("nothing missing: the classes")
for ax, (name, (model, rows)) in zip(panels[1:], models.items(), strict=True):
    classes = y if len(rows) == len(y) else y[~np.isnan(holes).any(axis=1)]
    ClusterDisplay.from_estimator(model, rows, features=[0, 1], like=classes, names=False, ax=ax)
    ax.set_title(name)
plt.show()

# %%
# How well new complete rows are described, and the rows with gaps are clustered, the more values
# are missing: mean of five draws. Dropping rows ends when too few are left.

shares = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
fresh, _ = draw(2000)
ways = ("drop rows", "fill in means", "gaps in the model")
density = {way: np.full((5, len(shares)), np.nan) for way in ways}
agreement = {way: np.full((5, len(shares)), np.nan) for way in ways}
settings["n_init"] = 2
for run in range(5):
    X, y = draw(400)
    for column, share in enumerate(shares):
        holes = with_gaps(X, share)
        usable = ~np.isnan(holes).any(axis=1)
        filled = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
        for way, rows in zip(ways, (holes[usable], filled, holes), strict=True):
            if len(rows) >= 40:
                model = GaussianMixture(**settings).fit(rows)
                labels = model.predict(filled if way == "fill in means" else holes)
                density[way][run, column] = model.score(fresh)
                agreement[way][run, column] = adjusted_rand_index(y, labels)

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
missing = "share of values that are missing"
for ax, scores, title in (
    (left, density, "log-density of new rows"),
    (right, agreement, "adjusted Rand index of all rows"),
):
    tables = {way: table.T for way, table in scores.items()}
    LearningCurveDisplay.from_scores(shares, tables, axis_titles=(missing, title), ax=ax)
left.set_ylim(-7.5, None)
plt.show()
