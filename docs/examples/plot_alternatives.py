"""
Another split than the known one
================================

Four groups of rows can be paired in two ways. k-means finds the clearer one, which everybody knows
already; given as a known split, it is avoided, and the other way to pair the groups is found.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight.cluster import CondEns, find_alternatives
from sidelight.display import ContingencyDisplay, SplitsDisplay

rng = np.random.default_rng(0)
region, habit = rng.integers(0, 2, (2, 300))
X = np.column_stack([9 * region, 5 * habit]) + rng.normal(size=(300, 2))
known = {"region": np.array(["north", "south"])[region]}

# %%
# The rows colored by the known split and by the first two alternatives. The second has to differ
# from both the known split and the first one; little is left for it but to cut across.

found = find_alternatives(CondEns(2, random_state=0), X, 2, known=known)
SplitsDisplay.from_estimators(found, X, known=known)
plt.show()

# %%
# Old against new: rows of the table with the same shades say that the splits are independent.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
ContingencyDisplay.from_labels(
    known, found[0].labels_, title="region and alternative 1", ax=axes[0]
)
ContingencyDisplay.from_labels(habit, found[0].labels_, title="habit and alternative 1", ax=axes[1])
plt.show()
