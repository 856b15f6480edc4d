"""Resolution by attributes alone: A, and its transitive closure A*."""

from __future__ import annotations

from sidelight._fit.parameters import estimator
from sidelight.relational.resolution._closure import _ClosureResolver
from sidelight.tags import own_tags


@estimator
class AttributeResolution(_ClosureResolver):
    r"""Joins references whose attributes are similar.

    .. math::
        \mathrm{sim}_A(i, j) = \frac{\sum_c w_c\, \mathrm{sim}_c(i, j)}{\sum_c w_c}

    over the columns ``c`` that both references have. A pair with
    :math:`\mathrm{sim}_A \ge` ``threshold`` is joined: these decisions are the baseline A of the
    source, in ``pairs_["joined"]``. ``labels_`` is their transitive closure A*, the connected
    components. Read more in the :doc:`user guide </relational/resolution>`.

    Parameters
    ----------
    threshold : float >= 0, finite, default=0.85
        Least similarity of a pair that is joined.

    Attributes
    ----------
    objective_ : float
        ``-Σ (sim - threshold)`` over the pairs that joined two clusters, ``merges_``: without
        constraints the least value that a forest of candidate pairs has.
    history_ : ndarray
        The same after every merge.
    n_iter_ : int
        Number of merges.
    converged_ : bool
        Always True.

    See Also
    --------
    RelationalResolution : Also compares the references that occur together with the two.
    CollectiveResolution : Decisions that depend on each other.
    CorrelationClustering : For pairs that something else has scored.

    Notes
    -----
    What is known always holds: must-linked references begin in one cluster, and pairs are joined
    in the order of falling similarity, except where that would put together what a cannot-link, a
    source, or (``distinct=True``) a hyper-edge keeps apart. Pairs of equal similarity are joined in
    the order of the rows, which matters only where something keeps clusters apart.

    Closure raises recall, and can chain: two references far apart may join through a third. A pair
    is compared by the columns that both have (those with less than half of all weights count as
    half), so that rows of mostly missing values join too easily where minor columns have as much
    weight as the others.

    Time is linear in the references, but for a sort, and linear in the candidate pairs times the
    cost of a comparison (some 0.1 to 1 µs for each different pair of values). ``40 + 8 c`` bytes
    are kept for each of the pairs, ``c`` columns, and some 130 are used for each while they are
    sorted and compared.

    References
    ----------
    Bhattacharya and Getoor, "Collective relational clustering", in Basu, Davidson and Wagstaff
    (eds.), *Constrained Clustering* (2009), section 10.2. Cohen, Ravikumar and Fienberg, "A
    comparison of string distance metrics for name-matching tasks" (2003).

    Examples
    --------
    >>> from sidelight.relational import AttributeResolution
    >>> people = {"name": ["Wei Wang", "W. Wang", "Ann Li", "Wang, Wei", "Anne Li"],
    ...           "city": ["Rome", "Rome", "Oslo", "Rome", None]}
    >>> model = AttributeResolution(0.8, compare={"name": "name", "city": "exact"}).fit(people)
    >>> model.labels_
    array([0, 0, 1, 0, 1], dtype=int32)
    """

    _own_tags = own_tags(
        summary="references whose attributes are similar, and the closure of these pairs",
        source="Bhattacharya and Getoor 2009, section 10.2.1 (A, A*)",
        complexity="O(m log m) time for m candidate pairs, O(m) memory",
        monotone=True,
    )
