"""References that come after a fit: each by naive comparisons with all others, one at a time."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight import Constraints
from sidelight.exceptions import SidelightError
from sidelight.relational import (
    AttributeResolution,
    CollectiveResolution,
    ColumnComparison,
    RelationalResolution,
)

WIDTH = 1.0
COMPARE = {"x0": ColumnComparison("number", scale=WIDTH)}
RESOLVERS = (AttributeResolution, RelationalResolution, CollectiveResolution)


def naive(
    old: np.ndarray,
    labels: list[int],
    new: np.ndarray,
    threshold: float,
    old_marks: list[str],
    marks: list[str],
    apart: list[tuple[int, int]],
) -> tuple[list[int], list[float], list[tuple[int, ...]]]:
    """Entities of new points: plain loops over all pairs and over all members of entities.

    ``marks`` are sources, of which an entity holds one reference only; ``apart`` are pairs of new
    points that are known to be different.
    """
    n, m, k = len(old), len(new), max(labels) + 1

    def alike(a: float, b: float) -> float:
        return float(np.exp(-((a - b) ** 2) / (2 * WIDTH**2)))

    entity: dict[int, Any] = {j: ("alone", j) for j in range(m)}

    def members(e: Any) -> tuple[list[int], list[int]]:
        of_fit = [i for i in range(n) if labels[i] == e]
        return of_fit, [j for j in range(m) if entity[j] == e]

    def may_join(j: int, e: Any) -> bool:
        of_fit, of_new = members(e)
        there = {old_marks[i] for i in of_fit} | {marks[q] for q in of_new if q != j}
        no_link = all((min(j, q), max(j, q)) not in apart for q in of_new)
        return marks[j] not in there and no_link

    to_old = [(-alike(old[i], new[j]), j, i) for i in range(n) for j in range(m)]
    among = [(-alike(new[i], new[j]), j, i) for i, j in itertools.combinations(range(m), 2)]
    for value, j, i in sorted(to_old):
        if -value >= threshold and isinstance(entity[j], tuple) and may_join(j, labels[i]):
            entity[j] = int(labels[i])
    for value, j, i in sorted(among):
        ends = entity[i], entity[j]
        if -value < threshold or ends[0] == ends[1] or all(isinstance(e, int) for e in ends):
            continue
        into, lost = sorted(ends, key=lambda e: isinstance(e, tuple))
        if all(may_join(q, into) for q in members(lost)[1]):
            for q in members(lost)[1]:
                entity[q] = into
    numbers: dict[Any, int] = {}
    for j in range(m):
        if isinstance(entity[j], tuple):
            numbers.setdefault(entity[j], k + len(numbers))
    found = [numbers.get(entity[j], entity[j]) for j in range(m)]
    best, also = [], []
    for j in range(m):
        mine = [alike(old[i], new[j]) for i in range(n) if labels[i] == found[j]]
        mine = mine or [alike(new[q], new[j]) for q in range(m) if q != j and found[q] == found[j]]
        best.append(max(mine, default=np.nan))
        near = {int(labels[i]) for i in range(n) if alike(old[i], new[j]) >= threshold}
        near |= {found[q] for q in range(m) if alike(new[q], new[j]) >= threshold}
        others = {e: next((q for q in range(m) if found[q] == e), None) for e in near - {found[j]}}
        also.append(
            tuple(
                sorted(e for e, q in others.items() if may_join(j, e if q is None else entity[q]))
            )
        )
    return found, best, also


@given(
    st.integers(2, 12),
    st.integers(1, 8),
    st.integers(0, 10_000),
    st.sampled_from([0.3, 0.6, 0.9]),
    st.booleans(),
    st.sampled_from(RESOLVERS),
)
@settings(max_examples=120, deadline=None)
def test_as_by_naive_comparisons(n, m, seed, threshold, has_sources, kind) -> None:
    rng = np.random.default_rng(seed)
    old, new = rng.uniform(0, 6, (n, 1)), rng.uniform(0, 6, (m, 1))
    marks = [
        f"s{i}" if has_sources else f"unique {p}" for p, i in enumerate(rng.integers(0, 4, n + m))
    ]
    sources = {} if not has_sources else {"sources": marks[:n]}
    model = kind(threshold, compare=COMPARE).fit(old, **sources)
    pairs = list(itertools.combinations(range(m), 2))
    apart = [pair for pair in pairs if rng.random() < 0.2]
    known = Constraints(cannot_link=apart or None, n_samples=m)
    beside = {} if not has_sources else {"sources": marks[n:]}
    found = model.assign(new, constraints=known, **beside)
    expected = naive(
        old[:, 0], model.labels_.tolist(), new[:, 0], threshold, marks[:n], marks[n:], apart
    )
    assert found.labels.tolist() == expected[0]
    np.testing.assert_allclose(found.similarity, expected[1])
    assert list(found.also) == expected[2]
    assert found.n_entities == model.labels_.max() + 1
    assert found.is_new.tolist() == [label >= found.n_entities for label in expected[0]]


NAMES = ["Ann Lee", "Anne Lee", "Bob Ross", "Bob Ros", "Carl Sand", "Wei Wang", "W. Wang"]
CITIES = ["Bonn", "Bonn", "Ulm", "Ulm", "Ulm", "Rome", None]
BOTH = {"name": "name", "city": "exact"}


def people(rows: Any = slice(None), prefix: str = "r") -> pd.DataFrame:
    ids = [f"{prefix}{i}" for i in range(len(NAMES))]
    return pd.DataFrame({"name": NAMES, "city": CITIES}, index=ids).iloc[rows]


def test_copies_under_other_ids_get_the_entity_and_the_similarities_of_the_fit() -> None:
    model = AttributeResolution(0.8, compare=BOTH).fit(people())
    copies = people(prefix="new")
    found = model.assign(copies)
    assert found.labels.tolist() == model.labels_.tolist()
    assert found.similarity.tolist() == [1.0] * len(NAMES)
    for row in range(len(NAMES)):  # whatever else is assigned at the same time
        alone = model.assign(copies[row : row + 1])
        assert alone.labels.tolist() == [found.labels[row]]
        assert alone.similarity.tolist() == [found.similarity[row]]


def test_references_with_id_and_values_of_the_fit_are_these_references() -> None:
    sources = ["x", "y", "x", "y", "x", "x", "y"]
    model = AttributeResolution(0.8, compare=BOTH).fit(people(), sources=sources)
    every = pd.concat([people(), people(slice(0, 2), "new")])
    found = model.assign(every, sources=[*sources, "x", "z"])
    assert found.labels[:7].tolist() == model.labels_.tolist()
    assert found.similarity[:7].tolist() == [1.0] * 7
    assert found.labels[7] == found.n_entities  # the source x has Ann Lee already
    assert found.labels[8] == model.labels_[1]
    changed = every.assign(city=["Oslo", *every["city"][1:]])  # another Ann Lee under her id
    assert model.assign(changed, sources=[*sources, "x", "z"]).labels[0] >= found.n_entities
    with pytest.raises(SidelightError, match="joins the entities 0 and 1 of the fit"):
        model.assign(people(), constraints=Constraints([("r0", "r2")], ids=people().index))


def test_what_is_known_about_new_references_holds() -> None:
    model = AttributeResolution(0.8, compare=BOTH).fit(people())
    new = people([0, 2, 4], "new")
    linked = Constraints([("new0", "new4")], ids=new.index)
    found = model.assign(new, constraints=linked)
    assert found.labels[0] == found.labels[2] == model.labels_[0]
    assert found.also[2] == (model.labels_[4],)
    twice = pd.concat([people([0], "a"), people([0], "b")])
    apart = Constraints(cannot_link=[("a0", "b0")], ids=twice.index)
    found = model.assign(twice, constraints=apart)
    assert found.labels.tolist() == [model.labels_[0], found.n_entities]
    assert found.also == ((), ())
    assert "2 references to 1 known entity and 1 new" in repr(found)


def test_hyper_edges_keep_references_apart_by_their_names() -> None:
    papers = ["p1", "p2", "p1", "p2", "p3", "p3", "p4"]
    new = people([0, 1], "new")
    for kind in RESOLVERS:
        model = kind(compare=BOTH, threshold=0.6).fit(people(), relations=papers)
        entity = model.labels_[0]
        assert model.assign(new, relations=["p7", "p8"]).labels.tolist() == [entity, entity]
        among_new = model.assign(new, relations=["p7", "p7"]).labels
        assert len({*among_new.tolist()}) == 2
        assert model.assign(new, relations=[["new0", "new1"]]).labels.tolist() == among_new.tolist()
        assert entity not in model.assign(new, relations=["p1", "p2"]).labels
        loose = kind(compare=BOTH, threshold=0.6, distinct=False)
        loose.fit(people(), relations=papers)
        assert loose.labels_[0] in loose.assign(new, relations=["p1", "p1"]).labels


def test_relations_of_the_fit_do_not_lower_the_bar_of_attributes() -> None:
    papers = ["p1", "p2", "p1", "p2", "p3", "p3", "p4"]
    model = CollectiveResolution(compare=BOTH).fit(people(), relations=papers)
    found = model.assign(people([0], "new"))
    assert found.similarity == pytest.approx(0.5 * 1.0 + 0.5 * model.isolated)
    assert found.similarity[0] >= model.threshold_
    assert model.assign(pd.DataFrame({"name": ["Ann Li"], "city": ["Ulm"]})).is_new.all()


def test_only_pairs_that_share_a_key_are_compared() -> None:
    model = AttributeResolution(0.5, compare={"name": "text"}, blocking=("name:prefix1", "city"))
    model.fit(people())
    new = pd.DataFrame({"name": ["Xnn Lee", "Ann Lee", "Wei Wang"], "city": ["Oslo", "Ulm", None]})
    found = model.assign(new)
    assert found.labels.tolist() == [found.n_entities, model.labels_[0], model.labels_[5]]
    assert np.isnan(found.similarity[0])
    every = AttributeResolution(0.5, compare={"name": "text"}, blocking=None).fit(people())
    assert every.assign(new).labels[0] == every.labels_[0]
    with pytest.raises(SidelightError, match="no column 'city', which the fit compared"):
        model.assign(new[["name"]])


def test_many_references_are_compared_by_the_suggested_keys() -> None:
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    names = [
        "".join(rng.choice(letters, 9)) + " " + "".join(rng.choice(letters, 8)) for _ in range(1600)
    ]
    model = AttributeResolution(0.95, compare={"name": "text"}).fit({"name": names})
    assert model.blocking_.n_pairs < model.blocking_.n_all_pairs
    found = model.assign({"name": [names[7], "zzz zzz", names[1500]]})
    assert found.labels[[0, 2]].tolist() == model.labels_[[7, 1500]].tolist()
    assert found.is_new.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ({"name": ["Ann"]}, "no column 'year', which the fit compared; they have 'name'"),
        ({"year": [1], "town": ["x"]}, "no column 'name'"),
        (
            {"name": ["Ann"], "year": ["soon"]},
            "'year' held numbers in the fit, and now holds texts",
        ),
        ({"name": [], "year": []}, "at least one row"),
        ("people.csv", "'people.csv', a text; if it names a file, open it"),
    ],
)
def test_tables_that_do_not_fit_are_refused(new: Any, words: str) -> None:
    model = AttributeResolution().fit({"name": NAMES, "year": range(len(NAMES))})
    with pytest.raises((SidelightError, TypeError), match=words):
        model.assign(new)


def test_columns_are_read_as_in_the_fit() -> None:
    table = {"zip": ["0123", "0999", None], "year": [1, 2, 3], "more": ["a", "b", "c"]}
    model = AttributeResolution(0.9, compare={"zip": "exact", "year": "number"}).fit(table)
    found = model.assign({"year": [None, 2], "zip": [7, None]})  # other columns do not matter
    assert found.labels.tolist() == [found.n_entities, model.labels_[1]]  # by the year alone
    days = {"day": pd.to_datetime(["2024-01-01", "2024-06-01"])}
    dated = AttributeResolution(0.9, compare={"day": "date"}).fit(days)
    assert dated.assign({"day": ["2024-06-01"]}).labels.tolist() == [1]


def test_keys_that_are_functions_are_not_known_again() -> None:
    keys = (lambda table: table["city"],)
    model = AttributeResolution(compare={"name": "text"}, blocking=keys).fit(people())
    with pytest.raises(SidelightError, match="functions are not known again"):
        model.assign(people())


@pytest.mark.parametrize("kind", RESOLVERS)
def test_a_fit_comes_back_from_a_file(kind: Any) -> None:
    papers = ["p1", "p2", "p1", "p2", "p3", "p3", "p4"]
    model = kind(compare=BOTH, threshold=0.6).fit(people(), relations=papers, sources=CITIES)
    again = pickle.loads(pickle.dumps(model))
    new = people(prefix="é")
    given = {"relations": ["p1", "p9", *papers[2:]], "sources": [*CITIES[:6], "Köln"]}
    one, other = model.assign(new, **given), again.assign(new, **given)
    assert one.labels.tolist() == other.labels.tolist()
    np.testing.assert_array_equal(one.similarity, other.similarity)
    assert one.also == other.also
