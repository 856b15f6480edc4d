"""Authors as papers name them: the same person in several ways, several people in one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from sidelight._typing import IntArray
from sidelight.constraints import Relations
from sidelight.datasets._generator_options import check_counts, check_shares
from sidelight.datasets.related._made_up_words import (
    COMMON_WORDS,
    FIELDS,
    FIRST_NAMES,
    SURNAMES,
    maybe_mistyped,
)

#: Mean number of authors of a research group, whose members write together.
GROUP_SIZE = 5
#: Probability that one of the authors of a paper is of another group of the same field.
P_GUEST = 0.15
YEARS = (1995, 2024)


class PaperReferences(NamedTuple):
    """Names of authors on papers, and who they are.

    Attributes
    ----------
    columns : dict of str to list
        ``id`` of the reference, ``name``, and of its ``paper`` the ``title``, ``venue`` and
        ``year``; ready for ``pandas.DataFrame``, ``polars.DataFrame`` and ``pyarrow.table``.
    relations : Relations
        A hyper-edge of references for every paper, by the ids.
    target : ndarray of int64, shape (n_references,)
        Author of every reference.
    """

    columns: dict[str, list[Any]]
    relations: Relations
    target: IntArray


class _Author(NamedTuple):
    first: str
    middle: str
    last: str


def make_papers(
    n_papers: int = 300,
    *,
    n_authors: int = 120,
    p_initial: float = 0.5,
    p_typo: float = 0.03,
    random_state: Any = None,
) -> PaperReferences:
    """Make up papers of which every author is a reference to resolve.

    Authors are in small groups of one field, and papers are written by members of a group, at
    times with a guest. Names come from short lists, so that several people share an initial and a
    surname; a reference has the name in full or with initials, the surname first or last, perhaps
    with a typing error. Who else is on the paper tells most about who is meant.

    Parameters
    ----------
    n_papers : int, default=300
        Number of papers, of one to four authors.
    n_authors : int, default=120
        Number of people; some may have no paper.
    p_initial : float, default=0.5
        Probability that a reference has the initial instead of the first name.
    p_typo : float, default=0.03
        Probability of a typing error in a name.
    random_state : int, RandomState or None, default=None
        Seed or generator of the draw; pass an int for reproducible results.

    Returns
    -------
    PaperReferences
        ``columns``, ``relations`` and ``target``, also as a triple to unpack.

    Examples
    --------
    >>> from sidelight.datasets import make_papers
    >>> columns, relations, authors = make_papers(50, random_state=0)
    >>> list(columns)
    ['id', 'name', 'paper', 'title', 'venue', 'year']
    >>> relations.n_hyperedges, len(columns["name"]) == len(authors)
    (50, True)
    """
    check_counts(1, n_papers=n_papers, n_authors=n_authors)
    check_shares(p_initial=p_initial, p_typo=p_typo)
    rng = check_random_state(random_state)
    people = _people(n_authors, rng)
    group = rng.randint(max(1, round(n_authors / GROUP_SIZE)), size=n_authors)
    field = group % len(FIELDS)
    in_group = _members(group)
    in_field = _members(field)
    columns: dict[str, list[Any]] = {
        name: [] for name in ("id", "name", "paper", "title", "venue", "year")
    }
    target: list[int] = []
    for number in range(n_papers):
        leader = int(rng.randint(n_authors))
        team = _team(leader, in_group[group[leader]], in_field[field[leader]], rng)
        paper = f"p{number + 1:04d}"
        title, venue, year = _about(int(field[leader]), rng)
        for author in team:
            target.append(author)
            name = maybe_mistyped(_written(people[author], p_initial, rng), p_typo, rng)
            row = (f"r{len(target):05d}", name, paper, title, venue, year)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    relations = Relations.from_groups(columns["paper"], ids=columns["id"])
    return PaperReferences(columns, relations, np.array(target, np.int64))


def _people(n: int, rng: np.random.RandomState) -> list[_Author]:
    """Names of people; surnames by Zipf's law, so that some are frequent."""
    share = 1.0 / np.arange(1, len(SURNAMES) + 1)
    last = rng.permutation(SURNAMES)[rng.choice(len(SURNAMES), n, p=share / share.sum())]
    first = rng.choice(FIRST_NAMES, n)
    middle = np.where(rng.uniform(size=n) < 0.3, rng.choice(list("ABEHJKLMR"), n), "")
    return [_Author(*map(str, name)) for name in zip(first, middle, last, strict=True)]


def _members(code: IntArray) -> dict[int, IntArray]:
    return {int(value): np.flatnonzero(code == value) for value in np.unique(code)}


def _team(leader: int, group: IntArray, field: IntArray, rng: np.random.RandomState) -> list[int]:
    """Authors of a paper, all different."""
    others = rng.permutation(group[group != leader])[: int(rng.randint(0, 4))].tolist()
    if rng.uniform() < P_GUEST:
        others = [*others[:2], int(rng.choice(field))]
    return list(dict.fromkeys([leader, *others]))


def _about(field: int, rng: np.random.RandomState) -> tuple[str, str, int]:
    """Title, venue and year of a paper."""
    venues, words = list(FIELDS.values())[field]
    own = rng.permutation(words)[: int(rng.randint(2, 4))].tolist()
    common = rng.permutation(COMMON_WORDS)[: int(rng.randint(1, 3))].tolist()
    title = " ".join(rng.permutation([*own, *common]).tolist()).capitalize()
    return title, str(rng.choice(venues)), int(rng.randint(YEARS[0], YEARS[1] + 1))


def _written(author: _Author, p_initial: float, rng: np.random.RandomState) -> str:
    """A name as a paper has it: in full or with initials, the surname last or first."""
    first = f"{author.first[0]}." if rng.uniform() < p_initial else author.first
    middle = f" {author.middle}." if author.middle and rng.uniform() < 0.5 else ""
    if rng.uniform() < 0.25:
        return f"{author.last}, {first}{middle}"
    return f"{first}{middle} {author.last}"
