"""
Pictures of maps
================

A Swiss roll, mapped by two methods that see it differently: Sammon's mapping keeps straight
distances and presses the roll flat, Isomap keeps distances along the sheet and unrolls it. The
guides on :doc:`/display/index` and :doc:`/evaluation/maps` say more.
"""

import matplotlib.pyplot as plt

from sidelight.datasets import make_swiss_roll
from sidelight.display import EmbeddingDisplay, GrowthDisplay, SpectrumDisplay
from sidelight.evaluation import map_scores
from sidelight.manifold import IncrementalIsomap, Isomap, SammonMapping

roll = make_swiss_roll(700, random_state=0)
along = roll.coordinates[:, 0]
maps = {
    "Sammon": SammonMapping().fit(roll.data),
    "Isomap": Isomap(n_components=2, n_neighbors=8).fit(roll.data),
}
for name, model in maps.items():
    scores = map_scores(
        roll.data, model.embedding_, k=8, geodesics=roll.geodesics(), truth=roll.coordinates
    )
    print(name, {measure: round(value, 2) for measure, value in scores.items()})

# %%
# The map, colored by the position along the roll, with the neighbors that it loses in red. A roll
# that is pressed flat loses those that lie beside each other along its axis.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for ax, model in zip(axes, maps.values(), strict=True):
    EmbeddingDisplay.from_estimator(model, roll.data, color=along, n_neighbors=4, ax=ax)
plt.show()

# %%
# How many coordinates it takes: the residual variance of the geodesics levels off at two.

wide = Isomap(n_components=6, n_neighbors=8).fit(roll.data)
SpectrumDisplay.from_coordinates(
    roll.geodesics(),
    {"Isomap": wide.embedding_, "Sammon": maps["Sammon"].embedding_},
    chosen=2,
)
plt.show()

# %%
# How a map of a stream grew: each frame is turned onto the next, new rows are outlined.
# ``animate()`` makes a film of the same frames.

GrowthDisplay.from_stream(IncrementalIsomap(n_neighbors=8), roll.data, n_frames=5, color=along)
plt.show()
