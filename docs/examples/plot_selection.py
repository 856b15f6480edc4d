"""
Which pixels tell a 1 from an 8?
================================

Scores rank features one by one, and they differ in whom they ask. The variance asks nobody, the
Laplacian score asks the neighbours of each row, the constraint score asks pairs of rows that are
known to belong together or not; the online selector learns weights from the same pairs, one after
the other, and the forward search looks for a subset that does not say the same twice.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, load_wine

from sidelight import Constraints
from sidelight.cluster import KMeans
from sidelight.evaluation import clustering_accuracy
from sidelight.feature_selection import (
    ConstraintScore,
    ForwardConstraintSelector,
    LaplacianScore,
    OnlineConstraintSelector,
    VarianceScore,
)

digits = load_digits()
rows = np.isin(digits.target, (1, 8))
X, y = digits.data[rows], (digits.target[rows] == 8).astype(int)
known = Constraints.sample(y, 100, random_state=0)
blocks = 4 * (np.arange(64) // 16) + np.arange(64) % 8 // 2  # pixels in 2 x 2 blocks

selectors = {
    "variance": VarianceScore(12),
    "Laplacian score": LaplacianScore(12),
    "constraint score": ConstraintScore(12),
    "online, groups of pixels": OnlineConstraintSelector(
        12, norm="group", groups=blocks, random_state=0
    ),
    "forward search": ForwardConstraintSelector(12),
}

# %%
# The twelve pixels that each keeps, over the mean 1 and the mean 8. The accuracy is that of k-means
# with two clusters on these pixels, and on all of them in the first picture. Images of a 1 differ
# most by slant and by their foot, which is what variance and neighbours see; a hundred pairs point
# to the upper hole of the 8 instead. The forward search stops at fewer pixels, where one more would
# only repeat the others.


def accuracy(Z):
    return clustering_accuracy(y, KMeans(2, random_state=0).fit(Z).labels_)


figure, axes = plt.subplots(2, 6, figsize=(13, 4.8), layout="constrained")
for row, digit in zip(axes, (0, 1), strict=True):
    mean = X[y == digit].mean(axis=0).reshape(8, 8)
    row[0].imshow(mean, cmap="Greys")
    for ax, model in zip(row[1:], selectors.values(), strict=True):
        model.fit(X, constraints=known)
        ax.imshow(mean, cmap="Greys", alpha=0.5)
        for place in model.get_support(indices=True):
            corner = (place % 8 - 0.5, place // 8 - 0.5)
            ax.add_patch(plt.Rectangle(corner, 1, 1, facecolor="C0", alpha=0.55, edgecolor="white"))
axes[0, 0].set_title(f"all pixels\n{accuracy(X):.0%}", fontsize=10)
for ax, (name, model) in zip(axes[0, 1:], selectors.items(), strict=True):
    ax.set_title(f"{name}\n{accuracy(model.transform(X)):.0%}", fontsize=10)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# The same on a table with names: thirteen measurements of wines and seven columns of noise. Every
# selector draws its own ranking; filled bars are kept. For the two scores small is good, for the
# weights large. Here the classes are clusters, too, so that neighbours know as much as pairs do.

wine = load_wine(as_frame=True)
table = (wine.data - wine.data.mean()) / wine.data.std()
noise = np.random.default_rng(0).normal(size=(len(table), 7))
table = table.join(pd.DataFrame(noise, columns=[f"noise {j + 1}" for j in range(7)]))
pairs = Constraints.sample(wine.target, 90, random_state=0)

figure, axes = plt.subplots(1, 3, figsize=(13, 5), layout="constrained")
for ax, selector in zip(
    axes,
    (LaplacianScore(8), ConstraintScore(8), OnlineConstraintSelector(8, random_state=0)),
    strict=True,
):
    selector.fit(table, constraints=pairs).plot_ranking(ax)
    for label in ax.get_yticklabels():
        if label.get_text().startswith("noise"):
            label.set_color("C3")
plt.show()
