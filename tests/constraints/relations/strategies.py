"""Relations to draw in property tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from sidelight import Relations

#: Scores that are exact in every file format, and some that are not short.
scores = st.one_of(
    st.integers(-5, 5).map(float),
    st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: value + 0.0),
)
words = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=6).filter(
    lambda word: word == word.strip() and not word.startswith("'")
)


@st.composite
def graphs(draw: Any, max_nodes: int = 9, min_edges: int = 0, named: bool = True) -> Relations:
    """Signed graphs with positions, whole numbers or words as ids."""
    n = draw(st.integers(2, max_nodes))
    ids = None
    if named:
        ids = draw(
            st.one_of(
                st.none(),
                st.lists(st.integers(-50, 50), min_size=n, max_size=n, unique=True),
                st.lists(words, min_size=n, max_size=n, unique=True),
            )
        )
    possible = [(i, j) for i in range(n) for j in range(i + 1, n)]
    chosen = draw(st.lists(st.sampled_from(possible), min_size=min_edges, unique=True))
    values = draw(st.lists(scores, min_size=len(chosen), max_size=len(chosen)))
    flipped = [(j, i) if draw(st.booleans()) else (i, j) for i, j in chosen]
    pairs = np.array(flipped, np.int64).reshape(-1, 2)
    if ids is None:
        return Relations(pairs, values, n_samples=n)
    return Relations([(ids[i], ids[j]) for i, j in flipped], values, ids=ids)
