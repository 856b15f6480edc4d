"""Tables of scored pairs, and of members of hyper-edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import listed
from sidelight.constraints.algebra._canonical import RowIndex
from sidelight.constraints.algebra._plain import plain, text_of
from sidelight.constraints.exchange._tables import Trouble, column_names
from sidelight.constraints.relations._edges import Edges, canonical_edges
from sidelight.constraints.relations._hyperedges import Hyperedges, canonical_hyperedges, incidence
from sidelight.constraints.relations._id_columns import (
    Resolved,
    arrow_column,
    encode,
    resolve,
    spelled_numbers,
)
from sidelight.constraints.relations._log_odds import (
    check_prior,
    from_log2_odds,
    log_odds,
    outside_unit_interval,
)
from sidelight.exceptions import SidelightError
from sidelight.io.inner import first_not_a_number, number_column, quoted

if TYPE_CHECKING:
    import pyarrow

#: What the two columns of ids may be called, in the order in which they are looked for.
PAIR_NAMES = (
    ("i", "j"),
    ("unique_id_l", "unique_id_r"),  # Splink
    ("id_l", "id_r"),
    ("left", "right"),
    ("left_id", "right_id"),
    ("id_left", "id_right"),
    ("source", "target"),
    ("from", "to"),
    ("id_1", "id_2"),
    ("id1", "id2"),
    ("rec_id_1", "rec_id_2"),  # recordlinkage
    ("level_0", "level_1"),  # pandas, of an index without names
)
SOURCE_NAMES = ("source_dataset_l", "source_dataset_r")
#: What Splink puts between a source and an id that is unique only inside it.
SOURCE_MARK = "-__-"

Kind = Literal["score", "probability", "log2"]
#: What the column of scores may be called, in the order in which they are looked for. A match
#: weight comes before the probability beside it, which is rounded near 0 and 1.
SCORE_NAMES: dict[str, Kind] = {
    "score": "score",
    "log_odds": "score",
    "match_weight": "log2",
    "match_probability": "probability",
    "probability": "probability",
    "prob": "probability",
    "p": "probability",
    "confidence": "probability",
    "weight": "score",
    "similarity": "score",
}
MEMBER_NAMES = (("object", "hyperedge"), ("id", "hyperedge"), ("object", "group"), ("id", "group"))
NEEDED = (
    "two columns of ids (i and j, or id_l and id_r, unique_id_l and unique_id_r, left and right, "
    "source and target, from and to), and, if you like, one of score, probability, match_weight "
    "or weight; or object and hyperedge for the members of hyper-edges"
)


class Related(NamedTuple):
    """Contents of a table of relations: edges and hyper-edges between objects, and their ids."""

    n_samples: int
    row_index: RowIndex | None
    edges: Edges
    hyperedges: Hyperedges


class TableOptions(NamedTuple):
    """How a table is to be read."""

    row_index: RowIndex | None
    n_samples: int | None
    prior: float
    duplicates: str
    spelled: bool = False


def columns_of(table: Any) -> dict[str, Any]:
    """Columns of a pandas, polars or pyarrow table, or of a mapping, unchanged."""
    names = column_names(table, "relations")
    if len({str(name).strip().lower() for name in names}) < len(names):
        raise SidelightError(
            f"The table has several columns of one name: {quoted([str(name) for name in names])}; "
            "give them different names."
        )
    columns = {str(name): table[name] for name in names}
    if len({len(column) for column in columns.values()}) > 1:
        raise SidelightError("The columns of the table have different lengths.")
    return columns


def id_columns_in(names: list[str]) -> tuple[str, ...]:
    """Columns that a table names objects by (and the names of hyper-edges), as it calls them."""
    called = {name.strip().lower(): name for name in names}
    for wanted in (*PAIR_NAMES, *MEMBER_NAMES):
        if set(wanted) <= set(called):
            return tuple(called[name] for name in wanted)
    return ()


def is_table_of_relations(given: Any) -> bool:
    """Whether something has columns by which objects are named."""
    names = getattr(given, "column_names", None)
    if names is None:
        names = list(given) if isinstance(given, Mapping) else getattr(given, "columns", None)
    return names is not None and bool(id_columns_in([str(name) for name in names]))


def relations_of_columns(
    columns: Mapping[str, Any], options: TableOptions, trouble: Trouble
) -> Related:
    """Edges or hyper-edges from columns."""
    check_prior(options.prior)
    found = id_columns_in(list(columns))
    if not found:
        has = quoted(list(columns), limit=12) if columns else "none"
        raise trouble(None, f"needed are {NEEDED}; the columns are {has}.")
    if tuple(name.strip().lower() for name in found) in MEMBER_NAMES:
        return _members(columns, found, options, trouble)
    return _edges(columns, found, options, trouble)


def _edges(
    columns: Mapping[str, Any], found: tuple[str, ...], options: TableOptions, trouble: Trouble
) -> Related:
    called = {name.strip().lower(): name for name in columns}
    ends = [arrow_column(columns[name]) for name in found]
    used = set(found)
    notes: list[str] = []
    sources = [called[name] for name in SOURCE_NAMES if name in called]
    if len(sources) == 2 and options.row_index is None and options.n_samples is None:
        joined = _with_sources(ends, [arrow_column(columns[name]) for name in sources])
        if joined is not None:
            ends = joined
            used |= set(sources)
            notes.append(
                f"Ids are those of {listed(list(found))} behind those of {listed(sources)}, as "
                f"Splink joins them: source{SOURCE_MARK}id."
            )
    resolved = resolve(
        ends, list(found), options.row_index, options.n_samples, trouble, spelled=options.spelled
    )
    name = next((called[one] for one in SCORE_NAMES if one in called), None)
    scores: Array | float = 1.0
    if name is None:
        notes.append("There is no column of scores: every edge has the score 1.")
        _check_prior(options.prior, "scores", trouble)
    else:
        used.add(name)
        kind = SCORE_NAMES[name.strip().lower()]
        scores, more = _scores(columns[name], name, kind, resolved, options.prior, trouble)
        notes += more
    unused = [name for name in columns if name not in used]
    if unused:
        notes.append(f"Not used: the column{'s' * (len(unused) > 1)} {quoted(unused)}.")
    names = None if resolved.row_index is None else resolved.row_index.ids
    n = resolved.n_samples
    edges = canonical_edges(resolved.positions, scores, max(n, 1), names, options.duplicates)
    edges = edges._replace(notes=(*notes, *edges.notes))
    none = canonical_hyperedges(None, resolved.row_index, n)
    return Related(n, resolved.row_index, edges, none)


def _with_sources(ends: list[Any], sources: list[Any]) -> list[Any] | None:
    """Ids behind the names of their sources, where there are several of these."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = [*ends, *sources]
    if any(isinstance(part, np.ndarray) or part.null_count for part in parts):
        return None
    texts = [part.cast(pa.large_string()) for part in parts]
    if len({word for part in texts[2:] for word in part.unique().to_pylist()}) < 2:
        return None
    mark = pa.scalar(SOURCE_MARK, pa.large_string())
    return [
        pc.binary_join_element_wise(source, end, mark)
        for end, source in zip(texts[:2], texts[2:], strict=True)
    ]


def _check_prior(prior: float, what: str, trouble: Trouble) -> None:
    if prior != 0.5:
        raise trouble(None, f"prior={prior:g} is for probabilities, but the table has {what}.")


def _scores(
    column: Any, name: str, kind: Kind, resolved: Resolved, prior: float, trouble: Trouble
) -> tuple[FloatArray, tuple[str, ...]]:
    """Scores of the pairs, from whatever the column holds."""
    values = numbers_in(column, name, trouble)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        record = int(bad[0])
        what = "missing" if np.isnan(values[record]) else f"{values[record]:g}"
        raise trouble(
            record,
            f"the {name} of {_pair(resolved, record)} is {what}; leave the pair out. What must or "
            "must not join is a must-link or cannot-link of the constraints.",
        )
    if kind == "probability":
        outside = outside_unit_interval(values)
        if len(outside):
            record = int(outside[0])
            raise trouble(
                record,
                f"the {name} of {_pair(resolved, record)} is {values[record]:g}, which is not "
                "between 0 and 1; correct it, or call the column score if it holds log-odds.",
            )
        return log_odds(values, prior)
    if kind == "log2":
        return from_log2_odds(values, prior)
    _check_prior(prior, f"scores in the column {name!r}", trouble)
    if len(values) and values.min() >= 0 and values.max() <= 1 and np.any((values % 1) != 0):
        return values, (
            f"All values of {name!r} are between 0 and 1, and no pair speaks against joining; if "
            "they are probabilities, call the column probability.",
        )
    return values, ()


def numbers_in(column: Any, name: str, trouble: Trouble) -> FloatArray:
    """A column of numbers, missing ones as NaN."""
    import pyarrow as pa

    try:
        arrow = (
            column
            if isinstance(column, pa.ChunkedArray | pa.Array)
            else column.to_arrow()
            if hasattr(column, "to_arrow")
            else pa.array(column, from_pandas=True)
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        arrow = pa.array([text_of(value) for value in plain(column).tolist()])
    if isinstance(arrow, pa.Array):
        arrow = pa.chunked_array([arrow])
    if pa.types.is_dictionary(arrow.type):
        arrow = arrow.cast(arrow.type.value_type)
    numbers = number_column(arrow)
    if numbers is None:
        record, text = first_not_a_number(arrow)
        raise trouble(record, f"the {name} {text!r} is not a number.")
    return np.array(numbers, dtype=np.float64)


def _pair(resolved: Resolved, record: int) -> str:
    """Words for the pair in a row of the table."""
    pair = resolved.positions[record]
    if resolved.row_index is None:
        return f"{pair[0]} - {pair[1]}"
    return " - ".join(repr(name) for name in resolved.row_index.ids[pair].tolist())


def _members(
    columns: Mapping[str, Any], found: tuple[str, ...], options: TableOptions, trouble: Trouble
) -> Related:
    """Hyper-edges from a row for every member."""
    _check_prior(options.prior, "members of hyper-edges", trouble)
    unused = [name for name in columns if name not in found]
    notes = (f"Not used: the column{'s' * (len(unused) > 1)} {quoted(unused)}.",) if unused else ()
    objects, sets = (arrow_column(columns[name]) for name in found)
    resolved = resolve(
        [objects],
        [found[0]],
        options.row_index,
        options.n_samples,
        trouble,
        spelled=options.spelled,
    )
    coded = encode([sets])
    missing = np.flatnonzero(coded.codes < 0)
    if len(missing):
        raise trouble(int(missing[0]), f"the name in the column {found[1]!r} is missing.")
    names, codes = coded.values, coded.codes[:, 0]
    numbers = spelled_numbers(names) if options.spelled else None
    names = names if numbers is None else numbers
    n = resolved.n_samples
    hyperedges = Hyperedges(incidence(resolved.positions[:, 0], codes, n, len(names)), names)
    none = Edges(np.empty((0, 2), np.int64), np.empty(0), notes)
    return Related(n, resolved.row_index, none, hyperedges)


def to_table(
    relations: Any, what: str | None = None, change: Callable[[str], str] | None = None
) -> pyarrow.Table:
    """Edges as columns ``i, j, score``, or members of hyper-edges as ``object, hyperedge``.

    ``change`` is applied to names that are text.
    """
    import pyarrow as pa

    names = _names(relations.ids, relations.n_samples, change)
    if chosen(relations, what) == "edges":
        ends = {name: names.take(pa.array(relations.edges[:, c])) for c, name in enumerate("ij")}
        return pa.table({**ends, "score": pa.array(relations.scores)})
    # By hyper-edge, so that these come back in their order.
    members = relations.incidence.tocsc()
    of_edge: IntArray = np.repeat(np.arange(relations.n_hyperedges), np.diff(members.indptr))
    sets = _names(relations.hyperedge_names, relations.n_hyperedges, change)
    return pa.table(
        {
            "object": names.take(pa.array(members.indices)),
            "hyperedge": sets.take(pa.array(of_edge)),
        }
    )


def chosen(relations: Any, what: str | None) -> str:
    """Which of the two to write; refused where both are there and none is named."""
    if what not in (None, "edges", "hyperedges"):
        raise SidelightError(f'what must be "edges" or "hyperedges", got {what!r}.')
    if what is not None:
        return what
    if relations.n_edges and relations.n_hyperedges:
        raise SidelightError(
            "There are edges and hyper-edges, and a table has room for one of them: say "
            'what="edges" or what="hyperedges", and write the other to a second one.'
        )
    return "hyperedges" if relations.n_hyperedges else "edges"


def _names(names: Array | None, n: int, change: Callable[[str], str] | None) -> pyarrow.Array:
    """Names as Arrow has them: whole numbers as such, anything else as text."""
    import pyarrow as pa

    if names is None:
        return pa.array(np.arange(n))
    if names.dtype.kind == "i":
        return pa.array(names)
    texts = names.tolist() if names.dtype.kind == "U" else [text_of(value) for value in names]
    if len(set(texts)) < len(texts):
        raise SidelightError(
            "Some ids look the same when written as text, so a file could not tell them apart; "
            "use ids that differ as text."
        )
    return pa.array(texts if change is None else map(change, texts), pa.large_string())
