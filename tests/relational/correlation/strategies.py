"""Random signed graphs for properties."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.relational.correlation.enumerate import random_graph

#: Small graphs of any density, with must-links, conflicts and sources.
GRAPHS = st.builds(
    random_graph,
    st.integers(0, 10**6),
    st.integers(1, 8),
    density=st.sampled_from([0.3, 0.6, 1.0]),
    absent=st.sampled_from([0.0, 0.3, 1.0]),
    unit=st.booleans(),
    n_must=st.integers(0, 2),
    n_cannot=st.integers(0, 3),
    n_sources=st.integers(0, 2),
)
