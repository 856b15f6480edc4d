"""Alignment of two maps, and of maps with the coordinates that generated the data."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from sidelight._typing import FloatArray
from sidelight.evaluation.maps._pair import check_finite, check_lengths, map_pair, matrix
from sidelight.exceptions import SidelightError


def procrustes_align(A: Any, B: Any, *, scaling: bool = True) -> FloatArray:
    r"""Lay the points ``B`` on the points ``A`` as well as shifts, turns and reflections allow.

    .. math:: \min_{s, R, t} \sum_i \lVert a_i - s b_i R - t \rVert^2 \quad R^T R = I

    Read more in the :doc:`user guide </evaluation/maps>`.

    Parameters
    ----------
    A, B : array of shape (n, n_components)
        Coordinates of the same points. A map with fewer coordinates than the other is taken to be
        0 in those that it lacks.
    scaling : bool, default=True
        Whether the size ``s`` may change too; otherwise it is 1.

    Returns
    -------
    ndarray of shape (n, n_components)
        ``B`` moved, in the coordinates of ``A``, or more of them if ``B`` has more.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.evaluation import procrustes_align
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> turned = 3 * square[:, ::-1] + 5
    >>> bool(np.allclose(procrustes_align(square, turned), square))
    True
    """
    first, second = _same_points(A, B)
    center = first.mean(axis=0)
    fixed, moving = first - center, second - second.mean(axis=0)
    rotation, gain = _rotation(fixed, moving)
    size = float(np.sum(moving**2))
    scale = gain / size if scaling and size > 0 else 1.0
    return np.asarray(scale * (moving @ rotation) + center)


def procrustes_distance(A: Any, B: Any, *, scaling: bool = True) -> float:
    r"""Share of the spread of ``A`` that is left when ``B`` is laid on it.

    .. math:: \frac{\min \sum_i \lVert a_i - s b_i R - t \rVert^2}
              {\sum_i \lVert a_i - \bar a \rVert^2}

    With ``scaling`` it lies between 0 and 1, is the same in both directions, and is the disparity
    of :func:`scipy.spatial.procrustes`; without, it may exceed 1. Read more in the
    :doc:`user guide </evaluation/maps>`.

    Parameters
    ----------
    A, B : array of shape (n, n_components)
        Coordinates of the same points. A map with fewer coordinates than the other is taken to be
        0 in those that it lacks.
    scaling : bool, default=True
        Whether the size ``s`` may change too; otherwise it is 1.

    Returns
    -------
    float
        0 for maps that are the same up to a shift, a turn or a reflection.

    Examples
    --------
    >>> from sidelight.evaluation import procrustes_distance
    >>> round(procrustes_distance([[0.0], [1.0], [2.0]], [[4.0], [2.0], [0.0]]), 12)
    0.0
    >>> procrustes_distance([[0.0], [1.0], [2.0]], [[4.0], [2.0], [0.0]], scaling=False)
    1.0
    """
    first, second = _same_points(A, B)
    spread = float(np.sum((first - first.mean(axis=0)) ** 2))
    left = float(np.sum((first - procrustes_align(first, second, scaling=scaling)) ** 2))
    return left / spread


def embedding_error(
    X: Any, X_hat: Any, *, align: Literal["rotation", "signs", "none"] = "rotation"
) -> float:
    r"""Error of approximate coordinates against exact ones (Law 2006, section 3.3.1).

    .. math:: E_n = \sqrt{\frac{\sum_i \lVert x_i - \hat x_i \rVert^2}{\sum_i \lVert x_i \rVert^2}}

    after both were centered and ``X_hat`` was aligned. Read more in the
    :doc:`user guide </evaluation/maps>`.

    Parameters
    ----------
    X : array of shape (n, n_components)
        Exact coordinates, for instance of a batch fit.
    X_hat : array of shape (n, n_components)
        Coordinates of the same rows, for instance of an incremental fit.
    align : {"rotation", "signs", "none"}, default="rotation"
        Freedom of ``X_hat``: any turn or reflection; the sign of each coordinate, as in the source;
        or none, in which case it is not centered either.

    Returns
    -------
    float
        0 for equal maps.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.evaluation import embedding_error
    >>> exact = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    >>> round(embedding_error(exact, -exact, align="signs"), 6), embedding_error(
    ...     exact, -exact, align="none"
    ... )
    (0.0, 2.0)
    """
    if align not in ("rotation", "signs", "none"):
        raise SidelightError(f"align is 'rotation', 'signs' or 'none', got {align!r}.")
    exact, other = _same_points(X, X_hat)
    if align != "none":
        exact, other = exact - exact.mean(axis=0), other - other.mean(axis=0)
    if align == "rotation":
        other = other @ _rotation(exact, other)[0]
    elif align == "signs":
        other = other * np.where(np.sum(exact * other, axis=0) < 0, -1.0, 1.0)
    return float(np.sqrt(np.sum((exact - other) ** 2) / np.sum(exact**2)))


def linear_recovery(truth: Any, Z: Any) -> float:
    """Share of the variance of true coordinates that a linear map of the embedding explains.

    ``R²`` of the regression of each true coordinate on all coordinates of the map, averaged over
    the true coordinates. It forgives the scale and shear that eigenvectors have. Read more in the
    :doc:`user guide </evaluation/maps>`.

    Parameters
    ----------
    truth : array of shape (n, dimension)
        True coordinates of the rows.
    Z : array of shape (n, n_components)
        Coordinates of the rows. Rows of NaN, which have no place, are left out with a warning.

    Returns
    -------
    float
        1 where the true coordinates are an affine function of the map.

    Examples
    --------
    >>> from sidelight.datasets import make_strip
    >>> from sidelight.evaluation import linear_recovery
    >>> strip = make_strip(50, random_state=0)
    >>> round(linear_recovery(strip.coordinates, strip.data), 6)
    1.0
    """
    pair = map_pair(truth, Z, name="truth")
    return recovery_of(pair.data.values, pair.embedding.values)


def recovery_of(truth: FloatArray, embedding: FloatArray) -> float:
    """Mean ``R²`` of checked coordinates."""
    centered = truth - truth.mean(axis=0)
    spread = np.sum(centered**2, axis=0)
    constant = spread <= 1e-24 * np.sum(truth**2, axis=0)
    if constant.any():
        raise SidelightError(
            f"True coordinate {int(np.flatnonzero(constant)[0])} is the same for all rows: there "
            "is nothing to recover."
        )
    places = embedding - embedding.mean(axis=0)
    residual = centered - places @ np.linalg.lstsq(places, centered, rcond=None)[0]
    return float(np.mean(1.0 - np.sum(residual**2, axis=0) / spread))


def _same_points(A: Any, B: Any) -> tuple[FloatArray, FloatArray]:
    """Two checked maps of the same points, with as many coordinates; the first has some extent."""
    first, second = matrix(A, "the first map"), matrix(B, "the second map")
    check_lengths(first, second, "The first map", "the second")
    missing = np.asarray(np.isnan(np.hstack([first, second])).any(axis=1))
    if missing.any():
        # With the same warning as everywhere where rows are left out.
        pair = map_pair(first, np.where(missing[:, None], np.nan, second), name="The first map")
        first, second = pair.data.values, pair.embedding.values
    for values, name in ((first, "The first map"), (second, "The second map")):
        check_finite(values, name)
    width = max(first.shape[1], second.shape[1])
    first, second = (np.pad(one, ((0, 0), (0, width - one.shape[1]))) for one in (first, second))
    if np.all(first == first[0]):
        raise SidelightError(
            "The first map has all points in one place; nothing can be laid on it."
        )
    return first, second


def _rotation(fixed: FloatArray, moving: FloatArray) -> tuple[FloatArray, float]:
    """The orthogonal matrix that brings centered points nearest to others, and its gain."""
    left, singular, right = np.linalg.svd(moving.T @ fixed)
    return np.asarray(left @ right), float(singular.sum())
