"""
The same data, five kinds of knowledge
======================================

Six hamlets lie along a stream, three on either bank, and their households are to be shared out
among three rounds of a postman. Without further knowledge k-means takes hamlets that face each
other across the stream together. What somebody knows about the place may be of quite different
kinds, and each leads to a result of its own:

- **pairs**: some households can reach each other, others only by a long way round to the bridge;
- **labels**: a few households know which round they are on;
- **groups**: those who share a boat on the south bank want to be served together;
- **sizes**: every round is to be equally long;
- **a correction**: the result is fine but for one round, which is too long and shall be split.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight import Constraints
from sidelight.active import split_cluster
from sidelight.cluster import (
    ConstrainedKMeans,
    COPKMeans,
    KMeans,
    PCKMeans,
    SizeConstrainedKMeans,
)

rng = np.random.default_rng(5)
places = {
    "north-west": (0.0, 2.6),
    "north-middle": (3.0, 2.7),
    "north-east": (6.2, 2.5),
    "south-west": (0.1, 0.0),
    "south-middle": (3.1, 0.1),
    "south-east": (6.0, 0.0),
}
sizes = [60, 30, 27, 45, 27, 21]
X = np.repeat(list(places.values()), sizes, axis=0) + rng.normal(scale=0.5, size=(sum(sizes), 2))
hamlet = np.repeat(list(places), sizes)
n = len(X)

# %%
# What is known. Without a bridge in the west and in the middle, households there are apart from
# those on the other bank, and can walk to those on their own.


def some(name, m):
    """Draw households of a hamlet."""
    return rng.choice(np.flatnonzero(hamlet == name), m, replace=False)


across = [("north-west", "south-west"), ("north-middle", "south-middle")]
along = [("north-west", "north-middle"), ("south-west", "south-middle")]
pairs = Constraints(
    must_link=np.concatenate([np.column_stack([some(a, 12), some(b, 12)]) for a, b in along]),
    cannot_link=np.concatenate([np.column_stack([some(a, 12), some(b, 12)]) for a, b in across]),
    n_samples=n,
)

on_round = np.full(n, -1)
for name, number in {"north-west": 0, "south-west": 1}.items():
    on_round[some(name, 4)] = number
for name in ("north-middle", "south-middle", "north-east", "south-east"):
    on_round[some(name, 2)] = 2
labels = Constraints.from_labels(on_round)

boats = np.full(n, -1)
south = np.flatnonzero(np.char.startswith(hamlet, "south"))
boats[south] = np.arange(len(south)) % 6  # every boat from all over the south bank
groups = Constraints.from_groups(boats)

# %%
# Five results, and the one without knowledge.

plain = KMeans(3, random_state=0).fit(X)
longest = np.argmax(np.bincount(plain.labels_))
equal = SizeConstrainedKMeans(3, min_size=1 / 3, max_size=1 / 3, random_state=0).fit(X)
results = {
    "Nothing known: KMeans": plain.labels_,
    "24 must-links, 24 cannot-links: PCKMeans": PCKMeans(3, random_state=0)
    .fit(X, constraints=pairs)
    .labels_,
    "16 labels: ConstrainedKMeans": ConstrainedKMeans(3, random_state=0)
    .fit(X, constraints=labels)
    .labels_,
    "6 groups: COPKMeans": COPKMeans(3, random_state=0).fit(X, constraints=groups).labels_,
    "70 households each: SizeConstrainedKMeans": equal.labels_,
    "Only the longest round split: split_cluster": split_cluster(
        KMeans(random_state=0), X, plain.labels_, longest
    ),
}

colours = np.array(["#4477aa", "#ee9944", "#44aa77", "#aa3377"])
figure, axes = plt.subplots(2, 3, figsize=(14, 7), layout="constrained", sharex=True, sharey=True)
for ax, (title, found) in zip(axes.flat, results.items(), strict=True):
    # Three clusters from west to east; the new part of one that was split comes last.
    from_west = np.append(np.argsort([X[found == h, 0].mean() for h in range(3)]), 3)
    ax.axhspan(1.05, 1.55, color="#cfe5f2", zorder=0)
    ax.scatter(*X.T, c=colours[np.argsort(from_west)[found]], s=16)
    lengths = np.bincount(found, minlength=4)[from_west]
    ax.set_title(title, fontsize=11)
    ax.set_xlabel("sizes " + ", ".join(str(m) for m in lengths if m))
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_aspect("equal")

# %%
# On each map what was known: must-links as lines and cannot-links as dots between households,
# labels as rings, groups as the thin lines of one boat, the round that was split in its own box.

ax = axes.flat[1]
for i, j in pairs.must_link:
    ax.plot(*X[[i, j]].T, color="0.25", linewidth=0.8)
for i, j in pairs.cannot_link:
    ax.plot(*X[[i, j]].T, color="0.25", linewidth=0.9, linestyle=":")
known = on_round >= 0
axes.flat[2].scatter(*X[known].T, s=90, facecolors="none", edgecolors="0.15", linewidths=1.3)
boat = X[boats == 0]
axes.flat[3].plot(*boat[np.argsort(boat[:, 0])].T, color="0.25", linewidth=0.8)
low, high = X[plain.labels_ == longest].min(axis=0), X[plain.labels_ == longest].max(axis=0)
axes.flat[5].add_patch(
    plt.Rectangle(low - 0.2, *(high - low + 0.4), fill=False, edgecolor="0.25", linestyle="--")
)
figure.suptitle("The same data, five kinds of knowledge, five results")
plt.show()
