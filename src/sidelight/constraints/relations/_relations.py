"""The value object that holds relations between objects: scores, edges and hyper-edges."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.constraints.algebra import _alignment as alignment
from sidelight.constraints.algebra import _canonical as canonical
from sidelight.constraints.algebra._canonical import RowIndex, hashable, same
from sidelight.constraints.algebra._operations import as_rows
from sidelight.constraints.algebra._plain import as_codes, frozen
from sidelight.constraints.relations import _shown
from sidelight.constraints.relations import _values as values
from sidelight.constraints.relations._edges import Edges, canonical_edges
from sidelight.constraints.relations._hyperedges import (
    Hyperedges,
    canonical_hyperedges,
    hyperedges_of_codes,
)
from sidelight.constraints.relations._input import (
    as_index,
    as_pairs,
    listed_pairs,
    table_options,
    words_of,
)

if TYPE_CHECKING:
    import pyarrow


class Relations:
    """How objects are related: edges with scores, and hyper-edges of objects that occur together.

    An edge is an unordered pair of objects with a score: the strength of a link, or, where scores
    are signed, evidence that the two are the same (positive) or different (negative), such as the
    log-odds of a pair classifier. A pair without an edge has the score 0. A hyper-edge is a set of
    objects that occur together, such as the authors of a paper. The object never changes;
    everything that looks like a change makes a new one.

    Parameters
    ----------
    edges : array-like of shape (m, 2), optional
        Related objects: positions, or ids when ``ids`` is given. Words without ``ids`` are ids of
        their own, in the order in which they occur first.
    scores : array-like of shape (m,) or float, optional
        Score of every edge; 1 by default.
    hyperedges : list of lists, mapping of lists, or incidence matrix, optional
        Sets of objects by position or id; a mapping names them. A matrix has a row per object and
        a column per hyper-edge.
    n_samples : int, optional
        Number of objects; by default that of the ids.
    ids : array-like of shape (n_samples,), optional
        Your own names of the objects, all different.
    duplicates : {"refuse", "mean", "sum", "max", "min"}, default="refuse"
        What becomes of a pair with several scores that differ.

    Attributes
    ----------
    n_samples : int
        Number of objects.
    edges : ndarray of shape (m, 2)
        Pairs of positions ``i < j``, sorted, each once.
    scores : ndarray of shape (m,), float64
        Their scores.
    incidence : csr_array of shape (n_samples, n_hyperedges), int8
        1 where an object is in a hyper-edge.
    hyperedge_names : ndarray of shape (n_hyperedges,)
        Names of the hyper-edges; their numbers where they have none.
    ids : ndarray of shape (n_samples,) or None
        Names of the objects.
    notes : tuple of str
        What was merged, dropped or converted while reading the edges.

    Notes
    -----
    Memory is 24 bytes for every edge (two positions and a score) and 8 for every object, besides
    ids; the matrix, made when it is first asked for, takes 24 bytes more for every edge. Edges
    that are not in order yet are sorted, O(m log m) at most.

    References
    ----------
    Basu, Davidson and Wagstaff (eds.), *Constrained Clustering* (2009), chapters 10, 12 and 13.

    Examples
    --------
    >>> from sidelight import Relations
    >>> scored = Relations([("ann", "bob"), ("bob", "cid")], [2.5, -1.0], ids=["ann", "bob", "cid"])
    >>> scored
    <Relations of 3 objects 'ann' to 'cid': 2 edges, 1 of them negative>
    >>> scored.matrix().toarray()
    array([[ 0. ,  2.5,  0. ],
           [ 2.5,  0. , -1. ],
           [ 0. , -1. ,  0. ]])
    """

    __slots__ = (
        "_cache",
        "edges",
        "hyperedge_names",
        "ids",
        "incidence",
        "n_samples",
        "notes",
        "scores",
    )

    n_samples: int
    edges: IntArray
    scores: FloatArray
    incidence: sparse.csr_array
    hyperedge_names: Array
    ids: Array | None
    notes: tuple[str, ...]
    _cache: dict[str, Any]

    def __init__(
        self,
        edges: Any = None,
        scores: Any = None,
        *,
        hyperedges: Any = None,
        n_samples: int | None = None,
        ids: Any = None,
        duplicates: str = "refuse",
    ) -> None:
        edges = listed_pairs(edges)
        index = as_index(words_of(edges) if ids is None and n_samples is None else ids)
        n = canonical.number_of_rows(n_samples, index)
        pairs = as_pairs(edges, index, n)
        names = None if index is None else index.ids
        self._set(
            n,
            index,
            canonical_edges(pairs, scores, max(n, 1), names, duplicates),
            canonical_hyperedges(hyperedges, index, n),
        )

    def _set(
        self, n_samples: int, index: RowIndex | None, edges: Edges, hyperedges: Hyperedges
    ) -> None:
        fields = {
            "n_samples": n_samples,
            "edges": frozen(edges.pairs),
            "scores": frozen(edges.scores),
            "incidence": values.frozen_csr(hyperedges.incidence),
            "hyperedge_names": frozen(np.asarray(hyperedges.names)),
            "ids": None if index is None else index.ids,
            "notes": edges.notes,
            "_cache": {"index": index},
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _make(
        cls, n_samples: int, index: RowIndex | None, edges: Edges, hyperedges: Hyperedges
    ) -> Relations:
        """Make an object from parts in canonical form."""
        new = object.__new__(cls)
        new._set(n_samples, index, edges, hyperedges)
        return new

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"Relations cannot be changed; make new ones to set {name!r}.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Relations cannot be changed; {name!r} stays.")

    @classmethod
    def from_matrix(cls, matrix: Any, *, ids: Any = None, duplicates: str = "refuse") -> Relations:
        """Relations from a square matrix of scores, dense or sparse; zeros are no edges.

        Parameters
        ----------
        matrix : array or sparse matrix of shape (n_samples, n_samples)
            Scores. A matrix with entries on one side of the diagonal only says each score once;
            otherwise both sides have to agree. The diagonal is about no pair, and is left out.
        ids : array-like of shape (n_samples,), optional
            Names of the objects; by default the index of a pandas data frame that has one.
        duplicates : {"refuse", "mean", "sum", "max", "min"}, default="refuse"
            What becomes of two sides that differ.
        """
        from sidelight.constraints.relations._matrices import edges_of_matrix

        index = as_index(alignment.own_ids(matrix) if ids is None else ids)
        names = None if index is None else index.ids
        n, edges = edges_of_matrix(matrix, names, duplicates)
        n = canonical.number_of_rows(n, index)
        return cls._make(n, index, edges, canonical_hyperedges(None, index, n))

    @classmethod
    def from_probabilities(
        cls,
        edges: Any,
        probability: Any,
        *,
        prior: float = 0.5,
        n_samples: int | None = None,
        ids: Any = None,
        duplicates: str = "refuse",
    ) -> Relations:
        """Turn probabilities that two objects are the same into log-odds.

        The score is ``log(p / (1 - p)) + log(prior / (1 - prior))``, positive where the two are
        more likely the same than not.

        Parameters
        ----------
        edges : array-like of shape (m, 2)
            Pairs of positions or ids.
        probability : array-like of shape (m,)
            Probability of every pair. Exactly 0 and 1, whose log-odds are infinite, are taken to
            be 1e-6 away, or as far as the closest other one where that is nearer.
        prior : float, default=0.5
            Share of all pairs that are the same, for probabilities from a classifier that was
            trained on as many equal as different pairs. The default takes them as they are.
        n_samples : int, optional
            Number of objects.
        ids : array-like of shape (n_samples,), optional
            Names of the objects.
        duplicates : {"refuse", "mean", "sum", "max", "min"}, default="refuse"
            What becomes of a pair with several scores that differ.

        Examples
        --------
        >>> from sidelight import Relations
        >>> pairs = Relations.from_probabilities([(0, 1), (1, 2)], [0.9, 0.2], n_samples=3)
        >>> pairs.scores.round(3)
        array([ 2.197, -1.386])
        """
        from sidelight.constraints.relations._log_odds import edges_of_probabilities

        edges = listed_pairs(edges)
        index = as_index(words_of(edges) if ids is None and n_samples is None else ids)
        n = canonical.number_of_rows(n_samples, index)
        pairs = as_pairs(edges, index, n)
        names = None if index is None else index.ids
        found = edges_of_probabilities(pairs, probability, prior, n, names, duplicates)
        return cls._make(n, index, found, canonical_hyperedges(None, index, n))

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        ids: Any = None,
        n_samples: int | None = None,
        prior: float = 0.5,
        duplicates: str = "refuse",
    ) -> Relations:
        """Relations from a table: edges with a row per pair, or hyper-edges with one per member.

        Parameters
        ----------
        table : pandas, polars or pyarrow table, or mapping of columns
            Two columns of ids: ``i`` and ``j``, or any of ``id_l, id_r``, ``unique_id_l,
            unique_id_r`` (Splink), ``left, right``, ``source, target``, ``from, to``, ``id_1,
            id_2``, ``rec_id_1, rec_id_2``. And the first of these that is there: ``score`` or
            ``log_odds``; ``match_weight`` (log-odds to the base 2, as Splink's, which become
            natural ones); ``match_probability``, ``probability``, ``prob``, ``p`` or
            ``confidence`` (which become log-odds as in :meth:`from_probabilities`); ``weight`` or
            ``similarity``. Without any of them every score is 1. Or, for hyper-edges, the columns
            ``object`` (or ``id``) and ``hyperedge`` (or ``group``).
        ids : array-like, optional
            Names of all objects.
        n_samples : int, optional
            Number of objects, where the table names them by position. Without this and ``ids``
            the objects are those of the table, their ids whole numbers in ascending order or
            anything else in the order in which it occurs first.
        prior : float, default=0.5
            Share of all pairs that are the same; see :meth:`from_probabilities`.
        duplicates : {"refuse", "mean", "sum", "max", "min"}, default="refuse"
            What becomes of a pair with several scores that differ.

        Notes
        -----
        ``notes`` of the result tells what was converted and which columns were not used. Every
        different id is looked up once; ten million pairs of words take seconds.

        Examples
        --------
        >>> from sidelight import Relations
        >>> table = {"unique_id_l": ["a", "a"], "unique_id_r": ["b", "c"], "match_weight": [3, -2]}
        >>> Relations.from_table(table).scores.round(3)
        array([ 2.079, -1.386])
        """
        from sidelight.constraints.exchange._tables import table_trouble
        from sidelight.constraints.relations._tables import columns_of, relations_of_columns

        options = table_options(ids, n_samples, prior, duplicates)
        return cls._make(*relations_of_columns(columns_of(table), options, table_trouble))

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        ids: Any = None,
        n_samples: int | None = None,
        prior: float = 0.5,
        duplicates: str = "refuse",
    ) -> Relations:
        """Read a file with the columns of :meth:`from_table`: CSV, TSV, JSON, Parquet, Excel.

        ``.csv.gz``, ``.tsv`` and ``.feather`` work too; a JSON file is a list of objects with the
        names of the columns. What ``relations.write(path)`` wrote comes back equal with
        ``ids=relations.ids``, or ``n_samples=relations.n_samples`` where there are no ids (but for
        hyper-edges without members). Errors name the line.
        """
        from sidelight.constraints.relations._files import read_file

        return cls._make(*read_file(path, table_options(ids, n_samples, prior, duplicates)))

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        *,
        ids: Any = None,
        weight: str | None = "weight",
        duplicates: str = "refuse",
    ) -> Relations:
        """Relations from a networkx graph, or one with the same methods.

        Parameters
        ----------
        graph : networkx graph
            Its nodes become ids. In a directed graph, two opposite edges have to have the same
            weight; one alone counts as an edge. Parallel edges of a multigraph are refused unless
            ``duplicates`` defines what becomes of them.
        ids : array-like, optional
            Names of all objects, in their order; nodes that are not among them are refused. By
            default the nodes, in the order of the graph.
        weight : str or None, default="weight"
            Attribute of an edge with its score, 1 where an edge has none; None for 1 everywhere.
        duplicates : {"refuse", "mean", "sum", "max", "min"}, default="refuse"
            What becomes of several edges between two nodes.
        """
        from sidelight.constraints.relations._networkx import edges_of_graph, nodes_of

        nodes = nodes_of(graph)
        index = as_index(nodes if ids is None else ids)
        assert index is not None
        edges = edges_of_graph(graph, index, weight, duplicates)
        n = len(index.ids)
        return cls._make(n, index, edges, canonical_hyperedges(None, index, n))

    def to_networkx(self) -> Any:
        """Graph of networkx with the objects as nodes, by id, and the scores as weights."""
        from sidelight.constraints.relations._networkx import to_networkx

        return to_networkx(self)

    def to_table(self, what: str | None = None) -> pyarrow.Table:
        """Edges as an Arrow table with the columns ``i``, ``j`` and ``score``, by id.

        Parameters
        ----------
        what : {"edges", "hyperedges"}, optional
            With ``"hyperedges"``, members as the columns ``object`` and ``hyperedge``. By default
            whichever is there; needed where both are.
        """
        from sidelight.constraints.relations._tables import to_table

        return to_table(self, what)

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        what: str | None = None,
        spreadsheet_safe: bool = False,
    ) -> None:
        """Write the table of :meth:`to_table` as .csv, .csv.gz, .tsv, .json or .parquet.

        The file is written beside and then renamed, so that it is never there by half. With
        ``spreadsheet_safe``, ids in a CSV file that a spreadsheet would run as formulas (they begin
        with ``=``, ``+``, ``-`` or ``@`` and are no numbers) get an apostrophe in front;
        :meth:`read` finds them with and without it.
        """
        from sidelight.constraints.relations._files import write_file

        write_file(self, path, what=what, spreadsheet_safe=spreadsheet_safe)

    @classmethod
    def from_groups(cls, groups: Any, *, ids: Any = None) -> Relations:
        """Hyper-edges from one value per object: objects with the same value occur together.

        Parameters
        ----------
        groups : array-like of shape (n_samples,)
            Name of the hyper-edge of every object, such as the paper of a reference; -1, None,
            NaN or an empty word for objects in none.
        ids : array-like of shape (n_samples,), optional
            Names of the objects; by default the index of a pandas Series that has one.

        Examples
        --------
        >>> from sidelight import Relations
        >>> Relations.from_groups(["p1", "p1", "p2", None]).incidence.toarray()
        array([[1, 0],
               [1, 0],
               [0, 1],
               [0, 0]], dtype=int8)
        """
        from sidelight.constraints.algebra._plain import plain

        index = as_index(alignment.own_ids(groups) if ids is None else ids)
        values = plain(groups)
        n = canonical.number_of_rows(len(values), index)
        classes = as_codes(values, n, "groups")
        none = Edges(np.empty((0, 2), np.int64), np.empty(0))
        if classes is None:
            return cls._make(n, index, none, canonical_hyperedges(None, index, n))
        found = hyperedges_of_codes(classes.codes, classes.names, n)
        return cls._make(n, index, none, found)

    @property
    def shape(self) -> tuple[int]:
        """``(n_samples,)``: scikit-learn's metadata routing slices what has one entry per row."""
        return (self.n_samples,)

    @property
    def row_index(self) -> RowIndex | None:
        """Position of each id; None where there are no ids."""
        index: RowIndex | None = self._cache["index"]
        return index

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.edges)

    @property
    def n_hyperedges(self) -> int:
        """Number of hyper-edges."""
        return int(self.incidence.shape[1])

    @property
    def is_signed(self) -> bool:
        """Whether some score is negative."""
        return bool((self.scores < 0).any())

    @property
    def degree(self) -> IntArray:
        """Number of edges of every object."""
        return np.bincount(self.edges.ravel(), minlength=self.n_samples)

    def matrix(self) -> sparse.csr_array:
        """Scores as a symmetric CSR matrix with sorted indices, read-only; made once and kept."""
        if "matrix" not in self._cache:
            from sidelight.constraints.relations._matrices import symmetric_csr

            made = symmetric_csr(self.edges, self.scores, self.n_samples)
            self._cache["matrix"] = values.frozen_csr(made)
        matrix: sparse.csr_array = self._cache["matrix"]
        return matrix

    def components(self, *, positive: bool = False) -> IntArray:
        """Connected component of every object, numbered by their smallest object.

        Parameters
        ----------
        positive : bool, default=False
            Whether only edges with positive scores connect. By default all edges and hyper-edges
            do.
        """
        edges = self.edges[self.scores > 0] if positive else self.edges
        n, m = self.n_samples, 0 if positive else self.n_hyperedges
        first, second = edges[:, 0], edges[:, 1]
        if m:  # a hyper-edge is one more node, next to its members
            members = self.incidence.tocoo()
            first = np.concatenate([first, members.row])
            second = np.concatenate([second, n + members.col])
        graph = sparse.coo_array((np.ones(len(first), np.int8), (first, second)), (n + m, n + m))
        _, found = connected_components(graph, directed=False)
        found = found[:n]
        _, where, codes = np.unique(found, return_index=True, return_inverse=True)
        rank = np.empty(len(where), np.int64)
        rank[np.argsort(where)] = np.arange(len(where))
        return rank[codes]

    def restrict(self, rows: Any) -> Relations:
        """Keep some of the objects, in a new order, with the edges between them.

        Parameters
        ----------
        rows : array-like of int, bool mask or slice
            Positions of the objects to keep, each once.
        """
        kept = as_rows(rows, self.n_samples, "relations")
        place = np.full(self.n_samples, -1, np.int64)
        place[kept] = np.arange(len(kept))
        ends = place[self.edges]
        inside = (ends >= 0).all(axis=1)
        index = None if self.row_index is None else RowIndex(frozen(self.ids[kept]))  # type: ignore[index]
        edges = canonical_edges(ends[inside], self.scores[inside], max(len(kept), 1), None, "mean")
        incidence = self.incidence[kept]
        used = np.flatnonzero(np.bincount(incidence.indices, minlength=self.n_hyperedges))
        return self._make(
            len(kept), index, edges, Hyperedges(incidence[:, used], self.hyperedge_names[used])
        )

    def __getitem__(self, key: Any) -> Relations:
        """Restrict to some objects: positions, a mask or a slice, or what scikit-learn asks for."""
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # scikit-learn indexes whatever has a shape as array[rows, ...]
        return self.restrict(key)

    # Objects can be picked, but there is nothing to go through one by one.
    __iter__ = None

    def __len__(self) -> int:
        return self.n_samples

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Relations):
            return NotImplemented
        return self is other or all(map(same, values.state(self), values.state(other)))

    def __hash__(self) -> int:
        if "hash" not in self._cache:
            self._cache["hash"] = hash(tuple(map(hashable, values.state(self))))
        return int(self._cache["hash"])

    def __copy__(self) -> Relations:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Relations:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return values.rebuild, (type(self), values.state(self), self.notes)

    def name_rows(self, positions: Any) -> list[str]:
        """Words that name objects in a message: ``'ann'`` by id, or ``row 17`` without ids."""
        return canonical.name_rows(positions, self.ids)

    def describe_pairs(self, pairs: Any) -> list[str]:
        """Words that name pairs in a message, such as ``'ann' - 'bob'``."""
        return [" - ".join(self.name_rows(pair)) for pair in pairs]

    def summary(self) -> str:
        """Short text of the relations, their connected components, and what was changed."""
        return _shown.summarize(self)

    def __repr__(self) -> str:
        return _shown.line(self)

    def _repr_html_(self) -> str:
        return _shown.table(self)
