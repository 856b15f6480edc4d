"""Bounds on the distance of a class to the table, and the size to which diverse classes grow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycanon import anonymity
from tests.privacy.anonymizer.test_guarantee import people

from sidelight.exceptions import SidelightError
from sidelight.privacy import Anonymizer, check_anonymity
from sidelight.privacy.anonymizer._columns import read_columns
from sidelight.privacy.anonymizer._conditions import ClassConditions, read_sensitive
from sidelight.privacy.anonymizer._encode import encode
from sidelight.privacy.anonymizer._growth import _sizes
from sidelight.privacy.anonymizer._partition import AnonymousClasses


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9]), st.integers(2, 5))
def test_no_class_is_farther_than_asked_for(seed: int, t: float, k: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(k, 60))
    X = pd.DataFrame({"age": rng.integers(18, 90, n), "city": rng.choice(list("abcd"), n)})
    sensitive = pd.DataFrame(
        {"ill": rng.choice(["flu", "cold", "ague"], n), "income": rng.integers(0, 200, n)}
    )
    model = Anonymizer(k, t=t, random_state=0).fit(X, sensitive=sensitive)
    assert max(model.t_closeness_.values()) <= t + 1e-9
    table = model.published_.assign(**sensitive)
    assert check_anonymity(table, list(X), list(sensitive), k=k, t=t)
    for name in sensitive:
        if sensitive[name].nunique() > 1:
            assert anonymity.t_closeness(table, list(X), [name]) <= t + 1e-9


def test_the_closer_the_more_is_lost() -> None:
    X, sensitive = people(800)
    losses = []
    for t in (1.0, 0.5, 0.3, 0.15):
        model = Anonymizer(4, l=2, t=t, random_state=0).fit(X, sensitive=sensitive)
        assert max(model.t_closeness_.values()) <= t + 1e-9
        assert model.l_ >= 2
        losses.append(model.loss_["ncp"])
    assert losses == sorted(losses)
    assert losses[-1] < 1


def test_rows_of_which_others_were_left_out_are_close_to_the_published_ones() -> None:
    X = pd.DataFrame({"age": np.arange(100)})
    ill = pd.Series(["flu"] * 60 + ["cold"] * 40, name="ill")
    kinds = {"l": 2, "diversity": "entropy", "suppress": 0.2, "t": 0.1}
    model = Anonymizer(2, random_state=0, **kinds).fit(X, sensitive=ill)
    kept = model.labels_ >= 0
    table = model.published_.assign(ill=ill[kept])
    assert model.n_suppressed_ == 20
    assert check_anonymity(table, "age", "ill", k=2, l=2, diversity="entropy", t=0.1)


def test_words_about_closeness() -> None:
    X = pd.DataFrame({"age": np.arange(10)})
    with pytest.raises(SidelightError, match=r"t=0.5 is about sensitive columns"):
        Anonymizer(2, t=0.5).fit(X)
    with pytest.raises(SidelightError, match="'ill' is missing in 1 row"):
        Anonymizer(2, t=0.5).fit(X, sensitive=pd.Series(["?"] + ["cold"] * 9, name="ill"))


def test_random_merges_leave_every_promise() -> None:
    X, sensitive = people(400)
    ill = sensitive["diagnosis"]
    plain = Anonymizer(4, l=2, t=0.5, random_state=0).fit(X, sensitive=ill)
    for share in (0.1, 0.4):
        model = Anonymizer(4, l=2, t=0.5, random_merges=share, random_state=0)
        model.fit(X, sensitive=ill)
        table = model.published_.assign(ill=ill)
        assert check_anonymity(table, list(X), "ill", k=4, l=2, t=0.5)
        n = len(plain.cluster_sizes_)
        assert (1 - 1.6 * share) * n < len(model.cluster_sizes_) < (1 - 0.5 * share) * n
        for label in np.unique(plain.labels_):  # whole classes are joined
            assert len(np.unique(model.labels_[plain.labels_ == label])) == 1
        again = model.fit(X, sensitive=ill).published_
        assert table.drop(columns="ill").equals(again)


def test_a_method_that_is_run_again_on_other_worlds_is_less_certain_with_random_merges() -> None:
    """Two people with one of two values each: what the public method would publish otherwise."""
    X = np.array([[1.0], [2.0], [8.0], [9.0]])
    secret = np.array(["flu", "flu", "cold", "cold"])

    def labels(values: np.ndarray, seed: int, share: float) -> list[int]:
        model = Anonymizer(2, l=2, random_merges=share, random_state=seed)
        return model.fit(X, sensitive=values).labels_.tolist()

    other = np.array(["flu", "cold", "flu", "cold"])  # {1, 2} and {8, 9} would be valid
    one_class = [0, 0, 0, 0]
    assert labels(secret, 0, 0.0) != labels(other, 0, 0.0)
    assert any(labels(other, seed, 0.4) == one_class for seed in range(20))


# --- what it is made of ---


@pytest.mark.parametrize(("model", "l"), [("recursive", 2), ("recursive", 3), ("entropy", 2)])
@pytest.mark.parametrize("k", [2, 5])
def test_no_more_is_lost_than_by_repair(k: int, model: str, l: int) -> None:  # noqa: E741
    """Than by a table of l distinct values whose classes are joined until they are valid."""
    X, sensitive = people(1000)
    ill = sensitive["diagnosis"]
    mine = Anonymizer(k, l=l, diversity=model, random_state=0).fit(X, sensitive=ill)
    distinct = Anonymizer(k, l=l, random_state=0).fit(X, sensitive=ill)
    conditions = ClassConditions(k, model, l, 3.0, read_sensitive(ill, len(X), X))
    search = AnonymousClasses(encode(read_columns(X)[0], {}), conditions)
    repaired = search.loss(search.merge_violating(distinct.labels_.astype(np.int64)))
    assert mine.objective_ <= repaired


@pytest.mark.parametrize(
    ("k", "model", "l", "c", "wanted"),
    [
        (5, "recursive", 3, 3.0, [(5, 2), (6, 2)]),
        (5, "recursive", 2, 3.0, [(5, 3), (6, 3)]),
        (5, "entropy", 2, 3.0, [(5, 2), (6, 3)]),
        (6, "entropy", 2, 3.0, [(6, 3)]),
        (2, "recursive", 3, 3.0, [(3, 1)]),
    ],
)
def test_the_sizes_to_which_classes_grow(
    k: int,
    model: str,
    l: int,  # noqa: E741
    c: float,
    wanted: list[tuple[int, int]],
) -> None:
    assert _sizes(ClassConditions(k, model, l, c, [])) == wanted
