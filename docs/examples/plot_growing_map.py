"""
A map that grows with the data
==============================

Rows of a Swiss roll come one by one, and the map unrolls as they come. With few rows the
neighborhood graph jumps between the sheets of the roll and the map is crumpled; later rows crowd
the jumps out, and the map opens. The geodesics behind it are exact at every moment, and the map
turns as little as possible from one row to the next.
"""

import warnings
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation
from sklearn.datasets import make_swiss_roll

from sidelight.exceptions import EmbeddingWarning
from sidelight.manifold import IncrementalIsomap

X, along = make_swiss_roll(700, random_state=4)
model = IncrementalIsomap(n_neighbors=6)
frames = []
with warnings.catch_warnings():
    # The first rows do fall into parts, and the last short-cut to go is told of.
    warnings.simplefilter("ignore", EmbeddingWarning)
    for n, row in enumerate(X, 1):
        model.partial_fit([row])
        if n >= 40 and n % 20 == 0:
            graph = model.graph().tocoo()
            edges = np.column_stack([graph.row, graph.col])[graph.row < graph.col]
            frames.append((n, model.embedding_, edges))


def draw(ax, frame):
    n, places, edges = frame
    ax.clear()
    ax.plot(*np.moveaxis(places[edges], 2, 0).reshape(2, -1, 2).transpose(0, 2, 1), c="0.8", lw=0.5)
    ax.scatter(*places.T, c=along[:n], s=10, cmap="viridis", zorder=2)
    ax.scatter(*places[-1], s=70, facecolors="none", edgecolors="crimson", linewidths=1.5, zorder=3)
    ax.set(title=f"{n} rows", xlim=(-60, 60), ylim=(-60, 60), xticks=[], yticks=[], aspect="equal")


# %%
# Colors are the places along the roll, lines the neighborhood graph, the ring is the newest row.

figure, axes = plt.subplots(1, 4, figsize=(14, 3.8), layout="constrained")
for ax, n in zip(axes, (60, 160, 300, 700), strict=True):
    draw(ax, next(frame for frame in frames if frame[0] == n))
plt.show()

# %%
# The same as an animation, every twentieth row.

plt.rcParams["animation.html"] = "jshtml"
figure, ax = plt.subplots(figsize=(5, 5), layout="constrained", dpi=72)
growth = FuncAnimation(figure, partial(draw, ax), frames=frames, interval=200)
plt.close(figure)
growth

# %%
# What the rows did, means over twenty: geodesics that had to be computed anew since an edge was
# crowded out, and geodesics that a row made shorter. A small part of all pairs, and smaller with
# every row: the map costs what changes.

rows = np.arange(1, 701)
pairs = np.maximum(rows * (rows - 1) / 2, 1)
figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
for name in ("pairs_invalidated", "pairs_shortened"):
    share = np.array([getattr(update, name) for update in model.updates_]) / pairs
    means = np.convolve(share, np.full(20, 1 / 20), mode="valid")
    ax.semilogy(rows[19:], means, label=name.removeprefix("pairs_"))
ax.set(xlabel="rows", ylabel="share of all pairs", xlim=(40, 700))
ax.legend()
plt.show()
