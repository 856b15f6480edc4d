"""Isomap from the geodesics of some rows (Law 2006, section 3.2.2)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from sidelight._fit.parameters import Count, Seed, estimator
from sidelight._fit.scatter import fix_signs
from sidelight._typing import Array
from sidelight._words import counted, setting
from sidelight.engine.inner import one_thread_blas
from sidelight.exceptions import SidelightError
from sidelight.graphs import geodesics
from sidelight.manifold.spectral._base import MappedGraph
from sidelight.manifold.spectral._frame import (
    NO_VARIANCE,
    CenteredFrame,
    half_squares,
    power_of_two,
    squared_distance_frame,
    warn_of_missing_dimensions,
)
from sidelight.manifold.spectral._isomap import _GeodesicEmbedding
from sidelight.tags import own_tags


@estimator
class LandmarkIsomap(_GeodesicEmbedding):
    r"""Isomap with the geodesics from some rows only, the landmarks.

    The landmarks are placed by classical scaling of the geodesics between them, and every row by
    its geodesics to them:

    .. math:: z = \Lambda^{-1/2} V^T (-\tfrac12)(\delta - \bar\delta)

    with ``Λ`` and ``V`` the eigenvalues and eigenvectors of the landmarks, ``δ`` the squared
    geodesics of the row and ``δ̄`` their means over the landmarks (Law 2006, section 3.2.2; de
    Silva, Tenenbaum 2004). It is exact where geodesics are Euclidean distances on the map, and with
    all rows as landmarks it is :class:`Isomap`. Memory grows with ``n_landmarks`` times the number
    of rows. Read more in the :doc:`user guide </manifold/spectral>`.

    Parameters
    ----------
    n_landmarks : int >= 1, default=40
        Number of landmarks, drawn from the rows; all of them where there are fewer.
    variant : {"default", "published"}, default="default"
        "published" takes ``X = S^{1/2} Vᵀ`` from the singular value decomposition of
        ``B = -1/2 H_m G⁽²⁾ H_n``, the form of the source. That map is a linear image of the other:
        smaller, about ``(m/n)^{1/4}`` times for ``m`` landmarks, and not by the same factor along
        all axes.
    conformal : bool, default=False
        Divide the distance of two joined rows by ``√(M_i M_j)``, with ``M_i`` the mean distance of
        row ``i`` to its neighbors.

    Attributes
    ----------
    landmarks_ : ndarray of int, shape (n_landmarks,)
        Positions of the landmarks in the rows of the fit, ascending.
    landmark_geodesics_ : ndarray of shape (n_landmarks, n_mapped)
        Lengths of the shortest paths from the landmarks to the rows that have coordinates.
    eigenvalues_ : ndarray of shape (n_components,)
        Leading eigenvalues of the landmarks; singular values of ``B`` for "published".
    graph_ : csr_array of shape (n_mapped, n_mapped)
        Lengths of the edges of the graph.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.manifold import LandmarkIsomap
    >>> t = np.linspace(0, 1.5 * np.pi, 200)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> model = LandmarkIsomap(1, n_neighbors=2, n_landmarks=10, random_state=0).fit(X)
    >>> float(abs(np.corrcoef(model.embedding_[:, 0], t)[0, 1]).round(6))
    1.0
    >>> model.landmark_geodesics_.shape
    (10, 200)
    """

    _: KW_ONLY
    n_landmarks: Count = 40
    variant: Literal["default", "published"] = "default"
    random_state: Seed = None

    _own_tags = own_tags(
        summary="Isomap from the geodesics of some rows, for many rows",
        source="de Silva, Tenenbaum 2004; Law 2006, section 3.2.2",
        complexity="O(m n log n) time, O(m n) memory for m landmarks",
        sparse=True,
    )

    def _embed(self, near: MappedGraph) -> Array:
        self.graph_ = self._lengths(near)
        n = len(near.kept)
        m = min(self.n_landmarks, n)
        if m <= self.n_components and m < n:
            raise SidelightError(
                f"{counted(m, 'landmark')} cannot determine "
                f"{counted(self.n_components, 'dimension')}; set {setting('n_landmarks')} to at "
                f"least {self.n_components + 1}."
            )
        rng = check_random_state(self.random_state)
        chosen = np.sort(rng.choice(n, m, replace=False)) if m < n else np.arange(n)
        self.landmarks_ = near.kept[chosen]
        self.landmark_geodesics_ = geodesics(self.graph_, chosen)
        if self.variant == "default":
            between = np.ascontiguousarray(self.landmark_geodesics_[:, chosen])
            self._frame = squared_distance_frame(between, self.n_components)
        else:
            self._frame = _published_frame(self.landmark_geodesics_, self.n_components)
        warn_of_missing_dimensions(self._frame.values, self.n_components)
        self.eigenvalues_ = self._frame.values
        return self._moved(self._extend(self._paths()), near)

    def _paths(self) -> Array:
        return self.landmark_geodesics_.T

    def _extend(self, lengths: Array) -> Array:
        return self._frame.extend(half_squares(lengths))


def _published_frame(lengths: Array, n_components: int) -> CenteredFrame:
    """Left singular vectors of ``B = H_m (-G⁽²⁾/2) H_n``; they place rows as eigenvectors do.

    A column ``b`` of ``B`` has the place ``S^{-1/2} Uᵀ b``, which is that row of ``S^{1/2} Vᵀ``.
    """
    scale = power_of_two(float(lengths.max(initial=0.0)))
    matrix = half_squares(lengths / scale)
    means = matrix.mean(axis=1)
    matrix -= means[:, None]
    matrix -= matrix.mean(axis=0)
    with one_thread_blas:
        left, singular, _ = linalg.svd(matrix, full_matrices=False, overwrite_a=True)
    kept = min(n_components, len(singular))
    values, vectors = singular[:kept], fix_signs(left[:, :kept].T).T
    values = np.where(values > NO_VARIANCE * singular[0], values, 0.0)
    missing = n_components - kept
    return CenteredFrame(
        np.pad(values, (0, missing)) * scale**2,
        np.pad(vectors * (values > 0), ((0, 0), (0, missing))),
        means * scale**2,
    )
