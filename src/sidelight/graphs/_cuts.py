"""Costs of a partition of a graph (Hamad, part 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._typing import Array


@dataclass(frozen=True)
class Cuts:
    """Cut values of a partition; with ``Cut(A, B) = Σ_{i∈A, j∈B} W_ij`` over ordered pairs.

    Attributes
    ----------
    cut : float
        ``½ Σ_g Cut(A_g, rest)``: the weight of the edges between parts, each counted once.
    ratio_cut : float
        ``Σ_g Cut(A_g, rest) / |A_g|``.
    normalized_cut : float
        ``Σ_g Cut(A_g, rest) / Vol(A_g)``, ``Vol`` the sum of degrees.
    min_max_cut : float
        ``Σ_g Cut(A_g, rest) / Cut(A_g, A_g)``; infinite for a part without inner edges.
    """

    cut: float
    ratio_cut: float
    normalized_cut: float
    min_max_cut: float


def cut_values(W: Any, labels: npt.ArrayLike) -> Cuts:
    """Measure a partition of a graph by all four criteria.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        Symmetric similarities.
    labels : array of int, shape (n,)
        Part of every vertex.

    Returns
    -------
    Cuts
        The values.

    Examples
    --------
    The six points of the lecture, whose best partition is ``{1, 2, 3}`` against ``{4, 5, 6}``:

    >>> import numpy as np
    >>> from sidelight.graphs import cut_values
    >>> W = np.zeros((6, 6))
    >>> edges = {(1, 2): 0.8, (1, 3): 0.6, (1, 5): 0.1, (2, 3): 0.8,
    ...          (3, 4): 0.2, (4, 5): 0.8, (4, 6): 0.7, (5, 6): 0.8}
    >>> for (i, j), weight in edges.items():
    ...     W[i - 1, j - 1] = W[j - 1, i - 1] = weight
    >>> cuts = cut_values(W, [0, 0, 0, 1, 1, 1])
    >>> [round(value, 6) for value in (cuts.cut, cuts.normalized_cut, cuts.ratio_cut)]
    [0.3, 0.125054, 0.2]
    """
    graph = sparse.csr_array(W, dtype=np.float64)
    parts = np.unique(np.asarray(labels), return_inverse=True)[1].reshape(-1)
    k = int(parts.max()) + 1 if len(parts) else 0
    entries = graph.tocoo()
    rows, columns = entries.coords
    within = np.bincount(
        parts[rows], weights=entries.data * (parts[rows] == parts[columns]), minlength=k
    )
    volume = np.bincount(parts[rows], weights=entries.data, minlength=k)
    leaving = volume - within
    sizes = np.bincount(parts, minlength=k)
    return Cuts(
        cut=float(leaving.sum()) / 2,
        ratio_cut=float(np.sum(leaving / sizes)),
        normalized_cut=float(np.sum(_share(leaving, volume))),
        min_max_cut=float(np.sum(_share(leaving, within))),
    )


def _share(part: Array, whole: Array) -> Array:
    """``part / whole``; infinite over 0, and 0 for 0 over 0: a vertex without edges is no cut."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(part > 0, part / whole, 0.0)
