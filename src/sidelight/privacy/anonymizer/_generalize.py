"""Generalized tables for given classes of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sidelight.exceptions import SidelightError
from sidelight.privacy.anonymizer._columns import read_columns
from sidelight.privacy.anonymizer._encode import encode, read_hierarchies
from sidelight.privacy.anonymizer._publish import as_given, class_texts, classes_of


def generalize(X: Any, labels: Any, *, hierarchies: Mapping[str, Any] | None = None) -> Any:
    """Publish every row with the ranges and sets of values of its class.

    Nothing is checked: for a table that is safe to publish use :class:`Anonymizer`. Read more in
    the :doc:`user guide </privacy/anonymizer>`.

    Parameters
    ----------
    X : table or array of shape (n_samples, n_features)
        The quasi-identifiers.
    labels : array of int, shape (n_samples,)
        Class of every row; rows with -1 are left out.
    hierarchies : dict of str to Hierarchy or mapping, default=None
        Hierarchies of values, by column.

    Returns
    -------
    published : table of texts
        In the form of :attr:`Anonymizer.published_`.

    Examples
    --------
    >>> from sidelight.privacy import generalize
    >>> generalize({"age": [21, 25, 60], "city": ["Rome", "Pisa", "Bari"]}, [0, 0, 1])
    {'age': ['21-25', '21-25', '60'], 'city': ['{Pisa, Rome}', '{Pisa, Rome}', 'Bari']}
    """
    columns, _ = read_columns(X)
    given = np.asarray(labels)
    if given.shape != columns[0].codes.shape or given.dtype.kind not in "iu":
        raise SidelightError(
            f"labels should be one whole number per row, {len(columns[0].codes):,} in all, got "
            f"an array of shape {given.shape} and type {given.dtype}."
        )
    rows = np.flatnonzero(given >= 0)
    if not len(rows):
        raise SidelightError("All rows are left out: nothing can be published.")
    codes = np.full(len(given), -1, np.int64)
    codes[rows] = np.unique(given[rows], return_inverse=True)[1]
    encoded = encode(columns, read_hierarchies(hierarchies, columns))
    texts = class_texts(encoded, classes_of(codes))
    published = [column[codes[rows]] for column in texts]
    return as_given(published, [column.name for column in columns], X, rows)
