"""References to entities in hyper-edges, for collective resolution (chapter 10)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from sidelight._typing import FloatArray, IntArray
from sidelight.constraints import Relations
from sidelight.datasets._generator_options import check_counts, check_shares, check_sizes
from sidelight.datasets.related._attributed_graph import RelatedRows
from sidelight.datasets.related._pair_sampling import draw_numbers, pairs_of_blocks
from sidelight.exceptions import SidelightError

#: Distance of two attribute values that are not shared, in standard deviations of a reference.
APART = 12.0


def make_references(
    n_entities: int = 100,
    n_relations: int = 100,
    n_hyperedges: int = 200,
    *,
    p_ambiguous: float = 0.5,
    p_continue: float = 0.9,
    sd: float = 1.0,
    random_state: Any = None,
) -> RelatedRows:
    """References to entities that occur together, as in section 10.5.1 of the book.

    Every entity has a number as its attribute: with probability ``p_ambiguous`` that of an entity
    before it, else a new one, 12 standard deviations from all others. Random pairs of entities are
    neighbors. A hyper-edge starts with a random entity and goes on, each time with probability
    ``p_continue``, to one of its neighbors that are not in it yet; every entity in it emits a
    reference, its attribute plus Gaussian noise. References to entities with the same attribute
    can be distinguished by nothing but those they occur with.

    Parameters
    ----------
    n_entities : int, default=100
        Number of entities; some may be referred to by no reference.
    n_relations : int, default=100
        Number of pairs of neighbors.
    n_hyperedges : int, default=200
        Number of hyper-edges.
    p_ambiguous : float, default=0.5
        Probability that an entity shares the attribute of another.
    p_continue : float, default=0.9
        Probability that a hyper-edge goes on, as long as there are neighbors.
    sd : float, default=1.0
        Standard deviation of references around the attribute of their entity.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    RelatedRows
        ``X`` of shape (n_references, 1), ``relations`` with the hyper-edges, and ``target``, the
        entities; also as a triple to unpack.

    References
    ----------
    Basu, Davidson and Wagstaff (eds.), *Constrained Clustering* (2009), section 10.5.1.

    Bhattacharya and Getoor, "Collective entity resolution in relational data", *ACM TKDD* 1
    (2007).

    Examples
    --------
    >>> from sidelight.datasets import make_references
    >>> X, relations, entities = make_references(random_state=0)
    >>> relations.n_hyperedges, len(X) == len(entities) == relations.n_samples
    (200, True)
    """
    check_counts(1, n_entities=n_entities)
    check_counts(0, n_relations=n_relations, n_hyperedges=n_hyperedges)
    check_shares(p_ambiguous=p_ambiguous, p_continue=p_continue)
    check_sizes(sd=sd)
    most = n_entities * (n_entities - 1) // 2
    if n_relations > most:
        raise SidelightError(
            f"{n_entities} entities have {most} pairs, so that n_relations cannot be {n_relations}."
        )
    rng = check_random_state(random_state)
    attribute = _attributes(n_entities, p_ambiguous, rng) * APART * sd
    neighbors = _neighbors(n_entities, n_relations, rng)
    entities, hyperedge = _emit(neighbors, n_hyperedges, p_continue, rng)
    x = attribute[entities] + sd * rng.standard_normal(len(entities))
    incidence = sparse.csr_array(
        (np.ones(len(entities), np.int8), (np.arange(len(entities)), hyperedge)),
        shape=(len(entities), n_hyperedges),
    )
    relations = Relations(hyperedges=incidence, n_samples=len(entities))
    return RelatedRows(x[:, None], relations, entities)


def _attributes(n: int, p_ambiguous: float, rng: np.random.RandomState) -> FloatArray:
    """Number of the attribute value of every entity, in the order in which values came up."""
    reused = rng.uniform(size=n) < p_ambiguous
    reused[0] = False
    # Every entity points to an earlier one whose value it takes, or to itself.
    source = np.where(reused, (rng.uniform(size=n) * np.arange(n)).astype(np.int64), np.arange(n))
    while np.any(source[source] != source):
        source = source[source]
    value = (np.cumsum(~reused) - 1).astype(np.float64)
    return value[source]


def _neighbors(n: int, n_relations: int, rng: np.random.RandomState) -> sparse.csr_array:
    """Random pairs of neighbors as a symmetric graph."""
    pairs, _ = pairs_of_blocks(np.array([n]))
    edges = pairs.pairs(draw_numbers(pairs.n_pairs, n_relations, rng))
    ends = np.concatenate([edges, edges[:, ::-1]])
    return sparse.coo_array((np.ones(len(ends), np.int8), (ends[:, 0], ends[:, 1])), (n, n)).tocsr()


def _emit(
    neighbors: sparse.csr_array, n_hyperedges: int, p_continue: float, rng: np.random.RandomState
) -> tuple[IntArray, IntArray]:
    """Entity and hyper-edge of every reference, hyper-edge by hyper-edge."""
    start = rng.randint(neighbors.shape[0], size=n_hyperedges)
    degree = np.diff(neighbors.indptr)[start].astype(np.int64)
    # A hyper-edge that goes on with probability p has a geometric number of further references.
    going_on = degree
    if p_continue < 1:
        going_on = np.minimum(degree, rng.geometric(1 - p_continue, size=n_hyperedges) - 1)
    # All neighbors of each start in random order; the hyper-edge takes as many as it goes on.
    of_edge = np.repeat(np.arange(n_hyperedges), degree)
    rank = np.arange(len(of_edge)) - np.repeat(np.cumsum(degree) - degree, degree)
    candidates = neighbors.indices[neighbors.indptr[start[of_edge]] + rank]
    shuffled = candidates[np.lexsort([rng.uniform(size=len(of_edge)), of_edge])]
    taken = rank < going_on[of_edge]
    entities = np.concatenate([start, shuffled[taken]])
    hyperedge = np.concatenate([np.arange(n_hyperedges), of_edge[taken]])
    order = np.argsort(hyperedge, kind="stable")
    return entities[order].astype(np.int64), hyperedge[order]
