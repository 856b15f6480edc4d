"""Customers and what they buy, or when: 0/1 tables with planted clusters on both sides."""

from __future__ import annotations

import os
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from sidelight._typing import IntArray
from sidelight.datasets._generator_options import check_counts, check_shares
from sidelight.exceptions import SidelightError

#: Products by shelf; after the last one they are numbered.
SHELVES = (
    ("bread", "butter", "jam", "honey", "rolls", "muesli", "milk", "coffee"),
    ("pasta", "rice", "sauce", "oil", "onions", "garlic", "cheese", "beans"),
    ("soap", "shampoo", "towels", "sponge", "bleach", "cream", "razor", "paste"),
    ("beer", "wine", "juice", "cola", "water", "chips", "nuts", "ice"),
    ("pens", "paper", "glue", "tape", "ink", "clips", "folder", "stamps"),
)


class Purchases(NamedTuple):
    """A 0/1 table of customers with its planted clusters of rows and columns.

    Attributes
    ----------
    X : ndarray of uint8, shape (n_customers, n_columns)
        1 where a customer bought the product, or bought in the week.
    customers : ndarray of str, shape (n_customers,)
        Names of the rows.
    columns : ndarray of str, shape (n_columns,)
        Names of the columns: products, or weeks in their order.
    target : ndarray of int64, shape (n_customers,)
        Planted cluster of every customer.
    column_target : ndarray of int64, shape (n_columns,)
        Planted cluster of every column; along weeks these are runs.
    """

    X: npt.NDArray[np.uint8]
    customers: npt.NDArray[Any]
    columns: npt.NDArray[Any]
    target: IntArray
    column_target: IntArray

    def write(self, path: str | os.PathLike[str], *, truth: bool = False) -> None:
        """Write the table, a row per customer.

        Parameters
        ----------
        path : path-like
            ``.csv``, ``.csv.gz``, ``.tsv`` or ``.parquet``.
        truth : bool, default=False
            Whether a column ``group`` tells the planted cluster of every customer.
        """
        from sidelight.io import write_table

        others = {"group": self.target} if truth else {}
        write_table(path, self.X, self.columns.tolist(), ids=self.customers, others=others)


def make_purchases(
    n_customers: int = 60,
    n_columns: int = 18,
    *,
    over: Literal["products", "weeks"] = "products",
    n_clusters: int = 3,
    density: float = 0.75,
    noise: float = 0.03,
    random_state: Any = None,
) -> Purchases:
    """Customers by products, or by weeks, with groups that buy the same, or at the same time.

    Customers and columns are parted into as many clusters. A customer of cluster `l` buys a
    product (or in a week) of cluster `l` with the probability ``density``, any other with the
    probability ``noise``. Products of a cluster are spread over the columns; the weeks of a cluster
    follow each other, so that the clusters of columns are runs.

    Parameters
    ----------
    n_customers : int, default=60
        Number of rows.
    n_columns : int, default=18
        Number of products or weeks.
    over : {"products", "weeks"}, default="products"
        Whether columns are products without an order, or weeks in their order.
    n_clusters : int, default=3
        Number of planted clusters of either side.
    density : float, default=0.75
        Share of ones inside of the planted blocks.
    noise : float, default=0.03
        Share of ones outside.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    Purchases
        ``X``, ``customers``, ``columns``, ``target`` and ``column_target``, also as a tuple to
        unpack.

    Examples
    --------
    >>> from sidelight.datasets import make_purchases
    >>> bought = make_purchases(6, 6, over="weeks", n_clusters=2, noise=0.0, random_state=0)
    >>> bought.columns.tolist()
    ['w01', 'w02', 'w03', 'w04', 'w05', 'w06']
    >>> bought.column_target.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> bool(bought.X[bought.target == 0][:, 3:].any())
    False
    """
    check_counts(1, n_customers=n_customers, n_columns=n_columns, n_clusters=n_clusters)
    check_shares(density=density, noise=noise)
    if over not in ("products", "weeks"):
        raise SidelightError(f'over must be "products" or "weeks", got {over!r}.')
    if n_clusters > min(n_customers, n_columns):
        raise SidelightError(
            f"{n_clusters} clusters need as many customers and columns, got {n_customers} and "
            f"{n_columns}."
        )
    rng = check_random_state(random_state)
    target = rng.permutation(np.arange(n_customers) % n_clusters)
    runs = np.sort(np.arange(n_columns) % n_clusters)
    column_target = runs if over == "weeks" else rng.permutation(runs)
    share = np.where(target[:, None] == column_target, density, noise)
    X = (rng.random_sample(share.shape) < share).astype(np.uint8)
    names = _weeks(n_columns) if over == "weeks" else _products(column_target)
    customers = np.array([f"c{row:0{len(str(n_customers))}d}" for row in range(1, n_customers + 1)])
    return Purchases(X, customers, np.array(names), target, column_target)


def _weeks(n: int) -> list[str]:
    width = max(2, len(str(n)))
    return [f"w{week:0{width}d}" for week in range(1, n + 1)]


def _products(clusters: IntArray) -> list[str]:
    """Products of every cluster from a shelf of their own, as far as there are shelves."""
    taken: dict[int, int] = {}
    names = []
    for cluster in clusters.tolist():
        place = taken[cluster] = taken.get(cluster, -1) + 1
        known = cluster < len(SHELVES) and place < len(SHELVES[cluster])
        names.append(SHELVES[cluster][place] if known else f"product {cluster + 1}.{place + 1}")
    return names
