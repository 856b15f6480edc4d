"""
Which references name the same author
=====================================

Names alone cannot tell two people called W. Wang apart, and miss the one who is once written
"Wang, Wei". Who they write with can: collective resolution merges references whose names are alike
and whose co-authors have turned out to be the same people. The curves show precision and recall
over all thresholds, for the names alone and for names with co-authors.
"""

import matplotlib.pyplot as plt

from sidelight.datasets import make_papers
from sidelight.display import ResolutionCurveDisplay
from sidelight.relational import AttributeResolution, CollectiveResolution

papers = make_papers(random_state=0)
names = {"name": papers.columns["name"]}
by_name = AttributeResolution(0.5).fit(names)
collective = CollectiveResolution(0.4).fit(names, relations=papers.relations)
print(collective.explain(0))

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
for ax, model in zip(axes, (by_name, collective), strict=True):
    ResolutionCurveDisplay.from_estimator(model, papers.target, ax=ax)
    ax.set_title(type(model).__name__)
plt.show()
