"""
A table to publish, and what it costs
=====================================

A made-up census of adults is generalized until every row is like at least k - 1 others. The more
rows have to be alike, the wider the published ranges: the share of a column that a published value
leaves open grows with k, and with the diversity that sensitive columns have to keep. Below, how
many rows are published alike for k = 10; a class much larger than that tells less than it could.
"""

import matplotlib.pyplot as plt
import pandas as pd

from sidelight.datasets import make_adult_like
from sidelight.display import ClassSizesDisplay
from sidelight.privacy import Anonymizer, check_anonymity

adults = pd.DataFrame(make_adult_like(1000, random_state=0).columns)
quasi = ["age", "education", "marital_status", "race", "sex"]
sensitive = adults["occupation"].fillna("no answer")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
sizes = [2, 5, 10, 25, 50]
for least in (1, 6):
    models = [
        Anonymizer(k, l=least, diversity="entropy", random_state=0).fit(
            adults[quasi], sensitive=sensitive
        )
        for k in sizes
    ]
    left.plot(sizes, [model.loss_["ncp"] for model in models], marker="o", label=f"l = {least}")
left.set(xlabel="k", ylabel="share left open (NCP)", ylim=(0, None))
left.legend()

model = models[sizes.index(10)]
print(model.published_.head())
published = model.published_.assign(occupation=sensitive)
check = check_anonymity(published, quasi, "occupation", k=10, l=6, diversity="entropy")
print(check)
ClassSizesDisplay.from_check(check, ax=right)
plt.show()
