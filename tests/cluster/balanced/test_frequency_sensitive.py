"""Frequency-sensitive spherical k-means: the rule, the passes, and streams."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sidelight import Constraints
from sidelight.cluster import FrequencySensitiveKMeans, SphericalKMeans
from sidelight.cluster.balanced._competition import Stream, WinnerRule
from sidelight.cluster.balanced._competition_passes import (
    Batch,
    CompetitionState,
    Incremental,
    Partial,
)
from sidelight.engine import as_rows
from sidelight.exceptions import ConstraintWarning, SidelightError

MODES = ["batch", "partial", "full", "streaming"]


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def topics():
    """Documents of ten topics of unequal sizes, in random order."""
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(120, 0.1), 10)
    y = rng.permutation(np.repeat(np.arange(10), [6, 12, 18, 30, 45, 60, 75, 90, 114, 150]))
    mixture = 0.5 * words[y] + 0.5 * words.mean(axis=0)
    return np.array([rng.multinomial(60, p) for p in mixture]).astype(float), y


# ------------------------------------------------------------------ fitting


@pytest.mark.parametrize("mode", ["batch", "partial"])
def test_without_sizes_it_is_spherical_kmeans(topics, mode):
    X, _ = topics
    plain = SphericalKMeans(6, init=X[:6], tol=0).fit(X)
    ours = FrequencySensitiveKMeans(6, mode=mode, size_exponent=0, init=X[:6]).fit(X)
    np.testing.assert_array_equal(ours.labels_, plain.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, plain.cluster_centers_, atol=1e-12)
    assert ours.mean_cosine_ == pytest.approx(plain.mean_cosine_)
    assert ours.converged_


def test_the_order_of_the_rows_does_not_matter_in_batch_mode(topics):
    X, _ = topics
    order = np.random.default_rng(0).permutation(len(X))
    one = FrequencySensitiveKMeans(6, init=X[:6]).fit(X)
    other = FrequencySensitiveKMeans(6, init=X[:6]).fit(X[order])
    np.testing.assert_array_equal(one.labels_[order], other.labels_)


@pytest.mark.parametrize("mode", MODES)
def test_the_objective_is_that_of_the_result(topics, mode):
    X, _ = topics
    model = FrequencySensitiveKMeans(8, mode=mode, n_init=1, max_iter=20, random_state=0).fit(X)
    cosines = np.sum(unit(X) * model.cluster_centers_[model.labels_], axis=1)
    sizes = np.bincount(model.labels_, minlength=8)
    np.testing.assert_array_equal(sizes, model.cluster_sizes_)
    gamma = 0.1 if mode == "batch" else 1.0
    filled = sizes[sizes > 0]
    uneven = np.sum(filled * np.log(8 * filled / len(X)))
    assert model.objective_ == pytest.approx(np.sum(np.log(2 / (1 + cosines))) + gamma * uneven)
    assert model.objective_ == model.history_.min()
    assert model.mean_cosine_ == pytest.approx(cosines.mean())


@pytest.mark.parametrize("k", [10, 20])
@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_more_even_than_those_of_spherical_kmeans(topics, k, seed):
    X, _ = topics
    params = {"n_init": 1, "random_state": seed}
    plain = SphericalKMeans(k, **params).fit(X)
    spread = np.bincount(plain.labels_, minlength=k).std()
    for mode in MODES:
        model = FrequencySensitiveKMeans(k, mode=mode, **params).fit(X)
        assert model.cluster_sizes_.std() < spread
        assert model.cluster_sizes_.min() > 0  # never empty
        if mode in ("partial", "full"):
            assert model.cluster_sizes_.min() > 0.8 * len(X) / k


@pytest.mark.parametrize("mode", MODES)
def test_sparse_equals_dense(topics, mode):
    X, _ = topics
    params = {"mode": mode, "n_init": 1, "max_iter": 5, "random_state": 0}
    dense = FrequencySensitiveKMeans(6, **params).fit(X)
    thin = FrequencySensitiveKMeans(6, **params).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    np.testing.assert_allclose(dense.effective_counts_, thin.effective_counts_)


def test_the_literal_batch_rule_goes_around_in_circles(topics):
    X, _ = topics
    model = FrequencySensitiveKMeans(
        10, size_exponent=1.0, step=1.0, n_init=1, max_iter=200, random_state=0
    )
    with pytest.warns(ConvergenceWarning, match="go around in circles"):
        model.fit(X)
    assert not model.converged_
    assert model.objective_ == model.history_.min()


@pytest.mark.parametrize("mode", ["batch", "partial", "full"])
def test_counts_add_up_to_the_rows(topics, mode):
    X, _ = topics
    model = FrequencySensitiveKMeans(6, mode=mode, n_init=1, random_state=0).fit(X)
    assert model.effective_counts_.sum() == pytest.approx(len(X))
    assert model.n_samples_seen_ == len(X)


def test_predict_by_cosine_or_by_competition(topics):
    X, _ = topics
    model = FrequencySensitiveKMeans(6, random_state=0).fit(X)
    np.testing.assert_array_equal(
        model.predict(X), np.argmax(unit(X) @ model.cluster_centers_.T, axis=1)
    )
    np.testing.assert_array_equal(model.predict_sized(X), model.labels_)


# ------------------------------------------------------------------ streams


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_pieces_of_a_stream_are_the_stream(topics, kind):
    X = kind(topics[0])
    whole = FrequencySensitiveKMeans(6, memory=100).partial_fit(X)
    pieces = FrequencySensitiveKMeans(6, memory=100)
    labels = []
    for start, stop in ((0, 1), (1, 3), (3, 250), (250, 251), (251, 600)):
        labels.append(pieces.partial_fit(X[start:stop]).labels_)
    np.testing.assert_array_equal(np.concatenate(labels), whole.labels_)
    np.testing.assert_array_equal(pieces.cluster_centers_, whole.cluster_centers_)
    np.testing.assert_array_equal(pieces.effective_counts_, whole.effective_counts_)
    assert pieces.n_samples_seen_ == whole.n_samples_seen_ == 600


@pytest.mark.parametrize("memory", [20, 100, 1000])
def test_effective_counts_add_up_to_the_memory(topics, memory):
    X, _ = topics
    model = FrequencySensitiveKMeans(5, memory=memory)
    for seen in (600, 1200):
        model.partial_fit(X)
        expected = memory * (1 - (1 - 1 / memory) ** seen)
        assert model.effective_counts_.sum() == pytest.approx(expected)


def test_one_cluster_with_endless_memory_is_the_mean_direction(topics):
    X, _ = topics
    model = FrequencySensitiveKMeans(1, memory=np.inf)
    for stop in (1, 10, 600):
        model.partial_fit(
            X[model.n_samples_seen_ if hasattr(model, "n_samples_seen_") else 0 : stop]
        )
        mean = unit(X)[:stop].mean(axis=0)
        np.testing.assert_allclose(model.cluster_centers_[0], mean / np.linalg.norm(mean))
        assert model.effective_counts_ == pytest.approx([stop])


def test_centres_follow_a_drift_within_the_memory():
    rng = np.random.default_rng(0)
    before, after = unit(rng.normal(size=(2, 3, 20)).reshape(6, 20)).reshape(2, 3, 20)

    def draw(means, n):
        return means[rng.integers(0, 3, n)] + 0.05 * rng.normal(size=(n, 20))

    model = FrequencySensitiveKMeans(3, memory=200, init=before).partial_fit(draw(before, 1000))
    assert np.max(before @ model.cluster_centers_.T, axis=1).min() > 0.98
    model.partial_fit(draw(after, 1000))  # five memories later
    assert np.max(after @ model.cluster_centers_.T, axis=1).min() > 0.95


def test_a_stream_goes_on_from_a_fit(topics):
    X, _ = topics
    model = FrequencySensitiveKMeans(6, memory=300, random_state=0).fit(X)
    centers = model.cluster_centers_
    model.partial_fit(X[:1])
    assert model.n_samples_seen_ == 601
    assert np.min(np.sum(centers * model.cluster_centers_, axis=1)) > 0.99
    assert model.effective_counts_.sum() == pytest.approx(600 * (1 - 1 / 300) + 1)


def test_fewer_directions_than_clusters_so_far():
    model = FrequencySensitiveKMeans(4).partial_fit([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    assert list(model.labels_) == [0, 0, 1]
    assert model.cluster_centers_.shape == (2, 2)
    assert list(model.predict([[3.0, 1.0]])) == [0]
    model.partial_fit([[-1.0, 0.0], [0.0, -1.0]])
    assert list(model.labels_) == [2, 3]


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"mode": "online"}, "mode must be one of"),
        ({"size_exponent": -1.0}, "size_exponent"),
        ({"size_exponent": np.inf}, "size_exponent"),
        ({"step": 0.0}, "step"),
        ({"memory": 0.5}, "memory"),
    ],
)
def test_bad_parameters(topics, params, message):
    with pytest.raises(ValueError, match=message):
        FrequencySensitiveKMeans(3, **params).fit(topics[0])
    with pytest.raises(ValueError, match=message):
        FrequencySensitiveKMeans(3, **params).partial_fit(topics[0])


def test_zero_rows_are_named(topics):
    X = topics[0].copy()
    X[5] = 0
    for fit in (FrequencySensitiveKMeans(3).fit, FrequencySensitiveKMeans(3).partial_fit):
        with pytest.raises(SidelightError, match="Row 5 is all zeros"):
            fit(X)


def test_constraints_are_counted_not_used(topics):
    X, y = topics
    known = Constraints.sample(y, 100, random_state=0)
    with pytest.warns(ConstraintWarning, match="HMRFKMeans"):
        model = FrequencySensitiveKMeans(10, random_state=0).fit(X, constraints=known)
    assert model.n_violations_ == known.violations(model.labels_).n > 0


# --- what it is made of ---


def scores(cosines, counts, gamma, memory, d):
    """Equation (8.10), tempered."""
    return (1 + cosines) / counts**gamma - gamma * np.log(counts) / (memory * d)


# ------------------------------------------------------------------ the rule


@pytest.mark.parametrize("gamma", [0.0, 0.1, 1.0])
def test_all_rows_at_once(topics, gamma):
    X = unit(topics[0])
    centers, counts = X[:7], np.array([3.0, 200.0, 50.0, 1.0, 80.0, 90.0, 176.0])
    rule = WinnerRule(gamma, 600.0, X.shape[1])
    found = rule.label(as_rows(X), centers, counts)
    expected = scores(X @ centers.T, counts, gamma, 600.0, X.shape[1])
    np.testing.assert_array_equal(found, np.argmax(expected, axis=1))


@pytest.mark.parametrize("gamma", [0.1, 1.0, 3.0])
def test_equal_sizes_leave_the_cosine_to_decide(topics, gamma):
    X = unit(topics[0])
    found = WinnerRule(gamma, 600.0, 120).label(as_rows(X), X[:6], np.full(6, 100.0))
    np.testing.assert_array_equal(found, np.argmax(X @ X[:6].T, axis=1))


def test_counts_after_every_row_written_out(topics):
    X = unit(topics[0])[:200]
    centers, counts = X[:5], np.full(5, 40.0)
    order = np.random.default_rng(1).permutation(200)
    rule = WinnerRule(1.0, 200.0, X.shape[1])
    labels, after = rule.label_in_order(as_rows(X), centers, counts, order)
    expected = np.empty(200, dtype=int)
    for i in order:
        h = np.argmax(scores(X[i] @ centers.T, counts, 1.0, 200.0, X.shape[1]))
        expected[i] = h
        counts = counts * (1 - 1 / 200)
        counts[h] += 1
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_allclose(after, counts)
    assert after.sum() == pytest.approx(200)


@pytest.mark.parametrize("memory", [30.0, 500.0, np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_stream_written_out(topics, memory, kind):
    X = unit(topics[0])[:150]
    k, d = 4, X.shape[1]
    fade = 1 - 1 / memory
    counts, sums, expected = np.zeros(0), np.zeros((0, d)), []
    for x in X:
        centers = unit(sums) if len(sums) else sums
        if len(counts) < k and (len(counts) == 0 or np.max(centers @ x) < 1 - 1e-12):
            h = len(counts)
            counts, sums = np.r_[counts, 0.0], np.r_[sums, np.zeros((1, d))]
        else:
            h = int(np.argmax(scores(centers @ x, counts, 1.0, memory, d)))
        counts, sums = fade * counts, fade * sums
        counts[h] += 1
        sums[h] += x
        expected.append(h)
    stream = Stream.empty(k, d)
    labels = stream.feed(kind(X), WinnerRule(1.0, memory, d))
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_allclose(stream.counts, counts)
    np.testing.assert_allclose(stream.centers(float), unit(sums), atol=1e-12)


def test_a_long_stream_with_a_short_memory_stays_in_range():
    rng = np.random.default_rng(0)
    stream, rule = Stream.empty(3, 4), WinnerRule(1.0, 2.0, 4)  # (1/2)^3000 is no float any more
    X = unit(rng.normal(size=(3000, 4)))
    stream.feed(X, rule)
    assert stream.counts.sum() == pytest.approx(2)
    assert np.isfinite(stream.centers(float)).all()
    np.testing.assert_allclose(np.linalg.norm(stream.sums, axis=0) ** 2, stream.squares, rtol=1e-6)


# ------------------------------------------------------------------ fitting


def test_without_sizes_a_pass_is_a_step_of_spherical_kmeans(topics):
    X = unit(topics[0])
    source = as_rows(X)
    rule = WinnerRule(0.0, float(len(X)), X.shape[1])
    step = Batch(source, rule, 0.1)
    after_three = step(CompetitionState(X[:6], np.full(6, 100.0)))
    for _ in range(2):
        after_three = step(after_three.following)
    plain = SphericalKMeans(6, init=X[:6], tol=0, max_iter=2).fit(X)
    np.testing.assert_array_equal(after_three.labels, plain.labels_)
    np.testing.assert_allclose(after_three.centers, plain.cluster_centers_, atol=1e-12)


# ------------------------------------------------------------------ streams


def test_with_endless_memory_a_stream_is_one_pass_over_the_batch(topics):
    # In its limit: L = inf, and the same start, labels and sums as one incremental pass.
    X = unit(topics[0])
    rule = WinnerRule(1.0, np.inf, X.shape[1])
    one_pass = Incremental(as_rows(X), rule)(Stream.of(X[:5], np.ones(5)))
    model = FrequencySensitiveKMeans(5, memory=np.inf, init=X[:5], mode="streaming").partial_fit(X)
    np.testing.assert_array_equal(model.labels_, one_pass.labels)
    sums = np.array([X[:5][h] + X[one_pass.labels == h].sum(axis=0) for h in range(5)])
    np.testing.assert_allclose(model.cluster_centers_, unit(sums), atol=1e-12)


def test_partial_passes_change_counts_only_within_a_pass(topics):
    X = unit(topics[0])
    source, order = as_rows(X), np.arange(len(X))
    rule = WinnerRule(1.0, float(len(X)), X.shape[1])
    step = Partial(source, rule, order)
    first = step(CompetitionState(X[:5], np.full(5, 120.0)))
    second = step(first.following)
    np.testing.assert_array_equal(first.centers, X[:5])
    sums = np.array([X[first.labels == h].sum(axis=0) for h in range(5)])
    np.testing.assert_allclose(second.centers, unit(sums), atol=1e-12)
