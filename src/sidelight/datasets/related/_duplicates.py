"""A customer table with duplicates, and the scored pairs that a pair classifier makes of it."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.datasets._generator_options import check_counts, check_shares, check_sizes
from sidelight.datasets.related._made_up_words import (
    CITIES,
    FIRST_NAMES,
    MAIL_HOSTS,
    STREETS,
    SURNAMES,
    maybe_mistyped,
)
from sidelight.datasets.related._pair_sampling import pairs_of_blocks

SOURCES = ("shop", "web", "events")
BORN = (date(1940, 1, 1), date(2005, 12, 31))
#: Probability that a person of a household is followed by another one.
P_HOUSEHOLD = 0.35
#: Probability that a record has the address before the last move.
P_MOVED = 0.08
COMPARED = ("name", "street", "city", "email", "birth_date")
#: Probability that two people agree by chance in each of these, as a classifier would estimate it.
BY_CHANCE = (0.002, 0.01, 0.08, 0.001, 0.001)
#: Log-odds that two records of one block are of one person before they are compared.
BEFORE = -4.0


class DuplicateRecords(NamedTuple):
    """Records of people in several files, scored pairs of them, and who is who.

    Attributes
    ----------
    columns : dict of str to list
        ``id``, ``name``, ``street``, ``city``, ``email``, ``birth_date`` and ``source``; None
        where a value is missing. Ready for ``pandas.DataFrame``, ``polars.DataFrame`` and
        ``pyarrow.table``.
    pairs : dict of str to list
        Columns ``i``, ``j`` and ``probability`` of the pairs that agree in something, by id.
    target : ndarray of int64, shape (n_records,)
        Person of every record.
    """

    columns: dict[str, list[Any]]
    pairs: dict[str, list[Any]]
    target: IntArray


def make_duplicates(
    n_entities: int = 400,
    *,
    coverage: float = 0.6,
    p_typo: float = 0.1,
    p_missing: float = 0.1,
    noise: float = 1.0,
    random_state: Any = None,
) -> DuplicateRecords:
    """Make up customers of three files, with the same people in several of them.

    Households share surname, street and city; people move, values are mistyped or missing. No
    file has a person twice. Pairs that agree in name, in surname and city, in birth date or in
    e-mail address are scored by adding up log-odds of agreement (Fellegi and Sunter's rule), as
    Splink does; the pairs are what blocking leaves, so that some duplicates are not among them.

    Parameters
    ----------
    n_entities : int, default=400
        Number of people.
    coverage : float, default=0.6
        Probability that a file has a person; every person is in one file at least.
    p_typo : float, default=0.1
        Probability of a typing error in a value.
    p_missing : float, default=0.1
        Probability that street, e-mail address or birth date is missing.
    noise : float, default=1.0
        Standard deviation of noise added to the log-odds of every pair.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    DuplicateRecords
        ``columns``, ``pairs`` and ``target``, also as a triple to unpack.

    References
    ----------
    Fellegi and Sunter, "A theory for record linkage", *JASA* 64 (1969).

    Examples
    --------
    >>> from sidelight import Relations
    >>> from sidelight.datasets import make_duplicates
    >>> columns, pairs, people = make_duplicates(100, random_state=0)
    >>> Relations.from_table(pairs, ids=columns["id"]).n_samples == len(people)
    True
    """
    check_counts(1, n_entities=n_entities)
    check_shares(coverage=coverage, p_typo=p_typo, p_missing=p_missing)
    check_sizes(noise=noise)
    rng = check_random_state(random_state)
    people = _people(n_entities, rng)
    held = rng.uniform(size=(n_entities, len(SOURCES))) < coverage
    held[np.arange(n_entities), rng.randint(len(SOURCES), size=n_entities)] |= ~held.any(axis=1)
    person, source = np.nonzero(held)
    order = np.lexsort([rng.uniform(size=len(person)), source])
    target = person[order].astype(np.int64)
    records = [_record(people[who], p_typo, p_missing, rng) for who in target]
    columns: dict[str, list[Any]] = {"id": [f"C{k + 1:05d}" for k in range(len(records))]}
    columns |= {name: [record[name] for record in records] for name in COMPARED}
    columns["source"] = [SOURCES[k] for k in source[order]]
    rows, probability = _scored(columns, p_typo, noise, rng)
    ids = np.array(columns["id"], dtype=object)
    pairs = {
        "i": ids[rows[:, 0]].tolist(),
        "j": ids[rows[:, 1]].tolist(),
        "probability": probability.tolist(),
    }
    return DuplicateRecords(columns, pairs, target)


def _people(n: int, rng: np.random.RandomState) -> list[dict[str, Any]]:
    """People in households."""
    people: list[dict[str, Any]] = []
    days = (BORN[1] - BORN[0]).days
    home: tuple[str, str, str] | None = None
    while len(people) < n:
        if home is None or rng.uniform() >= P_HOUSEHOLD:
            home = str(rng.choice(SURNAMES)), _street(rng), str(rng.choice(CITIES))
        surname, street, city = home
        first = str(rng.choice(FIRST_NAMES))
        number = int(rng.randint(1, 100))
        people.append(
            {
                "name": f"{first} {surname}",
                "street": street,
                "city": city,
                "email": f"{first}.{surname}{number}@{rng.choice(MAIL_HOSTS)}".lower(),
                "birth_date": (BORN[0] + timedelta(days=int(rng.randint(days)))).isoformat(),
            }
        )
    return people


def _street(rng: np.random.RandomState) -> str:
    return f"{rng.randint(1, 120)} {rng.choice(STREETS)}"


def _record(
    person: dict[str, Any], p_typo: float, p_missing: float, rng: np.random.RandomState
) -> dict[str, Any]:
    """A person as one file has it."""
    record = dict(person)
    if rng.uniform() < P_MOVED:
        record |= {"street": _street(rng), "city": str(rng.choice(CITIES))}
    if rng.uniform() < 0.15:
        first, surname = record["name"].split(" ")
        record["name"] = f"{first[0]}. {surname}"
    record = {name: maybe_mistyped(value, p_typo, rng) for name, value in record.items()}
    record["birth_date"] = person["birth_date"]
    if rng.uniform() < p_typo:  # a wrong date is a date all the same
        record["birth_date"] = f"{person['birth_date'][:8]}{rng.randint(1, 29):02d}"
    for name in ("street", "email", "birth_date"):
        if rng.uniform() < p_missing:
            record[name] = None
    return record


def _scored(
    columns: dict[str, list[Any]], p_typo: float, noise: float, rng: np.random.RandomState
) -> tuple[IntArray, FloatArray]:
    """Pairs that agree in something, and the probability that they are the same person."""
    surname_city = [
        f"{name.split(' ')[-1]} {city}"
        for name, city in zip(columns["name"], columns["city"], strict=True)
    ]
    keys = [columns["name"], surname_city, columns["email"], columns["birth_date"]]
    n = len(surname_city)
    found = np.concatenate([_same(_codes(values)) for values in keys])
    key = np.unique(found[:, 0] * n + found[:, 1])
    rows = np.column_stack(np.divmod(key, n))
    log_odds = np.full(len(rows), BEFORE)
    by_match = (1 - p_typo) ** 2 * (1 - P_MOVED)
    for name, by_chance in zip(COMPARED, BY_CHANCE, strict=True):
        codes = _codes(columns[name])
        left, right = codes[rows[:, 0]], codes[rows[:, 1]]
        known = (left >= 0) & (right >= 0)
        agree = known & (left == right)
        log_odds[agree] += np.log(by_match / by_chance)
        log_odds[known & ~agree] += np.log((1 - by_match) / (1 - by_chance))
    log_odds += noise * rng.standard_normal(len(rows))
    return rows, 1 / (1 + np.exp(-log_odds))


def _codes(values: list[Any]) -> IntArray:
    """Number of every value among the different ones; -1 where it is missing."""
    known = np.array([value is not None for value in values])
    words: Array = np.array(["" if value is None else value for value in values])
    codes = np.unique(words, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return np.where(known, codes, -1)


def _same(codes: IntArray) -> IntArray:
    """Pairs of rows with the same code, the first row of each before the second."""
    rows = np.flatnonzero(codes >= 0)
    order = rows[np.argsort(codes[rows], kind="stable")]
    _, sizes = np.unique(codes[order], return_counts=True)
    within, _ = pairs_of_blocks(sizes)
    pairs: IntArray = order[within.pairs(np.arange(within.n_pairs))]
    return pairs
