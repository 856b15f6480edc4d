"""Parts of a neighbor graph that hold no labeled row."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from sidelight._typing import IntArray
from sidelight._warn import warn
from sidelight._words import counted, setting
from sidelight.constraints import Constraints
from sidelight.exceptions import ConstraintWarning


def warn_of_parts_without_labels(
    graph: Any, labels: IntArray, known: Constraints, what_was_done: str
) -> int:
    """Warn how many unlabeled rows have no path to a labeled one in the graph.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        The neighbor graph.
    labels : ndarray of shape (n,)
        Codes of the classes, -1 for unlabeled rows.
    known : Constraints
        Names the rows.
    what_was_done : str
        What the method made of them, as a sentence.

    Returns
    -------
    n_cut_off : int
        Number of these rows.
    """
    n_parts, part = connected_components(graph, directed=False)
    has_label = np.bincount(part[labels >= 0], minlength=n_parts) > 0
    cut_off = np.flatnonzero(~has_label[part])
    if len(cut_off):
        first = known.name_rows([int(cut_off[0])])[0]
        parts = counted(int((~has_label).sum()), "part")
        warn(
            f"{counted(len(cut_off), 'unlabeled row')} (the first is {first}) in {parts} of the "
            f"neighbor graph cannot be reached from a labeled row. {what_was_done} Label a row of "
            f"each part, or take a larger {setting('n_neighbors')}.",
            ConstraintWarning,
        )
    return len(cut_off)
