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

from sidelight.display import ClusterDisplay, SearchDisplay
from sidelight.mixture import FeatureSaliencyMixture

rng = np.random.default_rng(1)
centres = np.array([(0, 3), (1, 9), (6, 4), (7, 10)])[rng.integers(4, size=800)]
X = np.hstack([centres, np.zeros((800, 8))]) + rng.normal(size=(800, 10))

model = FeatureSaliencyMixture(random_state=0).fit(X)
print(f"{model.n_components_} components after {model.n_iter_} sweeps")

# %%
# Left: the two features that matter, with the components (two standard deviations). Middle: the
# saliencies; those of most noise features are exactly 0. Right: the length of the message that
# tells the model and the data. Most of the thirty components vanish by themselves; from where the
# search first stands still, the weakest is taken away again and again, and the model with the
# shortest message is kept.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.4), layout="constrained")
ClusterDisplay.from_estimator(model, X, features=[0, 1], ax=left)
left.set_aspect("equal")

features = np.arange(10)
middle.bar(features, model.saliencies_, color=np.where(model.get_support(), "C0", "0.7"))
middle.axhline(0.5, color="0.4", linestyle=":", linewidth=1)
middle.set(xticks=features, xlabel="feature", ylabel="saliency", title="What matters")

SearchDisplay.from_estimator(model, ax=right)
right.set_title("How many: the shortest message is kept")
plt.show()
