"""
Which features make the clusters?
=================================

Four clusters live in two of ten features; the other eight are noise. The feature-saliency mixture
is told neither how many clusters there are nor where to look: it starts from thirty components,
lets go of those that do not pay for their parameters, and learns for every feature the probability
that it matters.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from sidelight.mixture import FeatureSaliencyMixture

rng = np.random.default_rng(1)
centres = np.array([(0, 3), (1, 9), (6, 4), (7, 10)])[rng.integers(4, size=800)]
X = np.hstack([centres, np.zeros((800, 8))]) + rng.normal(size=(800, 10))

model = FeatureSaliencyMixture(random_state=0).fit(X)
print(f"{model.n_components_} components after {model.n_iter_} sweeps")

# %%
# Left: the two features that matter, with the components (two standard deviations), and the common
# density dashed, which stands in where a feature does not matter. Middle: the saliencies; those of
# most noise features are exactly 0. Right: the length of the message that tells the model and the
# data. Most of the thirty components vanish by themselves; from where the search first stands
# still, the weakest is taken away again and again, and the model with the shortest message is kept.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
colours = plt.colormaps["Set2"].colors
left.scatter(*X[:, :2].T, c=[colours[label] for label in model.labels_], s=8)
for mean, variance in zip(model.means_, model.covariances_, strict=True):
    left.add_patch(Ellipse(mean[:2], *4 * np.sqrt(variance[:2]), fill=False, linewidth=1.5))
left.add_patch(
    Ellipse(
        model.common_means_[:2],
        *4 * np.sqrt(model.common_variances_[:2]),
        fill=False,
        linestyle="--",
        color="0.4",
    )
)
left.set(xlabel="feature 1", ylabel="feature 2", aspect="equal", title="components")

features = np.arange(1, 11)
middle.bar(features, model.saliencies_, color=np.where(model.get_support(), "C0", "0.7"))
middle.axhline(0.5, color="0.4", linestyle=":", linewidth=1)
middle.set(xticks=features, xlabel="feature", ylabel="saliency", title="what matters")

numbers, lengths = model.search_["n_components"], model.search_["message_length"]
right.plot(numbers, lengths, "o-", markersize=4)
right.plot(model.n_components_, lengths.min(), "o", color="C3", label="kept")
right.set(
    xlabel="number of components",
    ylabel="message length",
    xticks=numbers,
    title="how many",
)
right.legend()
plt.show()
