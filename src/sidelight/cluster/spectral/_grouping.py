"""Normalized cuts with partial grouping: must-links as linear equations (Yu, Shi 2004)."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from sidelight._fit.parameters import estimator
from sidelight._typing import Array
from sidelight.cluster.spectral._base import SpectralCoordinates
from sidelight.cluster.spectral._constrained import _ConstrainedSpectral
from sidelight.cluster.spectral._nystroem import Extension
from sidelight.constraints import Constraints
from sidelight.engine.inner import one_thread_blas
from sidelight.graphs import degrees, normalized_graph
from sidelight.graphs.inner import inverse_root
from sidelight.tags import MethodTags

#: Up to this many rows a dense solver is faster and exact.
DENSE_ROWS = 600

#: Share of the mean diagonal that keeps the matrix of the equations regular.
RIDGE = 1e-10


@estimator
class GroupedSpectralClustering(_ConstrainedSpectral):
    """Spectral clustering under the equations of partial grouping.

    Normalized cuts under the equations ``x_i = x_j`` of must-linked rows (Yu, Shi 2004), the same
    problem as that of :class:`ContractedSpectralClustering` without cannot-links. These are not
    used. Read more in the :doc:`user guide </cluster/spectral>`.

    On rows without constraints it was worse with correct constraints than without any on
    wine, for some numbers of them (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    smooth : bool, default=False
        Whether the averages over the neighbors of ``i`` and ``j`` are to be equal instead, so that
        whole neighborhoods follow, as the paper has it for pictures. With many links on few rows
        it did harm in our experiments: the equations then leave only rough vectors.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import GroupedSpectralClustering
    >>> X, y = make_moons(300, noise=0.12, random_state=0)
    >>> known = Constraints.from_labels(np.where(np.arange(300) % 10 == 0, y, -1))
    >>> model = GroupedSpectralClustering(2, random_state=0)
    >>> model.fit(X, constraints=Constraints(known.closure().must_link_pairs(), n_samples=300))
    GroupedSpectralClustering(n_clusters=2, random_state=0)
    >>> bool(max(np.mean(model.labels_ == y), np.mean(model.labels_ != y)) > 0.9)
    True
    """

    _: KW_ONLY
    smooth: bool = False

    _uses_pairs = "ContractedSpectralClustering uses both kinds of pairs."

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            weights=(),
            summary="spectral clustering under the equations of must-links",
            knowledge=("must-link", "labels", "groups"),
            source="Yu, Shi 2004",
        )

    def _embed(
        self, W: sparse.csr_array, known: Constraints, k: int, rng: np.random.RandomState
    ) -> SpectralCoordinates:
        closure = known.closure(on_contradiction="keep")
        grouping = MustLinkEquations(W, closure.component, smooth=self.smooth)
        values, vectors = grouping.embed(k, rng)
        extension = Extension.normalized(grouping.extensible(vectors), 1.0 - values, degrees(W))
        return SpectralCoordinates(values, grouping.with_isolated_rows(vectors), extension)


class MustLinkEquations:
    """The equations ``V'x = 0`` of must-link components, and the vectors that satisfy them.

    With ``Ṽ = D^{-1/2} V`` the leading vectors ``z = D^{1/2} x`` of ``P S P`` are searched for,
    ``S = D^{-1/2} W D^{-1/2}`` and ``P = I - Ṽ (Ṽ'Ṽ)⁻¹ Ṽ'``, which is never formed. Smoothed
    equations are about the averages over the neighbours, ``V' D⁻¹ W x = 0``: ``Ṽ`` becomes ``S Ṽ``,
    and neighbours of must-linked rows follow.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Similarities.
    component : ndarray of shape (n,)
        Must-link component of every row.
    smooth : bool
        Whether the equations are smoothed.
    """

    def __init__(self, W: sparse.csr_array, component: Array, *, smooth: bool) -> None:
        self._degree = degrees(W)
        self._similar = normalized_graph(W)
        self._component = component
        self.links = spanning_links(component, self._degree > 0)
        n, c = W.shape[0], len(self.links)
        entries = (
            np.tile([1.0, -1.0], c),
            (self.links.ravel(), np.repeat(np.arange(c), 2)),
        )
        plain = sparse.csr_array(entries, shape=(n, c))
        self._plain = sparse.csr_array(sparse.diags_array(inverse_root(self._degree)) @ plain)
        self._smooth = smooth
        self.equations = sparse.csr_array(self._similar @ self._plain) if smooth else self._plain
        self._graph = W
        if c:
            gram = sparse.csc_array(self.equations.T @ self.equations)
            ridge = RIDGE * gram.diagonal().mean()
            self._factors = splu(sparse.csc_matrix(gram + ridge * sparse.eye_array(c)))

    def _multipliers(self, z: Array) -> Array:
        return self._factors.solve(np.asarray(self.equations.T @ z))

    def project(self, z: Array) -> Array:
        """``P z``; a second time for what rounding and the ridge left over."""
        if not len(self.links):
            return z
        for _ in range(3):
            z = z - self.equations @ self._multipliers(z)
        return z

    def embed(self, k: int, rng: np.random.RandomState) -> tuple[Array, Array]:
        """``k`` eigenvalues ``λ = 1 - μ``, ascending, and orthonormal vectors ``z``."""
        n = len(self._degree)
        known = _flat_vectors(self._graph, self.links, self._degree, k)
        wanted = min(k, n - len(self.links)) - known.shape[1]
        if wanted <= 0:
            return np.zeros(known.shape[1]), known

        def apply(x: Array) -> Array:
            # Raised by 1, so that what breaks the equations, at 0, stays at the bottom.
            inside = self.project(x.reshape(n, -1))
            inside = inside - known @ (known.T @ inside)
            raised = self._similar @ inside + inside
            raised = self.project(raised)
            return np.asarray(raised - known @ (known.T @ raised))

        if n <= max(DENSE_ROWS, 2 * k + 2):
            matrix = apply(np.eye(n))
            values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        else:
            operator = LinearOperator((n, n), matvec=apply, matmat=apply, dtype=np.float64)
            start = apply(rng.standard_normal(n))[:, 0]
            with one_thread_blas:
                values, vectors = eigsh(
                    operator, wanted, which="LA", v0=start, ncv=max(4 * wanted + 1, 30), tol=1e-6
                )
        order = np.argsort(-values, kind="stable")[:wanted]
        vectors = self.project(vectors[:, order])
        return (
            np.concatenate([np.zeros(known.shape[1]), np.clip(2.0 - values[order], 0.0, 2.0)]),
            np.hstack([known, vectors]),
        )

    def extensible(self, vectors: Array) -> Array:
        """``y`` with ``μ z(x) = Σ_j w(x, x_j)/sqrt(d(x) d_j) y_j`` also for rows outside."""
        if not (self._smooth and len(self.links)):
            return vectors
        return np.asarray(vectors - self._plain @ self._multipliers(self._similar @ vectors))

    def with_isolated_rows(self, vectors: Array) -> Array:
        """Rows without an edge get the place of a row that they must be with."""
        alone = np.flatnonzero(self._degree <= 0)
        if not len(alone):
            return vectors
        placed = np.flatnonzero(self._degree > 0)
        mate = np.full(int(self._component.max()) + 1, -1, dtype=np.int64)
        mate[self._component[placed[::-1]]] = placed[::-1]
        mates = mate[self._component[alone]]
        vectors = vectors.copy()
        vectors[alone[mates >= 0]] = vectors[mates[mates >= 0]]
        return vectors


def spanning_links(component: Array, usable: Array) -> Array:
    """Links that join the usable rows of every component, one fewer than there are such rows."""
    rows = np.flatnonzero(usable)
    rows = rows[np.argsort(component[rows], kind="stable")]
    same = component[rows[:-1]] == component[rows[1:]]
    return np.column_stack([rows[:-1][same], rows[1:][same]])


def _flat_vectors(W: sparse.csr_array, links: Array, degree: Array, most: int) -> Array:
    """``D^{1/2} 1`` on every part that edges and must-links join: eigenvalue 0, largest first."""
    n = W.shape[0]
    joined = sparse.coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(n, n))
    n_parts, part = connected_components(W + joined, directed=False)
    volumes = np.bincount(part, weights=degree, minlength=n_parts)
    kept = np.argsort(-volumes, kind="stable")[:most]
    kept = kept[volumes[kept] > 0]
    column = np.full(n_parts, -1)
    column[kept] = np.arange(len(kept))
    inside = np.flatnonzero(column[part] >= 0)
    vectors = np.zeros((n, len(kept)))
    vectors[inside, column[part[inside]]] = np.sqrt(degree[inside] / volumes[part[inside]])
    return vectors
