"""Components of mixtures as expectation maximization works on them, tile by tile in buffers."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from scipy import sparse

from sidelight._fit.buffers import NEW_ARRAYS, Buffers, NewArrays
from sidelight._kernels.mixture.responsibilities import add_sparse_sums, sparse_products
from sidelight._typing import Array

#: Statistics of a tile of rows should stay in the cache between the two products; of 16 features
#: and 10 components, tiles a quarter of this size took 13 % longer, and twice the size 5 % less.
TILE_BYTES = 2**20

Statistics = tuple[Array, ...]


class Components(Protocol):
    """Parameters of all components; a new object after every m-step."""

    @property
    def n_components(self) -> int:
        """Number of components ``k``."""

    @property
    def n_parameters(self) -> int:
        """Number of free parameters of all components together, without the mixing weights."""

    @property
    def n_statistics(self) -> int:
        """Numbers per row in :meth:`features`: how many rows are worked on at a time."""

    @property
    def log_prior(self) -> float:
        """Logarithm of the prior density of the parameters, which is maximized with the rest."""

    def features(self, block: Any) -> Any:
        """Sufficient statistics ``T(x)`` of every row, as :meth:`log_density` takes them."""

    def log_density(self, features: Any) -> Array:
        """``log p(x_n | s)``, float64 of shape (b, k)."""

    def statistics(self, features: Any, resp: Array) -> Statistics:
        """Sums over the rows, weighted by ``resp`` of shape (b, k); first the sums of ``resp``."""

    def m_step(self, statistics: Statistics) -> Self:
        """Components of highest expected likelihood."""

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Array:
        """Draw rows from one component."""

    def attributes(self, dtype: np.dtype[Any]) -> dict[str, Any]:
        """Fitted attributes of an estimator with these components, by name."""


class InBuffers:
    """Components that can work in buffers of a thread, and factor their matrices beforehand."""

    #: Where features, densities and statistics are written.
    memory: ClassVar[Buffers | NewArrays] = NEW_ARRAYS

    def in_buffers(self, memory: Buffers) -> Self:
        """Return the same components, whose results are written over by the next ones."""
        bound = copy.copy(self)
        bound.__dict__["memory"] = memory  # the components are frozen
        return bound

    def prepare(self) -> None:
        """Compute what all blocks need, before the components are sent to them."""


def prepared(components: Any) -> Any:
    """Return components that are ready to be sent to where blocks are."""
    if isinstance(components, InBuffers):
        components.prepare()
    return components


def in_buffers(components: Any, memory: Buffers) -> Any:
    """Return components that work in buffers, where they know how to."""
    return components.in_buffers(memory) if isinstance(components, InBuffers) else components


class WithMeans:
    """Components that have a mean each."""

    means: Array

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.means)


class ExponentialFamily(InBuffers, ABC):
    """Components whose log-density is linear in their statistics."""

    @abstractmethod
    def _natural(self) -> tuple[Array, Array]:
        """``η`` of shape (F, k) and ``a`` of shape (k,)."""

    @property
    def log_prior(self) -> float:
        """No prior by default."""
        return 0.0

    @cached_property
    def natural(self) -> tuple[Array, Array]:
        """``η`` of shape (F, k) and ``a`` of shape (k,)."""
        return self._natural()

    def prepare(self) -> None:
        """Compute the natural parameters."""
        _ = self.natural

    def log_density(self, features: Any) -> Array:
        """``log p(x_n | s)`` of every row and component."""
        eta, offset = self.natural
        log_density = self.memory.array("densities", (features.shape[0], eta.shape[1]))
        products(features, eta, log_density)
        log_density += offset
        return log_density

    def statistics(self, features: Any, resp: Array) -> Statistics:
        """Return ``Σ_n q_ns`` and ``Σ_n q_ns T(x_n)``."""
        sums = self.memory.array("sums", (features.shape[1], resp.shape[1]))
        if sparse.issparse(features):
            sums.fill(0.0)
            add_sparse_sums(features.data, features.indices, features.indptr, resp, sums)
        else:
            np.matmul(features.T, resp, out=sums)
        return column_sums(resp), sums.T


def column_sums(resp: Array) -> Array:
    """Sums of responsibilities, by a product: NumPy adds up columns one number after the other."""
    return np.asarray(np.ones(len(resp)) @ resp)


def products(features: Any, eta: Array, out: Array) -> Array:
    """Write the products of dense or CSR rows with a matrix into ``out``."""
    if not sparse.issparse(features):
        return np.matmul(features, eta, out=out)
    columns = np.ascontiguousarray(eta)
    sparse_products(features.data, features.indices, features.indptr, columns, out)
    return out


def feature_tiles(components: Components, block: Any) -> list[tuple[int, int]]:
    """Ranges of rows of a block whose statistics fit the cache together."""
    n = block.shape[0]
    width = block.nnz / max(n, 1) if sparse.issparse(block) else components.n_statistics
    rows = int(np.clip(TILE_BYTES // (8 * max(width, 1)), 128, 4000))
    return [(start, min(start + rows, n)) for start in range(0, n, rows)]
