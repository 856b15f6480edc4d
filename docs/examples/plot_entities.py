"""
Which references name the same author
=====================================

Names alone cannot tell two people called W. Wang apart, and miss the one who is once written
"Wang, Wei". Who they write with helps: collective resolution merges references whose names are
alike and whose co-authors have turned out to be the same people. The curves show precision and
recall over all thresholds, for the names alone and for names with co-authors; the names alone need
the right threshold, and only the truth tells which it is.
"""

import matplotlib.pyplot as plt

from sidelight.datasets import make_papers
from sidelight.display import ResolutionCurveDisplay
from sidelight.evaluation import pairwise_f1
from sidelight.relational import AttributeResolution, CollectiveResolution

papers = make_papers(random_state=12)
names = {"name": papers.columns["name"]}
collective = CollectiveResolution().fit(names, relations=papers.relations)
print(collective.explain(0))

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
curves = {
    "names": (AttributeResolution(), AttributeResolution(0.6)),
    "names and co-authors": (CollectiveResolution(), CollectiveResolution(0.45)),
}
for ax, (title, (usual, lenient)) in zip(axes, curves.items(), strict=True):
    default = usual.fit(names, relations=papers.relations)
    score = pairwise_f1(papers.target, default.labels_)
    ResolutionCurveDisplay.from_estimator(
        lenient.fit(names, relations=papers.relations), papers.target, ax=ax
    )
    ax.set_title(f"{title}: F1 {score:.2f} with the default threshold")
plt.show()
