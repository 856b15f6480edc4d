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
from sidelight.display import ClusterDisplay, ConstraintsDisplay

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
# The statements themselves: pairs that belong together or apart, rounds that some are on, boats.

figure, axes = plt.subplots(1, 3, figsize=(15, 4.2), layout="constrained", sharey=True)
for ax, known in zip(axes, (pairs, labels, groups), strict=True):
    ConstraintsDisplay.from_constraints(known, X, feature_names=["west to east", "bank"], ax=ax)
plt.show()

# %%
# Five results, and the one without knowledge. Rings are known rounds, squares people with boats.

plain = KMeans(3, random_state=0).fit(X)
longest = np.argmax(np.bincount(plain.labels_))
models = {
    "24 must-links, 24 cannot-links: PCKMeans": (PCKMeans(3, random_state=0), pairs),
    "16 labels: ConstrainedKMeans": (ConstrainedKMeans(3, random_state=0), labels),
    "6 groups: COPKMeans": (COPKMeans(3, random_state=0), groups),
    "70 households each: SizeConstrainedKMeans": (
        SizeConstrainedKMeans(3, min_size=1 / 3, max_size=1 / 3, random_state=0),
        None,
    ),
}
results = {
    "Nothing known: KMeans": (plain.labels_, None),
    **{
        title: (model.fit(X, constraints=known).labels_, known)
        for title, (model, known) in models.items()
    },
    "Only the longest round split: split_cluster": (
        split_cluster(KMeans(random_state=0), X, plain.labels_, longest),
        None,
    ),
}

figure, axes = plt.subplots(2, 3, figsize=(15, 8), layout="constrained", sharex=True, sharey=True)
first = None
for ax, (title, (found, known)) in zip(axes.flat, results.items(), strict=True):
    drawn = ClusterDisplay.from_labels(X, found, constraints=known, like=first, legend=False, ax=ax)
    first = first or drawn
    ax.axhspan(1.05, 1.55, color="#88bbdd", alpha=0.4, zorder=0)
    ax.set_title(title)
    ax.set_xlabel("sizes " + ", ".join(str(size) for size in np.bincount(found)))
    ax.set(xticks=[], yticks=[], ylabel="", aspect="equal")
figure.suptitle("The same data, five kinds of knowledge, five results")
plt.show()
