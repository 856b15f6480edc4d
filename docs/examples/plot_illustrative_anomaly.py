"""
Constraints that move clusters, not points
==========================================

Two rows of Gaussians; two must-links ask for left against right, while the gap between top and
bottom is wider. Methods that keep constraints by giving labels to the points that are mentioned can
do that at the price of a few points: they flip one end of each link (drawn large) and leave the
clusters where they were, however hard the constraints are. Its neighbours, which are just like it,
stay on the other side: Law (2006, section 5.2) calls it counter-intuitive.

DiscriminativeMixture has no label to give away. The label of every point, mentioned or not, is the
most probable component; constraints are a price on the parameters. Once the price outweighs the
likelihood, the components themselves turn.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight.cluster import COPKMeans
from sidelight.datasets import make_four_gaussians
from sidelight.display import ClusterDisplay
from sidelight.evaluation import clustering_accuracy
from sidelight.mixture import ChunkletMixture, DiscriminativeMixture

data = make_four_gaussians(random_state=0)
X, known = data.data, data.constraints
size = np.full(len(X), 10)
size[known.mentioned] = 120

fits = {
    "COPKMeans: hard": COPKMeans(2, random_state=0),
    "ChunkletMixture: hard EM": ChunkletMixture(
        2, covariance_type="tied", n_init=10, random_state=0
    ),
    "DiscriminativeMixture, λ = 50": DiscriminativeMixture(2, penalty=50.0, random_state=0),
    "DiscriminativeMixture, λ = 500": DiscriminativeMixture(2, penalty=500.0, random_state=0),
}

# %%
# Ellipses are two standard deviations wide; shades tell where a new point would go.

figure, axes = plt.subplots(1, 4, figsize=(14, 5.8), layout="constrained", sharey=True)
for ax, (title, model) in zip(axes, fits.items(), strict=True):
    model.fit(X, constraints=known)
    ClusterDisplay.from_estimator(
        model, X, constraints=known, regions=True, names=False, legend=False, s=size, ax=ax
    )
    agreement = clustering_accuracy(data.target, model.labels_)
    ax.set_title(f"{title}\n{model.n_violations_} links violated, {agreement:.0%} as meant")
plt.show()

# %%
# Two local optima compete: top and bottom fits better, left and right violates nothing. Their
# objectives are straight lines in the price, which cross where the log-likelihoods differ by the
# price of both links. The search from several starts returns the higher one.

prices = np.linspace(0, 500, 11)
best = [
    DiscriminativeMixture(2, penalty=price, n_init=10, random_state=0).fit(X, constraints=known)
    for price in prices
]
top = -DiscriminativeMixture(2, penalty=0.0, random_state=0).fit(X).objective_ * len(X)
side = -fits["DiscriminativeMixture, λ = 500"].objective_ * len(X)

figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
ax.plot(prices, top - 2 * prices, color="C0", label="top and bottom: L - 2 λ")
ax.plot(prices, np.full_like(prices, side), color="C1", label="left and right: L")
ax.plot(prices, [-model.objective_ * len(X) for model in best], "o", color="0.2", label="found")
ax.axvline((top - side) / 2, color="0.6", linestyle=":")
ax.set(xlabel="price λ of a violated link", ylabel="objective J")
ax.legend()
plt.show()
