"""A made-up census of adults: columns by which people can be recognized, and sensitive ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.datasets.tables._customers import MixedTable

#: Levels of every category and the weights with which they are drawn.
WORKCLASS = {
    "Private": 70.0,
    "Self-employed": 11.0,
    "Local government": 7.0,
    "State government": 4.0,
    "Federal government": 3.0,
    "Without pay": 0.1,
}
EDUCATION = (
    "Preschool",
    "1st-4th",
    "5th-6th",
    "7th-8th",
    "9th",
    "10th",
    "11th",
    "12th",
    "High school",
    "Some college",
    "Vocational",
    "Academic associate",
    "Bachelor",
    "Master",
    "Professional school",
    "Doctorate",
)
EDUCATION_WEIGHTS = (0.2, 0.5, 1, 2, 1.6, 2.8, 3.6, 1.3, 32, 22, 4.3, 3.3, 16.5, 5.3, 1.8, 1.3)
MARITAL = (
    "Married",
    "Never married",
    "Divorced",
    "Separated",
    "Widowed",
    "Spouse absent",
    "Spouse in the army",
)
RACE = {"White": 85.5, "Black": 9.6, "Asian": 3.1, "Indigenous": 1.0, "Other": 0.8}
OCCUPATION = (
    "Craft and repair",
    "Professional",
    "Executive",
    "Clerical",
    "Sales",
    "Other service",
    "Machine operation",
    "Transport",
    "Handling and cleaning",
    "Farming and fishing",
    "Technical support",
    "Protective service",
    "Private household",
    "Armed forces",
)
OCCUPATION_WEIGHTS = (13.4, 13.5, 13.3, 12.3, 11.9, 10.7, 6.5, 5.2, 4.5, 3.2, 3, 2.1, 0.5, 0.05)
#: Years of education at which an occupation is most frequent.
OCCUPATION_SCHOOLING = (9, 13, 12, 10, 10.5, 8.5, 8, 8.5, 8, 8, 11, 10, 7, 9)
COUNTRIES = (
    *("United States", "Mexico", "Philippines", "Germany", "Canada", "Puerto Rico", "El Salvador"),
    *("India", "Cuba", "England", "Jamaica", "South Korea", "China", "Italy", "Dominican Republic"),
    *("Vietnam", "Guatemala", "Japan", "Poland", "Colombia", "Taiwan", "Haiti", "Iran", "Portugal"),
    *("Nicaragua", "Peru", "France", "Greece", "Ecuador", "Ireland", "Hong Kong", "Trinidad"),
    *("Cambodia", "Thailand", "Laos", "Yugoslavia", "Hungary", "Honduras", "Scotland", "Guam"),
    "Netherlands",
)
DIAGNOSES = {
    "none": 42.0,
    "hypertension": 16.0,
    "back pain": 11.0,
    "diabetes": 8.0,
    "asthma": 7.0,
    "depression": 6.0,
    "arthritis": 5.0,
    "heart disease": 3.0,
    "cancer": 1.5,
    "HIV": 0.5,
}
#: Growth of the weight of every diagnosis with a decade of age, as a logarithm.
DIAGNOSIS_AGE = (-0.10, 0.25, 0.05, 0.2, -0.1, 0.0, 0.35, 0.45, 0.4, -0.1)
INCOMES = ("<=50K", ">50K")
QUASI_IDENTIFIERS = (
    "age",
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "race",
    "sex",
    "native_country",
)
N_REGIONS, ZIPS_PER_REGION = 40, 25
MISSING_JOB = 0.056


@dataclass(frozen=True, eq=False, repr=False)
class PeopleTable(MixedTable):
    """A table about people, with the columns by which they can be recognized.

    Attributes
    ----------
    columns : mapping of str to list
        The columns as plain values (str, int), None where missing; ready for
        ``pandas.DataFrame``, ``polars.DataFrame`` and ``pyarrow.table``.
    target : ndarray of int64, shape (n,)
        Diagnosis of each row as a position in ``target_names``.
    target_names : tuple of str
        Diagnoses.
    ids : tuple of str
        Names of the rows; not among the columns.
    description : str
        What it is.
    quasi_identifiers : tuple of str
        Columns by which somebody could recognize a person.
    sensitive : tuple of str
        Columns that nobody is to learn about a person.
    """

    quasi_identifiers: tuple[str, ...] = QUASI_IDENTIFIERS
    sensitive: tuple[str, ...] = ("diagnosis", "income")

    def __repr__(self) -> str:
        return super().__repr__().replace("MixedTable", "PeopleTable", 1)


def make_adult_like(n_rows: int = 30_000, *, random_state: Any = None) -> PeopleTable:
    """Make up a census of adults: eight quasi-identifiers, more columns, two sensitive ones.

    Ages are skewed, most people are of one race and country, and the columns depend on each other:
    schooling and age decide the occupation, age and sex the marital status, the country the race,
    and age the diagnosis. The shares are near those of the well-known Adult table; nobody in it
    exists.

    Parameters
    ----------
    n_rows : int, default=30000
        Number of people.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    PeopleTable
        Columns ``age``, ``workclass`` and ``occupation`` (6 in 100 are missing), ``education``,
        ``marital_status``, ``race``, ``sex``, ``native_country``, ``hours_per_week``, ``zip``,
        ``diagnosis`` and ``income``. The quasi-identifiers are named in
        ``quasi_identifiers``.

    Examples
    --------
    >>> from sidelight.datasets import make_adult_like
    >>> people = make_adult_like(1000, random_state=0)
    >>> people
    PeopleTable(1000 rows, 12 columns, 10 classes: Census of adults)
    >>> len(people.quasi_identifiers), people.sensitive
    (8, ('diagnosis', 'income'))
    """
    rng = check_random_state(random_state)
    age = np.clip(17 + rng.gamma(2.2, 10.0, n_rows), 17, 90).astype(np.int64)
    male = rng.uniform(size=n_rows) < 0.67
    country = _skewed(len(COUNTRIES), 0.9, n_rows, rng)
    schooling = _schooling(age, country, rng)
    occupation = _occupation(schooling, male, rng)
    workclass = _draw(rng, np.tile(list(WORKCLASS.values()), (n_rows, 1)))
    jobless = rng.uniform(size=n_rows) < MISSING_JOB
    marital = _marital(age, male, rng)
    diagnosis = _diagnosis(age, rng)
    hours = _hours(age, male, rng)
    rich = _rich(age, schooling, hours, marital == 0, rng)
    columns = {
        "age": age.tolist(),
        "workclass": _named(tuple(WORKCLASS), workclass, jobless),
        "education": _named(EDUCATION, schooling),
        "marital_status": _named(MARITAL, marital),
        "occupation": _named(OCCUPATION, occupation, jobless),
        "race": _named(tuple(RACE), _race(country, rng)),
        "sex": _named(("Female", "Male"), male.astype(np.int64)),
        "native_country": _named(COUNTRIES, country),
        "hours_per_week": hours.tolist(),
        "zip": _zips(country, rng).tolist(),
        "diagnosis": _named(tuple(DIAGNOSES), diagnosis),
        "income": _named(INCOMES, rich.astype(np.int64)),
    }
    return PeopleTable(
        columns=columns,
        target=diagnosis.astype(np.int64),
        target_names=tuple(DIAGNOSES),
        ids=tuple(f"P{number:07d}" for number in range(1, n_rows + 1)),
        description="Census of adults\nMade up for this package, in the likeness of the Adult "
        "table of the UCI repository.",
    )


def _draw(rng: np.random.RandomState, weights: FloatArray) -> IntArray:
    """One level per row, with the weights of the row."""
    upto = np.cumsum(weights, axis=1)
    return (rng.uniform(size=len(upto))[:, None] * upto[:, -1:] > upto).sum(axis=1)


def _skewed(n_levels: int, first: float, n_rows: int, rng: np.random.RandomState) -> IntArray:
    """Levels of which the first has a share, and the others ever smaller parts of the rest."""
    falling = 1.0 / np.arange(1, n_levels) ** 1.1
    shares = np.append(first, (1 - first) * falling / falling.sum())
    return rng.choice(n_levels, n_rows, p=shares / shares.sum())


def _schooling(age: IntArray, country: IntArray, rng: np.random.RandomState) -> IntArray:
    weights = np.tile(np.array(EDUCATION_WEIGHTS), (len(age), 1))
    weights[np.ix_(age < 22, np.arange(12, 16))] *= 0.05
    weights[np.ix_(age > 60, np.arange(8))] *= 2.0
    weights[np.ix_((country > 0) & (country % 3 == 1), np.arange(8))] *= 4.0
    return _draw(rng, weights)


def _occupation(schooling: IntArray, male: Array, rng: np.random.RandomState) -> IntArray:
    distance = (schooling[:, None] - np.array(OCCUPATION_SCHOOLING)) / 2.5
    weights = np.array(OCCUPATION_WEIGHTS) * np.exp(-0.5 * distance**2)
    weights[np.ix_(~male, np.array([0, 7, 9, 11]))] *= 0.15
    weights[np.ix_(male, np.array([3, 12]))] *= 0.3
    return _draw(rng, weights)


def _marital(age: IntArray, male: Array, rng: np.random.RandomState) -> IntArray:
    years = age - 17.0
    married = 60 * (1 - np.exp(-years / 12)) * np.where(male, 1.3, 0.5)
    alone = 70 * np.exp(-years / 10) + 3
    divorced = 18 * (1 - np.exp(-years / 18)) * np.where(male, 0.7, 1.6)
    widowed = 0.0004 * years**2.7 * np.where(male, 0.2, 1.0)
    few = np.ones_like(years)
    columns = [married, alone, divorced, 3 * few, widowed, 1.3 * few, 0.07 * few]
    return _draw(rng, np.column_stack(columns))


def _race(country: IntArray, rng: np.random.RandomState) -> IntArray:
    weights = np.tile(list(RACE.values()), (len(country), 1))
    weights[np.ix_((country > 0) & (country % 5 == 2), np.array([2]))] *= 200.0
    weights[np.ix_((country > 0) & (country % 7 == 3), np.array([1]))] *= 40.0
    return _draw(rng, weights)


def _hours(age: IntArray, male: Array, rng: np.random.RandomState) -> IntArray:
    usual = rng.uniform(size=len(age)) < 0.47
    mean = np.where(age < 22, 26, np.where(age > 65, 28, 42)) + np.where(male, 2, -4)
    return np.where(usual, 40, np.clip(rng.normal(mean, 12), 1, 99)).astype(np.int64)


def _diagnosis(age: IntArray, rng: np.random.RandomState) -> IntArray:
    decades = (age - 40) / 10.0
    weights = np.array(list(DIAGNOSES.values())) * np.exp(
        decades[:, None] * np.array(DIAGNOSIS_AGE)
    )
    return _draw(rng, weights)


def _rich(
    age: IntArray, schooling: IntArray, hours: IntArray, married: Array, rng: np.random.RandomState
) -> Array:
    score = 0.4 * (schooling - 10) + 0.03 * (hours - 40) + 1.8 * married
    score = score - 0.0018 * (age - 50.0) ** 2 - 2.2
    return rng.uniform(size=len(age)) < 1 / (1 + np.exp(-score))


def _zips(country: IntArray, rng: np.random.RandomState) -> IntArray:
    """Postal codes of five digits; people from abroad live in fewer regions."""
    region = _skewed(N_REGIONS, 0.08, len(country), rng)
    region = np.where(country > 0, region % 8, region)
    place = _skewed(ZIPS_PER_REGION, 0.2, len(country), rng)
    return 10_000 + region * 2_000 + place * 40


def _named(names: tuple[str, ...], codes: IntArray, missing: Array | None = None) -> list[Any]:
    texts = np.array(names, dtype=object)[codes]
    if missing is not None:
        texts[missing] = None
    return texts.tolist()
