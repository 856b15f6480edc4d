"""Degrees and Laplacians of similarity graphs (Hamad, part 1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight.exceptions import SidelightError


def check_graph(W: Any, name_rows: Callable[[Any], list[str]] | None = None) -> sparse.csr_array:
    """Check a similarity matrix (square, finite, symmetric, not negative) and return it as CSR.

    ``name_rows`` gives the names of rows for messages, such as ``Constraints.name_rows``.
    """
    graph = sparse.csr_array(W, dtype=np.float64)
    if graph.shape[0] != graph.shape[1]:
        raise SidelightError(f"A similarity matrix is square; this one has shape {graph.shape}.")
    bad = np.flatnonzero(~np.isfinite(graph.data) | (graph.data < 0))
    if len(bad):
        row = int(np.searchsorted(graph.indptr, bad[0], side="right") - 1)
        column = int(graph.indices[bad[0]])
        named = "" if name_rows is None else f" ({' and '.join(name_rows([row, column]))})"
        raise SidelightError(
            f"Similarities are finite and not negative; row {row}, column {column}{named} holds "
            f"{graph.data[bad[0]]}."
        )
    if not graph.data.all():
        graph = graph.copy()  # the caller's own matrix may be what is checked
        graph.eliminate_zeros()
    asymmetry = abs(graph - graph.T)
    largest = float(graph.data.max()) if graph.nnz else 0.0
    # Similarities that were stored in single precision are symmetric up to its rounding.
    if asymmetry.nnz and float(asymmetry.data.max()) > 1e-6 * largest:
        where = asymmetry.tocoo()
        worst = int(np.argmax(where.data))
        i, j = int(where.coords[0][worst]), int(where.coords[1][worst])
        named = "" if name_rows is None else f" ({' and '.join(name_rows([i, j]))})"
        raise SidelightError(
            f"Similarities are symmetric; rows {i} and {j}{named} have {graph[i, j]} one way and "
            f"{graph[j, i]} the other. Take (W + W.T) / 2 if both are meant."
        )
    return graph if not asymmetry.nnz else sparse.csr_array((graph + graph.T) / 2)


def degrees(W: Any) -> Array:
    """Sum of the weights of every row.

    Examples
    --------
    >>> from sidelight.graphs import degrees
    >>> degrees([[0.0, 0.5], [0.5, 0.0]])
    array([0.5, 0.5])
    """
    return np.asarray(W.sum(axis=1) if sparse.issparse(W) else np.sum(W, axis=1)).reshape(-1)


def inverse_root(degree: Array) -> Array:
    """``d^{-1/2}``, and 0 for rows without an edge."""
    with np.errstate(divide="ignore"):
        return np.where(degree > 0, 1.0 / np.sqrt(degree), 0.0)


def normalized_graph(W: Any) -> sparse.csr_array:
    """``D^{-1/2} W D^{-1/2}``; rows without an edge stay zero.

    Examples
    --------
    >>> from sidelight.graphs import normalized_graph
    >>> normalized_graph([[0.0, 0.5], [0.5, 0.0]]).toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    graph = sparse.csr_array(W, dtype=np.float64)
    scale = sparse.diags_array(inverse_root(degrees(graph)))
    return sparse.csr_array(scale @ graph @ scale)


def laplacian(
    W: Any, kind: Literal["unnormalized", "symmetric", "random-walk"] = "symmetric"
) -> sparse.csr_array:
    """Laplacian of a graph.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        Similarities.
    kind : {"unnormalized", "symmetric", "random-walk"}, default="symmetric"
        ``D - W``, ``I - D^{-1/2} W D^{-1/2}`` or ``I - D^{-1} W``. Rows without an edge have a
        Laplacian of 0: each is a part of its own.

    Returns
    -------
    L : csr_array of shape (n, n)
        Positive semi-definite (similar to such a matrix for "random-walk").

    Examples
    --------
    >>> from sidelight.graphs import laplacian
    >>> laplacian([[0.0, 0.5], [0.5, 0.0]], "unnormalized").toarray()
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    graph = sparse.csr_array(W, dtype=np.float64)
    degree = degrees(graph)
    if kind == "unnormalized":
        return sparse.csr_array(sparse.diags_array(degree) - graph)
    inside = sparse.diags_array((degree > 0).astype(np.float64))
    if kind == "symmetric":
        return sparse.csr_array(inside - normalized_graph(graph))
    if kind == "random-walk":
        with np.errstate(divide="ignore"):
            inverse = np.where(degree > 0, 1.0 / degree, 0.0)
        return sparse.csr_array(inside - sparse.diags_array(inverse) @ graph)
    raise ValueError(f"kind must be 'unnormalized', 'symmetric' or 'random-walk', got {kind!r}.")
