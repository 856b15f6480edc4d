"""Typical and doubtful rows against their definition, row by row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from sidelight.engine import as_rows
from sidelight.explanation import explain_clusters

from .conftest import category, number


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 3, 90)
    return rng.normal(size=(90, 4)) + 1.5 * np.eye(4)[labels], labels


def brute_force(X, labels):
    """Distances to the means: typical rows, and rows by margin with the other cluster."""
    clusters = [c for c in np.unique(labels) if c != -1]
    means = {c: X[labels == c].mean(axis=0) for c in clusters}
    typical, doubtful = {}, {}
    for c in clusters:
        own = np.flatnonzero(labels == c)
        distance = {r: {d: np.linalg.norm(X[r] - means[d]) for d in clusters} for r in own}
        typical[str(c)] = tuple(sorted(own, key=lambda r: distance[r][c])[:3])
        margins = []
        for r in own:
            other = min((d for d in clusters if d != c), key=lambda d: distance[r][d])
            a, b = distance[r][c], distance[r][other]
            margins.append(((b - a) / (b + a), r, str(other)))
        doubtful[str(c)] = [one for one in sorted(margins)[:3] if one[0] <= 0.5]
    return typical, doubtful


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, as_rows, np.float32])
def test_typical_and_doubtful_rows_by_brute_force(kind, rows):
    X, labels = rows
    found = explain_clusters([number("x", X[:, 0])], labels, X=kind(X))
    typical, doubtful = brute_force(X, labels)
    assert found.typical == typical
    for name, wanted in doubtful.items():
        assert [(d.row, d.other) for d in found.doubtful[name]] == [(r, o) for _, r, o in wanted]
        margins = [doubt.margin for doubt in found.doubtful[name]]
        assert margins == pytest.approx([margin for margin, _, _ in wanted], abs=1e-5)


def test_missing_values_count_as_the_mean_of_their_column(rows):
    X, labels = rows
    X = X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    found = explain_clusters([number("x", X[:, 0])], labels, X=X)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    assert found.typical == brute_force(filled, labels)[0]


def test_probabilities_tell_the_doubtful_rows(rows):
    X, labels = rows
    chances = np.random.default_rng(2).dirichlet(np.ones(3), size=90)
    found = explain_clusters([number("x", X[:, 0])], labels, X=X, probabilities=chances)
    for c in range(3):
        own = np.flatnonzero(labels == c)
        others = np.delete(np.arange(3), c)
        margin = {r: chances[r, c] - chances[r, others].max() for r in own}
        wanted = sorted(own, key=margin.__getitem__)[:3]
        assert [d.row for d in found.doubtful[str(c)]] == wanted
        for doubt in found.doubtful[str(c)]:
            assert doubt.margin == pytest.approx(margin[doubt.row])
            assert doubt.other == str(others[np.argmax(chances[doubt.row, others])])


def test_rows_go_by_the_users_ids(rows):
    X, labels = rows
    ids = [f"c-{row}" for row in range(90)]
    plain = explain_clusters([number("x", X[:, 0])], labels, X=X)
    found = explain_clusters([number("x", X[:, 0])], labels, X=X, ids=ids)
    for name, typical in plain.typical.items():
        assert found.typical[name] == tuple(ids[row] for row in typical)


def test_without_features_the_columns_are_standardized(rows):
    """Units of a column do not matter then, and levels count like numbers."""
    X, labels = rows
    codes = labels % 2
    first = explain_clusters([number("x", X[:, 0]), category("c", codes, "ab")], labels)
    second = explain_clusters(
        [number("x", np.exp(5.0 * X[:, 0])), category("c", codes, "ab")], labels
    )
    assert first.typical == second.typical


def test_a_cluster_of_one_row_and_clear_rows():
    X = np.array([[0.0], [0.1], [0.2], [50.0]])
    found = explain_clusters([number("x", X[:, 0])], [0, 0, 0, 7], X=X)
    assert found.typical == {"0": (1, 2, 0), "7": (3,)} or found.typical["7"] == (3,)
    assert found.doubtful == {"0": (), "7": ()}  # nobody is in doubt here
