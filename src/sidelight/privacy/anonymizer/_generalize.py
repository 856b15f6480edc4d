"""Generalized tables for given classes of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def generalize(X: Any, labels: Any, *, hierarchies: Mapping[str, Any] | None = None) -> Any:
    """Publish every row with the ranges and sets of values of its class.

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
        As :attr:`Anonymizer.published_`.
    """
    raise NotImplementedError
