"""The published table keeps its promise, counted by pandas and by pycanon."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.privacy.anonymizer.tables import (
    all_diverse,
    classes,
    smallest_class,
)
from tests.strategies import mixed_tables

from sidelight import engine
from sidelight.datasets import make_adult_like
from sidelight.exceptions import SidelightError
from sidelight.privacy import Anonymizer

MODELS = ("distinct", "entropy", "recursive", "recursive-published")


def people(n: int, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    made = make_adult_like(n, random_state=seed)
    table = pd.DataFrame(made.columns)
    return table[list(made.quasi_identifiers)], table[list(made.sensitive)]


@settings(max_examples=30, deadline=None)
@given(mixed_tables(), st.integers(1, 7), st.sampled_from(["ranges", "representatives"]))
def test_every_row_is_published_like_k_others(X: pd.DataFrame, k: int, form: str) -> None:
    model = Anonymizer(k, generalize=form, random_state=0)
    if len(X) < k:
        with pytest.raises(SidelightError, match=f"n_samples={len(X)}"):
            model.fit(X)
        return
    published = model.fit(X).published_
    assert published.shape == X.shape
    assert list(published.columns) == list(X.columns)
    assert smallest_class(published) == model.k_ >= k
    assert all(isinstance(text, str) and text for text in published.to_numpy().ravel())
    mine = pd.Series(model.labels_)
    assert (mine.groupby(classes(published)).nunique() == 1).all()
    assert mine.nunique() == classes(published).max() + 1


@settings(max_examples=30, deadline=None)
@given(
    mixed_tables(),
    st.integers(1, 5),
    st.integers(2, 4),
    st.sampled_from(MODELS),
    st.sampled_from([0.6, 1.0, 3.0]),
    st.integers(2, 6),
    st.sampled_from([0.0, 0.1]),
    st.integers(0, 100),
)
def test_every_class_is_diverse_in_every_sensitive_column(
    X: pd.DataFrame,
    k: int,
    l: int,  # noqa: E741
    model: str,
    c: float,
    n_values: int,
    suppress: float,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(n_values, 2.0))
    words = np.array(["flu", "cold", "cough", "burn", "cut", "ache"][:n_values])
    sensitive = pd.DataFrame(
        {
            "illness": words[rng.choice(n_values, len(X), p=shares)],
            "income": rng.integers(0, 5, len(X)),
        }
    )
    estimator = Anonymizer(k, l=l, diversity=model, c=c, suppress=suppress, random_state=0)
    try:
        estimator.fit(X, sensitive=sensitive)
    except SidelightError:
        whole = pd.DataFrame({"all": np.zeros(len(X))})
        if model != "recursive-published" and suppress == 0:
            assert len(X) < k or not all(
                all_diverse(whole, sensitive[name], model, l, c) for name in sensitive
            )
        return
    kept = estimator.labels_ >= 0
    assert (~kept).sum() == estimator.n_suppressed_ <= int(suppress * len(X))
    published = estimator.published_
    assert len(published) == kept.sum()
    assert smallest_class(published) >= k
    for name in sensitive:
        assert all_diverse(published, sensitive[name][kept], model, l, c)
        if model == "entropy":
            assert all_diverse(published, sensitive[name][kept], "distinct", l, c)


def test_pycanon_agrees() -> None:
    anonymity = pytest.importorskip("pycanon.anonymity", reason="pycanon is not installed")
    X, sensitive = people(600)
    quasi = list(X.columns)
    illness = sensitive["diagnosis"]
    for k, l, diversity in (  # noqa: E741
        (2, 1, "distinct"),
        (5, 3, "distinct"),
        (4, 2, "entropy"),
        (3, 2, "recursive"),
    ):
        model = Anonymizer(k, l=l, diversity=diversity, random_state=0)
        table = model.fit(X, sensitive=illness).published_.assign(diagnosis=illness)
        assert anonymity.k_anonymity(table, quasi) == model.k_ >= k
        assert anonymity.l_diversity(table, quasi, ["diagnosis"]) >= l
        if diversity == "entropy":
            # It cuts off decimals, and exp(log 2) of two equal counts may be 1.99... there.
            least = l if model.l_ > l else l - 1
            assert anonymity.entropy_l_diversity(table, quasi, ["diagnosis"]) >= least


def test_l_of_one_changes_nothing() -> None:
    X, sensitive = people(500)
    plain = Anonymizer(4, random_state=0).fit(X).labels_
    for model in MODELS:
        told = Anonymizer(4, l=1, diversity=model, c=0.1, random_state=0)
        np.testing.assert_array_equal(told.fit(X, sensitive=sensitive).labels_, plain)


@pytest.mark.parametrize("l", [1, 3])
def test_any_number_of_threads(l: int) -> None:  # noqa: E741
    X, sensitive = people(5000)
    results = []
    for n_threads in (1, 3):
        with engine.threads(n_threads):
            model = Anonymizer(5, l=l, random_state=0).fit(X, sensitive=sensitive["diagnosis"])
        results.append(model)
    np.testing.assert_array_equal(results[0].labels_, results[1].labels_)
    np.testing.assert_array_equal(results[0].history_, results[1].history_)


@pytest.mark.parametrize("seed", range(4))
def test_refinement_never_raises_the_loss(seed: int) -> None:
    X, sensitive = people(1500, seed)
    for params in ({}, {"l": 3}, {"l": 2, "diversity": "entropy"}, {"n_clusters": 30}):
        history = (
            Anonymizer(4, random_state=seed, **params)
            .fit(X, sensitive=sensitive["diagnosis"])
            .history_
        )
        assert np.all(np.diff(history) <= 1e-12)


def test_a_saved_model_does_not_hold_the_rows() -> None:
    X, _ = people(3000)
    model = Anonymizer(5, random_state=0).fit(X)
    for column in model._encoded.columns:
        assert len(column.codes) == 0
    for array in (model._encoded.arrays[0], model._encoded.arrays[1]):
        assert len(array) == 0
        assert array.base is None
    assert model.predict(X[:50]).shape == (50,)


# --- what it is made of ---


def test_a_broken_search_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count of the published table does not trust the search."""
    from sidelight.privacy.anonymizer import _partition

    X, _ = people(100)
    honest = _partition.AnonymousClasses._grown

    def wrong(self: object, rows: np.ndarray) -> np.ndarray:
        labels = honest(self, rows)
        labels[0] = labels.max() + 1
        return labels

    monkeypatch.setattr(_partition.AnonymousClasses, "_grown", wrong)
    monkeypatch.setattr(
        _partition.AnonymousClasses, "violating", lambda self, labels: np.zeros(1, bool)
    )
    monkeypatch.setattr(_partition, "MAX_PASSES", 1)
    with pytest.raises(RuntimeError, match="fewer than k=5"):
        Anonymizer(5, random_state=0).fit(X)
