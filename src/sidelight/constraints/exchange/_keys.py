"""Cannot-links of records whose keys differ (Book 2009, section 15.9)."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.constraints._constraints import Constraints
from sidelight.exceptions import SidelightError


def cannot_links_from_keys(
    keys: Any, n_pairs: int = 50_000, *, ids: Any = None, random_state: Any = None
) -> Constraints:
    """State that records with different keys are apart, such as papers by authors of other names.

    Different names stand for different people, and pairs of different people look alike whether
    they share a name or not: a metric learned from such pairs tells apart people who do (Book
    2009, section 15.9). Records with the same key are left open.

    Parameters
    ----------
    keys : array of shape (n_samples,)
        The key of every record: a name, a number; None, NaN, "" or -1 where it is unknown, which
        leaves the record out.
    n_pairs : int, default=50_000
        Largest number of pairs. Where more keys differ, these are drawn, all pairs with the same
        probability; their number would grow with the square of the records.
    ids : sequence of length n_samples, default=None
        Ids of the records.
    random_state : int, RandomState or None, default=None
        Seed or generator for the draw of the pairs; pass an int for reproducible results.

    Returns
    -------
    known : Constraints
        The cannot-links.

    Examples
    --------
    >>> from sidelight.constraints import cannot_links_from_keys
    >>> known = cannot_links_from_keys(["J. Smith", "J. Smith", "R. Jain", None])
    >>> known.cannot_link.tolist()
    [[0, 2], [1, 2]]
    """
    if isinstance(n_pairs, bool) or not isinstance(n_pairs, Integral) or n_pairs < 1:
        raise ValueError(f"n_pairs must be a whole number above 0, got {n_pairs!r}.")
    coded = Constraints.from_labels(keys, ids=ids)
    codes = np.full(coded.n_samples, -1) if coded.labels is None else coded.labels
    rows = np.argsort(codes, kind="stable")
    rows = rows[codes[rows] >= 0]
    # In this order a record is apart from all those behind the last one of its own key.
    behind = np.searchsorted(codes[rows], codes[rows], side="right")
    before = np.concatenate([[0], np.cumsum(len(rows) - behind)])
    n_all = int(before[-1])
    if not n_all:
        raise SidelightError(
            "No two records have different keys: there are no pairs to keep apart."
        )
    chosen = np.arange(n_all) if n_all <= n_pairs else _draw(n_all, int(n_pairs), random_state)
    first = np.searchsorted(before, chosen, side="right") - 1
    second = behind[first] + chosen - before[first]
    pairs = np.column_stack([rows[first], rows[second]])
    if coded.ids is None:
        return Constraints(cannot_link=pairs, n_samples=len(codes))
    return Constraints(cannot_link=coded.ids[pairs], ids=coded.ids)


def _draw(n_all: int, n_pairs: int, random_state: Any) -> Array:
    from sklearn.utils.random import sample_without_replacement

    return np.asarray(sample_without_replacement(n_all, n_pairs, random_state=random_state))
