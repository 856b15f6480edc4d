"""Losses and risks of a published table, from that table and the original alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def normalized_certainty_penalty(
    original: Any, published: Any, *, hierarchies: Mapping[str, Any] | None = None
) -> float:
    """Mean share of the range of a column that a published value leaves open, in [0, 1].

    Parameters
    ----------
    original : table or array of shape (n_samples, n_features)
        The quasi-identifiers as they were.
    published : table of texts of shape (n_published, n_features)
        The same columns as they are published.
    hierarchies : dict of str to Hierarchy, default=None
        Hierarchies that the published values are nodes of.
    """
    raise NotImplementedError


def discernibility(published: Any, *, n_suppressed: int = 0) -> int:
    """Sum of the squared sizes of the classes of rows that are published alike.

    Parameters
    ----------
    published : table of shape (n_published, n_features)
        The published quasi-identifiers.
    n_suppressed : int, default=0
        Rows that were left out; each counts as much as there are rows.
    """
    raise NotImplementedError


def dispersion(original: Any, published: Any) -> float:
    """Sum of squared distances of standardized, encoded rows to the means of their classes.

    Parameters
    ----------
    original : table or array of shape (n_published, n_features)
        The rows that were published, as they were.
    published : table of shape (n_published, n_features)
        The published quasi-identifiers, which say which rows are alike.
    """
    raise NotImplementedError


def t_closeness(published: Any, sensitive: Any) -> dict[str, float]:
    """Largest distance of the distribution of a sensitive column in a class to that in all rows.

    Parameters
    ----------
    published : table of shape (n_published, n_features)
        The published quasi-identifiers, which say which rows are alike.
    sensitive : array of shape (n_published,) or table
        Sensitive columns of the published rows.
    """
    raise NotImplementedError
