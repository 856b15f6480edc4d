"""
A grid that unfolds: self-organizing maps of numbers, wines and pixels
======================================================================

The nodes of a self-organizing map are the components of a mixture that sit on a grid. Their
neighborhoods start wide and shrink, and the grid opens from the middle of the data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from sidelight.display import MapDisplay
from sidelight.mixture import SelfOrganizingMixture

X = np.random.default_rng(1).uniform(size=(500, 2))
shares = (0.03, 0.05, 0.1, 0.2, 0.4, 0.8)

figure, panels = plt.subplots(2, 3, figsize=(10, 7), sharex=True, sharey=True, layout="constrained")
for share, ax in zip(shares, panels.flat, strict=True):
    som = SelfOrganizingMixture((7, 7), winner_mass=share).fit(X)
    MapDisplay.from_estimator(som, X, kind="grid", ax=ax)
    ax.set(title=f"winner's share {share:.2f}", xlabel="", ylabel="", aspect="equal")
plt.show()

# %%
# Each stage starts where the one before has ended. The bound ``F`` never falls within a stage; when
# the neighborhoods shrink it may move either way. The penalty is the likelihood that is given up
# for the order of the nodes.

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.semilogx(som.search_["rate"], som.search_["bound"], label="bound F")
ax.semilogx(
    som.search_["rate"],
    som.search_["bound"] + som.search_["neighborhood_divergence"],
    label="likelihood",
)
ax.set(xlabel="rate λ of the neighborhoods", ylabel="nats")
ax.legend()
plt.show()

# %%
# Wines by thirteen measurements, on a hexagonal grid. The U-matrix shows how far nodes are from
# their neighbors: dark ridges part the three cultivars, which the map has never seen. The hits are
# the numbers of wines of every node, the component planes the means of single measurements, here in
# units of their standard deviations.

wine = load_wine()
table = StandardScaler().fit_transform(wine.data)
som = SelfOrganizingMixture((9, 9), topology="hexagonal").fit(table)

figure, panels = plt.subplots(2, 2, figsize=(10, 8.5), layout="constrained")
MapDisplay.from_estimator(som, ax=panels[0, 0])
panels[0, 0].scatter(*som.embedding_.T, c=wine.target, cmap="Set1", s=14)
MapDisplay.from_estimator(som, kind="hits", ax=panels[0, 1])
for ax, name in zip(panels[1], ("proline", "flavanoids"), strict=True):
    column = wine.feature_names.index(name)
    MapDisplay.from_estimator(
        som, kind="component", feature=column, feature_names=wine.feature_names, ax=ax
    )
    ax.set_title(name)
plt.show()

# %%
# In many dimensions posteriors are nearly 0 or 1, and rows pile up on the nodes. Every row here is
# an image of 64 pixels, dark or light, and the components are Bernoulli: with posteriors of two
# bits, digits spread between the nodes they resemble. That is for pictures only.

digits = load_digits()
few = digits.target < 5
pixels, classes = (digits.data[few] > 7).astype(float), digits.target[few]
som = SelfOrganizingMixture((8, 8), component="bernoulli").fit(pixels)

figure, panels = plt.subplots(1, 2, figsize=(11, 5.4), layout="constrained")
places = {"posterior": som.embedding_, "2 bits": som.transform_for_display(pixels)}
for ax, (name, xy) in zip(panels, places.items(), strict=True):
    drawn = ax.scatter(*xy.T, c=classes, cmap="tab10", vmax=9, s=10)
    ax.set(title=name, aspect="equal", xticks=[], yticks=[])
ax.legend(*drawn.legend_elements(), title="digit", fontsize="small")
plt.show()

# %%
# What each node has learned: the probability that a pixel is dark, at the place of the node.

tiles = som.means_.reshape(8, 8, 8, 8)[:, ::-1].transpose(1, 2, 0, 3).reshape(64, 64)
figure, ax = plt.subplots(figsize=(6, 6), layout="constrained")
ax.imshow(tiles, cmap="Greys")
ax.set(title="nodes of the map", xticks=[], yticks=[])
plt.show()
