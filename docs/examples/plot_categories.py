"""
Tidy a category system
======================

Pages about eight topics are filed under ten classes: two topics have two classes each, and 15 % of
the pages stand in the class of a related topic. The picture shows where the documents of every
class went. What stayed is on the diagonal, two rows of one column are classes that became one
category, and what is beside the diagonal has moved.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight.cluster import TextCategories
from sidelight.datasets import make_category_corpus
from sidelight.display import CategoryFlowDisplay
from sidelight.evaluation import purity

corpus = make_category_corpus(3000, n_topics=8, n_duplicated=2, random_state=0)
classes = np.array(corpus.extras["class_names"])[corpus.extras["labels"]]
model = TextCategories(merge_threshold=0.85).fit(corpus.data, classes)
print(model.summary())
print("merged:", [" + ".join(group) for group in model.merged_])

display = CategoryFlowDisplay.from_estimator(model)
display.ax_.set_title(
    f"purity by topic: {purity(corpus.target, classes):.2f} of the classes, "
    f"{purity(corpus.target, model.labels_):.2f} of the categories"
)

# %%
# The nearest categories of a document, and why.
words = corpus.feature_names
ranking = model.rank(corpus.data[:4])
for row in range(4):
    best = model.category_names_[ranking.categories[row, 0]]
    print(f"{best}: {ranking.why(row, 0, model.category_names_, words)}")
plt.show()
