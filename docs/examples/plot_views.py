"""
Two views of one manifold, joined by a few correspondences
==========================================================

Two sensors follow the same motion. Of most rows we do not know which of the other sensor belong to
the same moment; of a few we do. ``CoordinatedViews`` puts both on one map and predicts each view
from the other, with its spread.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sidelight.constraints import Correspondences
from sidelight.manifold import CoordinatedViews
from sidelight.mixture import GaussianMixture

warnings.simplefilter("ignore", ConvergenceWarning)
rng = np.random.default_rng(1)
t = (np.arange(300) + rng.uniform(size=300)) / 300
first = np.column_stack([np.cos(5 * t), np.sin(5 * t) + t])
second = np.column_stack([2 * t, np.sin(7 * t)])
first += 0.02 * rng.normal(size=first.shape)
second += 0.02 * rng.normal(size=second.shape)
links = [(i, i) for i in np.linspace(0, 299, 15).astype(int)]
known = Correspondences(links, sizes=[300, 300])
model = CoordinatedViews(n_components=1, n_charts=10, random_state=0)
model.fit([first, second], correspondences=known)

# %%
# Rows of both views colored by their common coordinate, and the fifteen pairs that were told.

figure, panels = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for view, (rows, axis) in enumerate(zip((first, second), panels, strict=True)):
    axis.scatter(*rows.T, c=model.embeddings_[view][:, 0], s=10)
    pairs = [link[view] for link in links]
    axis.scatter(*rows[pairs].T, s=60, facecolors="none", edgecolors="black", label="linked")
    axis.set_title(f"view {view}")
panels[0].legend(loc="lower right")
plt.show()

# %%
# The second view as predicted from the first. A mixture of factor analyzers with missing blocks
# is the plain alternative: it needs complete rows in each component, and has one or two.

expected, covariance = model.predict(first, source=0, target=1, return_cov=True)
table, columns = known.stack([first, second])
mixture = GaussianMixture(10, covariance_type="factor", n_factors=1, random_state=0).fit(table)
alone = np.hstack([first, np.full_like(second, np.nan)])
plain = mixture.impute(alone)[:, columns[1]]
figure, panels = plt.subplots(
    1, 2, figsize=(10, 4.2), sharex=True, sharey=True, layout="constrained"
)
for axis, found, title in (
    (panels[0], expected, "coordinated views"),
    (panels[1], plain, "mixture of factor analyzers"),
):
    axis.scatter(*second.T, color="0.8", s=8, label="truth")
    axis.scatter(*found.T, s=6, label="predicted")
    error = np.mean((found - second) ** 2)
    axis.set_title(f"{title}: squared error {error:.3f}")
panels[0].legend(loc="lower left")
plt.show()

# %%
# How much must be told? The error by the number of correspondences, for both.

numbers = (4, 8, 15, 30, 60, 150)
errors = {"coordinated views": [], "mixture of factor analyzers": []}
for m in numbers:
    pairs = [(i, i) for i in np.linspace(0, 299, m).astype(int)]
    some = Correspondences(pairs, sizes=[300, 300])
    views = CoordinatedViews(1, n_charts=10, random_state=0)
    views.fit([first, second], correspondences=some)
    errors["coordinated views"].append(np.mean((views.predict(first) - second) ** 2))
    table, columns = some.stack([first, second])
    mixture = GaussianMixture(10, covariance_type="factor", n_factors=1, random_state=0).fit(table)
    filled = mixture.impute(alone)[:, columns[1]]
    errors["mixture of factor analyzers"].append(np.mean((filled - second) ** 2))
figure, axis = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for name, values in errors.items():
    axis.loglog(numbers, values, "o-", label=name)
axis.set(xlabel="correspondences", ylabel="squared error of the second view", xticks=numbers)
axis.set_xticklabels(numbers)
axis.minorticks_off()
axis.legend()
plt.show()
