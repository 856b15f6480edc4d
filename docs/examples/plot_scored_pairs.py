"""
Scored pairs that contradict each other
=======================================

Every pair of 120 objects is scored as the same or different, and 12 % of the scores are wrong.
Connected components of the positive pairs glue everything together. Correlation clustering finds
the partition that disagrees with the fewest scores, and proves how good it is: disagreements, in
red, are what is left of the noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight.datasets import make_signed_graph
from sidelight.display import SignMatrixDisplay
from sidelight.evaluation import adjusted_rand_index
from sidelight.relational import CorrelationClustering

scored, truth = make_signed_graph(120, 5, flip=0.12, random_state=0)
components = scored.components(positive=True)
model = CorrelationClustering(random_state=0).fit(scored)
print(model.summary())

figure, axes = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
shuffled = np.random.default_rng(0).permutation(len(truth))
SignMatrixDisplay.from_relations(scored.restrict(shuffled), components[shuffled], ax=axes[0])
axes[0].set_title(
    f"one component: adjusted Rand index {adjusted_rand_index(truth, components):.2f}"
)
SignMatrixDisplay.from_relations(scored, model.labels_, ax=axes[1])
axes[1].set_title(
    f"cost {model.objective_:g}, gap {model.gap_:.1%}: adjusted Rand index "
    f"{adjusted_rand_index(truth, model.labels_):.2f}"
)
plt.show()
