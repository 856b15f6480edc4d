"""
Local linear models that agree on one map
=========================================

Coordinated factor analysis fits flat charts to a curved sheet and makes them agree on one system of
coordinates: rows get a place, places get a row, and both come with their uncertainty.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from sidelight.datasets import make_s_surface
from sidelight.manifold import CoordinatedFactorAnalysis

sheet = make_s_surface(800, noise=0.05, random_state=0)
X, along = sheet.data, sheet.coordinates[:, 0]
model = CoordinatedFactorAnalysis(n_components=2, n_charts=16, random_state=0).fit(X)

# %%
# Left the map: every row by its expected coordinates, colored by its true position along the S,
# with the charts as ellipses of two standard deviations. Right the sheet, with a rectangular grid
# of the map carried back into space by ``inverse_transform``.


def ellipse(center, covariance, **style):
    values, vectors = np.linalg.eigh(covariance)
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    return Ellipse(center, *(4 * np.sqrt(values[::-1])), angle=angle, fill=False, **style)


figure = plt.figure(figsize=(11, 4.8), layout="constrained")
left = figure.add_subplot(1, 2, 1)
left.scatter(*model.embedding_.T, c=along, s=6)
for center, spread in zip(model.offsets_, model.spreads_, strict=True):
    left.add_patch(ellipse(center, spread, color="0.3", lw=0.8))
left.set_title("coordinates and charts")
right = figure.add_subplot(1, 2, 2, projection="3d")
right.scatter(*X.T, c=along, s=3, alpha=0.4)
low, high = np.quantile(model.embedding_, [0.02, 0.98], axis=0)
for axis in (0, 1):
    for value in np.linspace(low[axis], high[axis], 9):
        line = np.empty((80, 2))
        line[:, axis] = value
        line[:, 1 - axis] = np.linspace(low[1 - axis], high[1 - axis], 80)
        right.plot(*model.inverse_transform(line).T, color="0.1", lw=0.9)
right.view_init(20, -75)
right.set_title("a grid of the map, back in space")
plt.show()

# %%
# How many charts? The error of the way there and back falls with their number. The likelihood of
# rows that the fit has not seen falls again where charts have few rows left.

new = make_s_surface(800, noise=0.05, random_state=1).data
numbers = (2, 4, 8, 16, 32, 64)
errors, scores = [], []
for k in numbers:
    fitted = CoordinatedFactorAnalysis(2, n_charts=k, init=model.embedding_, random_state=0).fit(X)
    again = fitted.inverse_transform(fitted.transform(new))
    errors.append(np.sum((again - new) ** 2, axis=1).mean())
    scores.append(fitted.score(new))
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
left.loglog(numbers, errors, "o-")
left.set(xlabel="charts", ylabel="squared error of the reconstruction", xticks=numbers)
left.set_xticklabels(numbers)
left.minorticks_off()
right.semilogx(numbers, scores, "o-")
right.set(xlabel="charts", ylabel="log-likelihood per new row", xticks=numbers)
right.set_xticklabels(numbers)
right.minorticks_off()
plt.show()

# %%
# Known coordinates are kept. Thirty rows are told where they are, in centimeters say; the rest of
# the map follows them.

anchors = np.full((len(X), 2), np.nan)
told = np.random.default_rng(0).choice(len(X), 30, replace=False)
anchors[told] = sheet.coordinates[told]
anchored = CoordinatedFactorAnalysis(2, n_charts=16, random_state=0).fit(X, anchors=anchors)
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
axis.scatter(*anchored.embedding_.T, c=along, s=6)
axis.scatter(*anchors[told].T, marker="x", color="black", s=30, label="known coordinates")
axis.set(xlabel="arc length", ylabel="position across")
axis.legend(loc="upper right")
plt.show()
