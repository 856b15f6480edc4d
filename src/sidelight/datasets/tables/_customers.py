"""The bundled mixed table: customers whose markets hide their segments.

A shop sells in two markets. In the old one people earn more and joined years ago, in the new one
they earn less and joined lately: country, postal code, income, date of joining and way of paying
all tell the market. What the shop wants is the segment: how people buy, which orders, newsletter,
satisfaction and comments tell. Income, in euros, decides every distance between the numbers as they
are. Scaled columns find a mixture of markets and segments. Someone in the shop knows some of the
customers, and what is said about them brings the segments out.

``customers.csv`` and ``customers-links.csv`` in ``datasets/data/`` are what :func:`customers_csv`
and :func:`customers_links_csv` return; a test holds them to it. Everything is made up.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from sidelight.constraints import Constraints

SEED = 3
N_ROWS = 400
SEGMENTS = ("bargain", "gift", "regular")
SATISFACTION = ("low", "medium", "high")
PAYMENTS = ("card", "invoice", "transfer")
USUAL = 0.55  # share of customers who pay as is usual in their market; the others pay somehow


@dataclass(frozen=True)
class _Market:
    """Distributions that depend on the market of a customer."""

    places: Mapping[str, tuple[int, ...]]  # postal codes of every country
    income: float  # median, in euros a year
    joined: tuple[date, date]
    payment: str  # the usual one


@dataclass(frozen=True)
class _Segment:
    """Distributions that depend on the segment of a customer."""

    orders: float  # mean, a year
    newsletter: float  # share of readers
    satisfaction: tuple[float, float, float]  # shares of SATISFACTION
    subjects: tuple[str, ...]  # what comments are about ...
    remarks: tuple[str, ...]  # ... and what they say


MARKETS = (
    _Market(
        {
            "Germany": (10115, 20095, 50667, 60311, 70173, 80331),
            "Austria": (1010, 4020, 5020, 8010),
            "Netherlands": (1012, 2511, 3011, 3511),
        },
        44_000.0,
        (date(2016, 3, 1), date(2020, 5, 31)),
        "invoice",
    ),
    _Market(
        {
            "Spain": (28001, 41001, 46001, 48001),
            "Portugal": (1100, 4000, 8000),
            "Greece": (10431, 26221, 54621),
        },
        21_000.0,
        (date(2020, 6, 1), date(2025, 6, 30)),
        "card",
    ),
)
BUYS = (
    _Segment(
        17.0,
        0.96,
        (0.15, 0.8, 0.05),
        ("Price", "Discount", "Coupon", "Sale"),
        (
            "could be lower",
            "was cheaper elsewhere",
            "did not work at checkout",
            "ended too early",
            "saved some money",
        ),
    ),
    _Segment(
        2.0,
        0.04,
        (0.8, 0.15, 0.05),
        ("Gift", "Wrapping", "Greeting card", "Present"),
        (
            "came after the birthday",
            "arrived torn",
            "was for a friend",
            "looked plain",
            "had to be sent back",
        ),
    ),
    _Segment(
        8.0,
        0.6,
        (0.02, 0.08, 0.9),
        ("Quality", "Delivery", "Service", "Selection"),
        (
            "was good as always",
            "made my day",
            "was fast and friendly",
            "never disappoints",
            "beats the shops in town",
        ),
    ),
)
ENDINGS = ("", "thanks", "ordered by phone", "see you again", "just my opinion")
SPREAD, RICH = 0.35, 0.03  # of incomes: deviation of the logarithm, share of very large ones
MISSING_INCOME = 0.12
NO_COMMENT = 0.3

#: In every segment the shop knows this many groups of customers that belong together, of this many
#: each, ...
GROUPS, GROUP_SIZE = 3, 3
#: ... and this many pairs of different segments among them.
N_DIFFERENT = 12
UNSURE = 0.5  # weight of a statement that is less certain


@dataclass(frozen=True, eq=False, repr=False)
class MixedTable:
    """A table with columns of several kinds, and the classes of its rows.

    Attributes
    ----------
    columns : mapping of str to list
        The columns as plain values (str, int, float, date), None where missing; ready for
        ``pandas.DataFrame``, ``polars.DataFrame`` and ``pyarrow.table``.
    target : ndarray of int64, shape (n,)
        Class of each row as a position in ``target_names``.
    target_names : tuple of str
        Names of the classes.
    ids : tuple of str
        Names of the rows; not among the columns.
    description : str
        What it is.
    """

    columns: Mapping[str, list[Any]]
    target: npt.NDArray[np.int64]
    target_names: tuple[str, ...]
    ids: tuple[str, ...]
    description: str

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.ids)

    def __repr__(self) -> str:
        title = self.description.split("\n", 1)[0]
        return (
            f"MixedTable({self.n_samples} rows, {len(self.columns)} columns, "
            f"{len(self.target_names)} classes: {title})"
        )


def make_mixed_customers(n_rows: int = N_ROWS, *, random_state: Any = None) -> MixedTable:
    """Make up a table of customers: categories, a date, gaps, yes/no, an order, short texts.

    Two markets decide country, postal code, income, date of joining and payment. Three segments,
    which are the target, decide orders, newsletter, satisfaction and comment. Markets and segments
    are independent.

    Parameters
    ----------
    n_rows : int, default=400
        Number of customers.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    MixedTable
        Columns ``country``, ``zip``, ``joined`` (dates), ``income_eur`` (skewed, one in eight is
        missing), ``orders``, ``newsletter`` (yes or no), ``satisfaction`` (low, medium or high),
        ``comment`` (a few words; three in ten are missing) and ``payment``.

    Examples
    --------
    >>> from sidelight.datasets import make_mixed_customers
    >>> customers = make_mixed_customers(200, random_state=0)
    >>> customers
    MixedTable(200 rows, 9 columns, 3 classes: Customers of a shop)
    >>> sorted(set(customers.columns["satisfaction"]))
    ['high', 'low', 'medium']
    """
    rng = check_random_state(random_state)
    target = rng.permutation(np.arange(n_rows) % len(SEGMENTS))
    market = rng.permutation(np.arange(n_rows) % len(MARKETS))
    rows = [_customer(MARKETS[m], BUYS[s], rng) for m, s in zip(market, target, strict=True)]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    usual = np.array([MARKETS[m].payment for m in market])
    others = rng.choice(PAYMENTS, n_rows)
    columns["payment"] = np.where(rng.uniform(size=n_rows) < USUAL, usual, others).tolist()
    return MixedTable(
        columns=columns,
        target=target.astype(np.int64),
        target_names=SEGMENTS,
        ids=tuple(f"C{number:04d}" for number in range(1, n_rows + 1)),
        description="Customers of a shop\nMade up for this package. Country, zip, joined, "
        "income_eur and payment tell the market, the other columns the segment.",
    )


def _customer(market: _Market, segment: _Segment, rng: np.random.RandomState) -> dict[str, Any]:
    country = rng.choice(list(market.places), p=_falling(len(market.places)))
    first, last = market.joined
    income = market.income * np.exp(SPREAD * rng.standard_normal())
    if rng.uniform() < RICH:
        income *= 5.0
    words = [f"{rng.choice(segment.subjects)} {rng.choice(segment.remarks)}", rng.choice(ENDINGS)]
    comment = ", ".join(word for word in words if word)
    return {
        "country": str(country),
        "zip": int(rng.choice(market.places[country])),
        "joined": first + timedelta(days=int(rng.randint((last - first).days + 1))),
        "income_eur": None if rng.uniform() < MISSING_INCOME else float(round(income, -2)),
        "orders": int(rng.poisson(segment.orders)),
        "newsletter": "yes" if rng.uniform() < segment.newsletter else "no",
        "satisfaction": str(rng.choice(SATISFACTION, p=segment.satisfaction)),
        "comment": None if rng.uniform() < NO_COMMENT else comment,
    }


def _falling(n: int) -> npt.NDArray[np.float64]:
    """Return shares of the countries of a market, each half of the one before."""
    share = 0.5 ** np.arange(n)
    return share / share.sum()


def make_statements(
    customers: MixedTable, random_state: Any = None
) -> list[tuple[str, str, str, float]]:
    """Return pairs that relate 27 customers: ``(i, j, kind, weight)`` by their ids."""
    rng = check_random_state(random_state)
    statements: list[tuple[str, str, str, float]] = []
    asked: list[list[str]] = []
    for segment in range(len(SEGMENTS)):
        rows = rng.permutation(np.flatnonzero(customers.target == segment))
        names = [customers.ids[row] for row in rows[: GROUPS * GROUP_SIZE]]
        asked.append(names)
        for first in range(0, len(names), GROUP_SIZE):
            one, *others = names[first : first + GROUP_SIZE]
            statements += [(one, other, "must-link", 1.0) for other in others]
    n_same = len(statements)
    while len(statements) < n_same + N_DIFFERENT:
        one, other = rng.choice(len(SEGMENTS), 2, replace=False)
        pair = (str(rng.choice(asked[one])), str(rng.choice(asked[other])))
        if all({*pair} != {i, j} for i, j, _, _ in statements):
            weight = UNSURE if rng.uniform() < 0.2 else 1.0
            statements.append((*pair, "cannot-link", weight))
    return statements


def customers_csv() -> str:
    """Text of the bundled table; the last column is the segment."""
    customers = make_mixed_customers(random_state=SEED)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["customer_id", *customers.columns, "segment"])
    segments = [customers.target_names[one] for one in customers.target]
    for row in zip(customers.ids, *customers.columns.values(), segments, strict=True):
        writer.writerow(["" if value is None else _written(value) for value in row])
    return text.getvalue()


def _written(value: Any) -> str:
    return f"{value:.0f}" if isinstance(value, float) else str(value)


def customers_links_csv() -> str:
    """Text of the bundled statements."""
    customers = make_mixed_customers(random_state=SEED)
    statements = make_statements(customers, random_state=SEED + 1)
    return (
        "\n".join(["i,j,kind,weight", *(f"{i},{j},{k},{w:g}" for i, j, k, w in statements)]) + "\n"
    )


def customers_paths() -> tuple[Path, Path]:
    """Where the bundled table of customers and what is known about them are.

    Returns
    -------
    data, links : Path
        ``customers.csv`` (columns ``customer_id``, nine of several kinds, ``segment``) and
        ``customers-links.csv`` (columns ``i``, ``j``, ``kind``, ``weight``, in the ids of the
        table).

    Examples
    --------
    >>> from sidelight.datasets import customers_paths
    >>> [path.name for path in customers_paths()]
    ['customers.csv', 'customers-links.csv']
    """
    folder = files("sidelight.datasets") / "data"
    return Path(str(folder / "customers.csv")), Path(str(folder / "customers-links.csv"))


def load_customers() -> tuple[MixedTable, Constraints]:
    """Load the bundled customers: 400 rows of mixed columns, and 30 statements about 27 of them.

    Returns
    -------
    customers : MixedTable
        The columns, the segment of each customer and the ids.
    constraints : Constraints
        18 must-links and 12 cannot-links in the ids of the customers.

    Examples
    --------
    >>> from sidelight.datasets import load_customers
    >>> customers, known = load_customers()
    >>> customers
    MixedTable(400 rows, 9 columns, 3 classes: Customers of a shop)
    >>> len(known.must_link), len(known.cannot_link)
    (18, 12)
    """
    customers = make_mixed_customers(random_state=SEED)
    return customers, Constraints.read(customers_paths()[1], ids=customers.ids)
