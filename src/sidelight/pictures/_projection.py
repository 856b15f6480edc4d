"""Two coordinates for every drawn row, without ever holding more than a sample of the data.

One feature is drawn as a jittered strip, two features as they are, more by principal components.
Narrow data goes through the small matrix of covariances; wide data through a truncated SVD that
never forms it and never fills the zeros of sparse rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.decomposition import PCA

from sidelight.engine import RowSource
from sidelight.pictures._run import sample_rows

FIT_ROWS = 20_000
FIT_ROWS_WIDE = 5_000
_WIDE = 1_000  # features from which the covariance matrix is not formed
_PICTURE_TOLERANCE = 1e-3  # of the truncated SVD: finer than a point is wide

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Projection:
    """Where the drawn rows are, and how to read the two axes."""

    kind: Literal["strip", "plane", "components", "map"]
    xy: Array
    titles: tuple[str, str]
    note: str
    axes: Array
    """Directions in the space of the features, one column per axis of the picture."""
    origin: Array
    """Where the picture has its zero, in the space of the features."""

    def place(self, points: Any) -> Array:
        """Places of centers and the like in the picture."""
        places: Array = (dense(points) - self.origin) @ self.axes
        return places

    @property
    def axis_titles(self) -> tuple[str, str]:
        """Titles of both axes; the height of a strip means nothing, and says so."""
        return self.titles[0], self.titles[1] or "(random height)"


def project(
    source: RowSource,
    rows: npt.NDArray[np.int64],
    feature_names: Sequence[str],
    rng: np.random.Generator,
) -> Projection:
    """Lay out ``rows`` of ``source`` in the plane."""
    taken = source.take(rows)
    if source.n_features == 1:
        values = dense(taken)[:, 0]
        jitter = rng.uniform(-1.0, 1.0, len(values))
        note = "The only feature runs to the right; the height is random, to tell rows apart."
        xy = np.column_stack([values, jitter])
        axes = np.array([[1.0, 0.0]])
        return Projection("strip", xy, (feature_names[0], ""), note, axes, np.zeros(1))
    if source.n_features == 2:
        titles = (feature_names[0], feature_names[1])
        note = "The two features as they are."
        return Projection("plane", dense(taken), titles, note, np.eye(2), np.zeros(2))
    sample = _sample(source, rng)
    mean, axes, shares = leading_components(sample)
    xy = np.asarray(taken @ axes, dtype=np.float64) - mean @ axes
    note = (
        f"Projected on the first two principal components of the {source.n_features:,} features, "
        f"which hold {shares.sum():.0%} of the variance"
    )
    if sample.shape[0] < source.n_rows:
        note += f" (computed from {sample.shape[0]:,} random rows)"
    titles = (f"1st component ({shares[0]:.0%})", f"2nd component ({shares[1]:.0%})")
    return Projection("components", xy, titles, note + ".", axes, mean)


def leading_components(sample: Any) -> tuple[Array, Array, Array]:
    """Find the first two principal components of dense or sparse rows.

    Parameters
    ----------
    sample : ndarray or sparse array of shape (n_rows, n_features), at least two features

    Returns
    -------
    mean : ndarray of shape (n_features,)
    axes : ndarray of shape (n_features, 2)
        Orthonormal directions; the largest entry of each is positive. Zero for no variance.
    shares : ndarray of shape (2,)
        Part of the total variance along each.
    """
    sample = sample.astype(np.float64)
    n_rows, n_features = sample.shape
    mean = np.asarray(sample.mean(axis=0), dtype=np.float64).ravel()
    axes, shares = np.zeros((n_features, 2)), np.zeros(2)
    if not _varies(sample, mean):
        return mean, axes, shares
    found = min(2, n_rows)
    if n_features <= _WIDE:
        pca = PCA(found, svd_solver="covariance_eigh").fit(sample)
    elif n_rows <= 3:  # too few for a truncated decomposition
        pca = PCA(found, svd_solver="full").fit(dense(sample))
    else:
        pca = PCA(found, svd_solver="arpack", tol=_PICTURE_TOLERANCE, random_state=0).fit(sample)
    axes[:, :found] = pca.components_.T
    shares[:found] = np.clip(pca.explained_variance_ratio_, 0.0, 1.0)
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    return mean, axes * np.where(signs == 0, 1.0, signs), shares


def _sample(source: RowSource, rng: np.random.Generator) -> Any:
    """Take the rows that the components are computed from."""
    wanted = FIT_ROWS if source.n_features <= _WIDE else FIT_ROWS_WIDE
    return source.take(sample_rows(source.n_rows, wanted, rng))


def dense(rows: Any) -> Array:
    """Rows as a dense array of floats."""
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)


def _varies(sample: Any, mean: Array) -> bool:
    """Whether any two rows differ by more than rounding."""
    if sparse.issparse(sample):
        squares = float(np.square(sample.data).sum())
        return squares - sample.shape[0] * float(mean @ mean) > 0.0
    return float(np.square(sample - mean).sum()) > 0.0
