"""
Four degrees of balance
=======================

Three teams are to be made of people who live in a large town, a small town and a village. Plain
k-means follows the towns. What is known here is not about pairs but about sizes: teams should not
be too small, or be equal.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from sidelight.cluster import BalancedKMeans, FrequencySensitiveKMeans, KMeans, SoftBalancedKMeans
from sidelight.display import ClusterDisplay, SizesDisplay

X, _ = make_blobs(
    [240, 90, 30], centers=[[0, 0], [5, 1], [2, 5]], cluster_std=[1.6, 0.9, 0.7], random_state=4
)
fits = {
    "KMeans": KMeans(3, random_state=0),
    "Balanced, at least half of n/k": BalancedKMeans(3, balance=0.5, random_state=0),
    "Balanced, equal sizes": BalancedKMeans(3, balance=1.0, assignment="flow", random_state=0),
    "Soft balance": SoftBalancedKMeans(3, temperature=0.1, random_state=0),
}

# %%
# The minimum, drawn as a line across the bars, always holds. With memberships the *sums* over all
# rows are equal; a row between two clusters belongs to both, and is the paler the less it belongs
# to the one whose color it has.

figure, axes = plt.subplots(2, 4, figsize=(15, 6), height_ratios=(3, 1), layout="constrained")
first = None
for (above, below), (title, model) in zip(axes.T, fits.items(), strict=True):
    model.fit(X)
    sure = getattr(model, "memberships_", np.ones((len(X), 1))).max(axis=1)
    drawn = ClusterDisplay.from_estimator(model, X, like=first, names=False, alpha=sure, ax=above)
    first = first or drawn
    above.set_title(title)
    SizesDisplay.from_estimator(model, like=drawn, ax=below)
    below.set(title="", ylim=(0, 260))
plt.show()

# %%
# Directions that arrive one by one: frequency-sensitive clusters attract less the more they have
# had lately, here within a memory of 200 rows. At the dashed line the stream changes; the counts
# still add up to the memory, and the clusters find the new directions.

rng = np.random.default_rng(0)
before, after = rng.normal(size=(2, 4, 20))
kinds = rng.choice(4, size=2000, p=[0.4, 0.3, 0.2, 0.1])
stream = np.where(np.arange(2000)[:, None] < 1000, before[kinds], after[kinds])
stream = stream + 0.5 * rng.normal(size=stream.shape)

model = FrequencySensitiveKMeans(4, memory=200).partial_fit(stream[:50])
counts, cosines = [], []
for chunk in np.split(stream[50:], 39):
    cosines.append(np.mean(1 - model.transform(chunk).min(axis=1)))  # before they are learnt
    counts.append(model.partial_fit(chunk).effective_counts_)

seen = 50 * np.arange(2, 41)
figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 5), layout="constrained", sharex=True)
top.plot(seen, counts)
top.set_ylabel("effective counts")
bottom.plot(seen, cosines, color="0.3")
bottom.set_ylabel("mean cosine\nof the next 50 rows")
bottom.set_xlabel("rows seen")
for ax in (top, bottom):
    ax.axvline(1000, color="0.6", linestyle="--")
    ax.grid(alpha=0.3)
figure.suptitle("A stream with a memory of 200 rows")
plt.show()
