"""Losses by hand and by brute force, hierarchies, suppression, words of errors."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.privacy.anonymizer.test_guarantee import people
from tests.strategies import mixed_tables

from sidelight.exceptions import SidelightError, UnusedKnowledge
from sidelight.privacy import (
    Anonymizer,
    Hierarchy,
    discernibility,
    dispersion,
    generalize,
    normalized_certainty_penalty,
    t_closeness,
)
from sidelight.privacy.anonymizer._publish import read_range, read_set

JOBS = {"health": ["nurse", "doctor"], "trade": {"food": ["baker", "cook"], "cars": ["driver"]}}


def partitions(n: int, k: int) -> Iterator[list[int]]:
    """All partitions of n rows into classes of at least k."""

    def extend(labels: list[int]) -> Iterator[list[int]]:
        if len(labels) == n:
            if min(labels.count(one) for one in set(labels)) >= k:
                yield list(labels)
            return
        for label in range(max(labels, default=-1) + 2):
            yield from extend([*labels, label])

    yield from extend([])


@pytest.mark.parametrize("seed", range(6))
def test_near_the_best_of_all_partitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = 7, 2 + seed % 2
    X = pd.DataFrame(
        {
            "age": rng.integers(0, 20, n),
            "city": rng.choice(list("abc"), n),
            "x": rng.normal(size=n).round(1),
        }
    )
    best = min(
        normalized_certainty_penalty(X, generalize(X, labels)) for labels in partitions(n, k)
    )
    mine = Anonymizer(k, random_state=0).fit(X).loss_["ncp"]
    assert best - 1e-12 <= mine <= 1.3 * best + 0.02


def test_penalty_by_hand() -> None:
    X = pd.DataFrame({"age": [0, 10, 50, 100], "city": ["a", "b", "c", "d"], "sex": list("fmff")})
    published = generalize(X, [0, 0, 1, 1])
    by_hand = (2 * 0.1 + 2 * 0.5 + 4 * 2 / 4 + 2 * 1.0) / 12
    assert normalized_certainty_penalty(X, published) == pytest.approx(by_hand)
    assert normalized_certainty_penalty(X, X.astype(str)) == 0.0
    assert normalized_certainty_penalty(X, published[:2]) == pytest.approx(
        ((2 * 0.1 + 2 * 2 / 4 + 2 * 1.0) / 3 + 2) / 4
    )
    assert discernibility(published, n_suppressed=1) == 8 + 5


def test_dispersion_is_that_of_standardized_rows() -> None:
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(30, 3)), rng.integers(0, 4, 30)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    by_hand = sum(((z[labels == c] - z[labels == c].mean(axis=0)) ** 2).sum() for c in range(4))
    assert dispersion(X, generalize(X, labels)) == pytest.approx(by_hand)


def test_closeness_by_hand() -> None:
    published = [["a"], ["a"], ["b"], ["b"]]
    # Ranks 0, 1, 2 of incomes; the class a holds the two least, of a quarter, a half, a quarter.
    incomes = [3, 4, 4, 900]
    assert t_closeness(published, incomes) == {"sensitive": pytest.approx((0.25 + 0.25) / 2)}
    words = pd.DataFrame({"illness": ["flu", "Flu ", "flu", "cold"], "income": incomes})
    assert t_closeness(published, words)["illness"] == 0.25
    rng = np.random.default_rng(0)
    values, classes = rng.integers(0, 7, 200), rng.integers(0, 9, 200)
    distances = []
    for one in range(9):
        inside = [np.mean(values[classes == one] <= v) for v in range(7)]
        everywhere = [np.mean(values <= v) for v in range(7)]
        distances.append(np.abs(np.subtract(inside, everywhere)).sum() / 6)
    published = [[str(one)] for one in classes]
    assert t_closeness(published, values)["sensitive"] == pytest.approx(max(distances))


def test_hierarchies_publish_the_lowest_common_ancestor() -> None:
    X = pd.DataFrame({"job": ["nurse", "doctor", "baker", "cook", "driver", "baker"]})
    jobs = Hierarchy.from_nested(JOBS)
    labels = [0, 0, 1, 1, 2, 2]
    published = generalize(X, labels, hierarchies={"job": JOBS})
    assert published["job"].tolist() == ["health", "health", "food", "food", "trade", "trade"]
    ncp = normalized_certainty_penalty(X, published, hierarchies={"job": jobs})
    assert ncp == pytest.approx((2 * 2 / 5 + 2 * 2 / 5 + 2 * 3 / 5) / 6)
    model = Anonymizer(2, random_state=0).fit(X, hierarchies={"job": jobs})
    assert model.loss_["ncp"] <= ncp
    assert model.objective_ == pytest.approx(model.loss_["ncp"])
    for job, text in zip(X["job"], model.published_["job"], strict=True):
        assert text in jobs.ancestors(job)


def test_hierarchies_from_tables_and_files(tmp_path: object) -> None:
    lines = [["nurse", "health", "*"], ["doctor", "health", "*"], ["baker", "food", "*"]]
    file = tmp_path / "jobs.csv"  # type: ignore[operator]
    file.write_text("\n".join(";".join(line) for line in lines))
    read = Hierarchy.read(file)
    assert read == Hierarchy.from_table(lines) == Hierarchy.from_table(pd.DataFrame(lines))
    assert read.common(["nurse", "doctor"]) == "health"
    assert read.common(["nurse"]) == "nurse"
    assert read.common(["nurse", "baker"]) == "*"
    assert (read.share("health"), read.share("*"), read.share("baker")) == (2 / 3, 1.0, 0.0)
    assert Hierarchy.from_parents({"a": "b", "b": "c"}).ancestors("a") == ["a", "b", "c"]


def test_intervals() -> None:
    ages = Hierarchy.from_intervals(range(0, 101, 10), range(0, 101, 50))
    X = pd.DataFrame({"age": [21, 29, 40, 60, 99, 99]})
    published = generalize(X, [0, 0, 1, 1, 2, 2], hierarchies={"age": ages})
    wanted = ["[20, 30)"] * 2 + ["[0, 100)"] * 2 + ["99"] * 2
    assert published["age"].tolist() == wanted
    ncp = normalized_certainty_penalty(X, published, hierarchies={"age": ages})
    assert ncp == pytest.approx((2 * 0.1 + 2 * 1.0) / 6)
    with pytest.raises(SidelightError, match="100 of column 'age' is outside"):
        generalize(pd.DataFrame({"age": [100]}), [0], hierarchies={"age": ages})
    with pytest.raises(SidelightError, match="is not inside one"):
        Hierarchy.from_intervals([0, 10, 20], [0, 15, 20])


def test_missing_values_in_hierarchies() -> None:
    X = pd.DataFrame({"job": ["nurse", None, None, None, "cook", "baker"]})
    published = generalize(X, [0, 0, 1, 1, 2, 2], hierarchies={"job": {"all": JOBS}})
    assert published["job"].tolist() == ["*", "*", "missing", "missing", "food", "food"]


def test_bad_hierarchies() -> None:
    X = pd.DataFrame({"job": ["nurse", "pilot", "pilot"]})
    with pytest.raises(SidelightError, match=r"'pilot' of column 'job', in 2 rows, is not in"):
        Anonymizer(2).fit(X, hierarchies={"job": JOBS})
    with pytest.raises(SidelightError, match="'jobs' that the table does not have"):
        Anonymizer(2).fit(X, hierarchies={"jobs": JOBS})
    with pytest.raises(SidelightError, match="'a' has two parents, 'b' and, in line 2, 'c'"):
        Hierarchy.from_table([["a", "b"], ["a", "c"]])
    with pytest.raises(SidelightError, match="circle"):
        Hierarchy.from_parents({"a": "b", "b": "c", "c": "a"})
    with pytest.raises(SidelightError, match="is a group of"):
        Anonymizer(1).fit(pd.DataFrame({"job": ["health"]}), hierarchies={"job": JOBS})


def test_suppression_leaves_out_outliers_within_its_budget() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(99, 2)), [[1000.0, 1000.0]]])
    kept = Anonymizer(5, random_state=0).fit(X)
    model = Anonymizer(5, suppress=0.02, random_state=0).fit(X)
    assert kept.n_suppressed_ == 0
    assert 99 in model.suppressed_
    assert 1 <= model.n_suppressed_ <= 2
    assert model.labels_[99] == -1
    assert len(model.published_) == 100 - model.n_suppressed_
    assert model.objective_ < kept.objective_
    none = Anonymizer(5, suppress=0.009, random_state=0).fit(X)
    assert none.n_suppressed_ == 0
    np.testing.assert_array_equal(none.labels_, kept.labels_)


def test_suppression_makes_diversity_possible() -> None:
    X = pd.DataFrame({"age": np.arange(100)})
    illness = np.array(["flu"] * 60 + ["cold"] * 40)
    with pytest.raises(SidelightError, match=r"'flu' is in 60 of 100 rows.*possible is l=1"):
        Anonymizer(2, l=2, diversity="entropy").fit(X, sensitive=illness)
    model = Anonymizer(2, l=2, diversity="entropy", suppress=0.2, random_state=0)
    model.fit(X, sensitive=illness)
    assert model.n_suppressed_ == 20
    assert model.l_ == 2.0
    assert set(illness[model.suppressed_]) == {"flu"}


def test_words_about_diversity() -> None:
    X = pd.DataFrame({"age": np.arange(10)})
    with pytest.raises(SidelightError, match="l=2 is about sensitive columns"):
        Anonymizer(2, l=2).fit(X)
    with pytest.raises(SidelightError, match=r"2 different values only.*possible is l=2"):
        Anonymizer(2, l=3).fit(X, sensitive=["flu", "cold"] * 5)
    with pytest.raises(SidelightError, match="has 9 rows but the table has 10"):
        Anonymizer(2, l=2).fit(X, sensitive=["flu"] * 9)
    with pytest.raises(SidelightError, match="'illness' is missing in 1 row"):
        Anonymizer(2, l=2).fit(X, sensitive=pd.Series(["flu", None] + ["cold"] * 8, name="illness"))
    # Spellings of one illness do not make a class diverse.
    with pytest.raises(SidelightError, match="1 different value only"):
        Anonymizer(2, l=2).fit(X, sensitive=["flu", "Flu "] * 5)


def test_number_of_classes_is_bounded() -> None:
    X, sensitive = people(400)
    for n_clusters in (1, 7, 79):
        model = Anonymizer(5, n_clusters=n_clusters, random_state=0).fit(X)
        assert len(model.cluster_sizes_) <= n_clusters
        assert model.k_ >= 5
    free = Anonymizer(5, l=3, random_state=0).fit(X, sensitive=sensitive["diagnosis"])
    assert len(free.cluster_sizes_) <= 400 // 5
    curve = free.search_
    assert curve["n_clusters"][0] == 1
    assert curve["n_clusters"][-1] == len(free.cluster_sizes_)
    assert math.isclose(curve["ncp"][-1], free.objective_)


def test_knowledge_that_is_not_used_is_told() -> None:
    X, _ = people(50)
    with pytest.warns(UnusedKnowledge, match="labels"):
        Anonymizer(5, random_state=0).fit(X, np.r_[0, np.full(49, -1)])


def test_people_are_made_up_reproducibly() -> None:
    X, sensitive = people(300, 3)
    pd.testing.assert_frame_equal(X, people(300, 3)[0])
    assert X.shape == (300, 8)
    assert list(sensitive) == ["diagnosis", "income"]
    assert X["workclass"].isna().equals(X["occupation"].isna())


# --- what it is made of ---


def open_share(texts: list[str], is_text: bool) -> float:
    """Mean share of a column that published texts leave open, from these texts alone."""
    shares = []
    if is_text:
        sets = [read_set(text) if text != "*" else None for text in texts]
        named = {name for one in sets if one is not None for name in one}
        shares = [
            1.0 if one is None else len(one) / len(named) if len(one) > 1 else 0.0 for one in sets
        ]
        return float(np.mean(shares))
    ends = {text: read_range(text) for text in texts if text not in ("*", "missing")}
    low = min((first for first, _ in ends.values()), default=0)
    high = max((last for _, last in ends.values()), default=0)
    for text in texts:
        width = ends[text][1] - ends[text][0] if text in ends else 0
        shares.append(1.0 if text == "*" else float(width / (high - low)) if width else 0.0)
    return float(np.mean(shares))


@settings(max_examples=40, deadline=None)
@given(mixed_tables(), st.integers(1, 5))
def test_loss_of_the_fit_is_that_of_the_published_table(X: pd.DataFrame, k: int) -> None:
    if len(X) < k:
        return
    model = Anonymizer(k, random_state=0).fit(X)
    published = model.published_
    ncp = normalized_certainty_penalty(X, published)
    assert 0 <= model.objective_ <= ncp + 1e-9
    assert ncp <= model.objective_ + 0.02  # numbers are rounded to thousandths of their range
    assert model.history_[-1] == model.objective_
    assert discernibility(published) == model.loss_["discernibility"]
    assert model.loss_["ncp"] == pytest.approx(np.mean([*model.column_losses_.values()]))
    for name in X:
        if name in ("share", "float32", "size, cm", "gaps", "joined"):
            continue  # may have values far out, or dates that read like ranges of numbers
        texts = published[name].tolist()
        is_text = X[name].dtype.kind not in "if"
        assert model.column_losses_[name] == pytest.approx(open_share(texts, is_text), abs=1e-9)
