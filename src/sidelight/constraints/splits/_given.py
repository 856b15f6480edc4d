"""Known splits as users pass them to ``fit``."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._words import counted, worded
from sidelight.constraints.algebra import _alignment as alignment
from sidelight.constraints.splits._columns import CodedSplit, given_columns
from sidelight.constraints.splits._known_splits import KnownSplits
from sidelight.exceptions import SidelightError


def as_known_splits(known: Any, n_samples: int, X: Any = None) -> KnownSplits:
    """Read what a ``fit`` was given as known splits, in the order of its rows, and check it.

    Parameters
    ----------
    known : KnownSplits, None or anything that :class:`KnownSplits` takes
        Splits to avoid. Those with ids are brought into the order of the index of ``X``.
    n_samples : int
        Number of rows of the fit.
    X : object, optional
        The rows as they were given, perhaps with an index.

    Returns
    -------
    KnownSplits
        About ``n_samples`` rows; empty for None.

    Raises
    ------
    SidelightError
        If the number of rows differs, or if a split is constant or different in all rows.

    Examples
    --------
    >>> from sidelight.constraints import as_known_splits
    >>> as_known_splits(["it", "no", "it"], 3)
    <KnownSplits of 3 rows: 'known' (2 classes)>
    >>> as_known_splits(["it", "it", "it"], 3)
    Traceback (most recent call last):
    sidelight.exceptions.SidelightError: The known split 'known' is 'it' in all 3 rows, ...
    """
    if known is None:
        return KnownSplits(n_samples=n_samples)
    splits = known if isinstance(known, KnownSplits) else _read(known, n_samples)
    if splits.ids is not None:
        splits = alignment.align(splits, X)
    if splits.n_samples != n_samples:
        raise SidelightError(
            f"The known splits are about {counted(splits.n_samples, 'row')}, and there "
            f"{'is' if n_samples == 1 else 'are'} {counted(n_samples, 'row')}; give one value of "
            "every split per row."
        )
    for column in splits.columns():
        _check_split(column)
    return splits


def _read(known: Any, n_samples: int) -> KnownSplits:
    """Splits from an array, list, mapping or table; nothing at all has the rows of the fit."""
    given, _ = given_columns(known, None)
    return KnownSplits(known) if given else KnownSplits(n_samples=n_samples)


def _check_split(column: CodedSplit) -> None:
    """Raise for a split that nothing can differ from, and for one that everything differs from."""
    n, name = len(column.values), column.name
    n_values = len(np.unique(column.values))
    if n_values < 2:
        shown = column.values[0] if column.classes is None else column.classes[column.values[0]]
        value = f"{shown:g}" if column.classes is None else repr(str(shown))
        raise SidelightError(
            f"The known split {name!r} is {value} in {_all_of(n)}, so that there is nothing to "
            "avoid: leave it out."
        )
    if column.classes is not None and n_values == n > 2:
        raise SidelightError(
            f"The known split {name!r} differs in all {n:,} rows: it is an id, not a split. Leave "
            "it out"
            + worded(f", or pass numbers=[{name!r}] to KnownSplits if it holds numbers.", ".")
        )


def _all_of(n: int) -> str:
    return "the only row" if n == 1 else f"all {n:,} rows"
