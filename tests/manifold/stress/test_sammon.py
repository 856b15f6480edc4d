"""Sammon's mapping: derivatives, exact maps, invariances, descent, new rows, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from sidelight import engine
from sidelight.datasets import make_hemisphere, make_strip, make_swiss_roll
from sidelight.evaluation import procrustes_distance, sammon_stress
from sidelight.exceptions import SidelightError
from sidelight.manifold import SammonMapping
from sidelight.manifold.stress import _descent
from sidelight.manifold.stress._descent import SammonStress, TargetDistances, place_rows


def draw(seed=0, n=12, d=4):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_the_stress_never_rises_and_ends_below_that_of_principal_components():
    for X in (draw(8, 60, 10), make_swiss_roll(80, random_state=0).data):
        model = SammonMapping().fit(X)
        assert np.all(np.diff(model.history_) <= 0)
        assert model.history_[0] == pytest.approx(sammon_stress(X, PCA(2).fit_transform(X)))
        assert model.objective_ == pytest.approx(sammon_stress(X, model.embedding_))
        assert model.objective_ < 0.8 * model.history_[0]
        assert len(model.history_) == model.n_iter_ + 1
        assert model.converged_


@pytest.mark.parametrize("scale", [1e-30, 1e20])
def test_units_do_not_matter(scale):
    X = draw(7, 40)
    one, other = SammonMapping().fit(X), SammonMapping().fit(scale * X)
    np.testing.assert_allclose(other.embedding_ / scale, one.embedding_, rtol=1e-6, atol=1e-9)


def test_precomputed_distances_give_the_map_of_the_rows():
    X = draw(11, 40)
    by_rows = SammonMapping(tol=1e-12, max_iter=3000).fit(X)
    model = SammonMapping(metric="precomputed", tol=1e-12, max_iter=3000).fit(cdist(X, X))
    assert model.history_[0] == pytest.approx(by_rows.history_[0], rel=1e-9)
    assert model.objective_ == pytest.approx(by_rows.objective_, rel=1e-6)
    new = draw(12, 5)
    placed = model.transform(cdist(new, X))
    moved = np.vstack([model.embedding_, placed])
    wanted = np.vstack([by_rows.embedding_, by_rows.transform(new)])
    assert procrustes_distance(wanted, moved, scaling=False) < 1e-5


def test_many_distances_start_from_the_same_components():
    """Above 500 rows the start is found by an iterative eigensolver."""
    strip = make_strip(520, ambient=4, random_state=0)
    model = SammonMapping(metric="precomputed").fit(cdist(strip.data, strip.data))
    assert model.history_[0] < 1e-12


def test_a_given_start_is_used():
    X, start = draw(13, 30), draw(14, 30, 2)
    model = SammonMapping(init=start).fit(X)
    assert model.history_[0] == pytest.approx(sammon_stress(X, start))


def test_new_rows_are_placed_where_their_stress_is_least():
    X, new = draw(15, 30), draw(16, 6)
    model = SammonMapping().fit(X)
    placed = model.transform(new)

    def own(place, row):
        wanted = cdist(row[None], X)[0]
        return np.sum((np.linalg.norm(model.embedding_ - place, axis=1) - wanted) ** 2 / wanted)

    for place, row in zip(placed, new, strict=True):
        best = minimize(own, place, args=(row,), method="Nelder-Mead", options={"xatol": 1e-8})
        assert own(place, row) <= best.fun * (1 + 1e-6)


def test_rows_on_an_exact_map_are_placed_exactly():
    strip = make_strip(80, ambient=3, random_state=0)
    model = SammonMapping().fit(strip.data[:60])
    placed = model.transform(strip.data[60:])
    everything = np.vstack([model.embedding_, placed])
    assert procrustes_distance(strip.coordinates, everything, scaling=False) < 1e-12


def test_equal_rows_stay_together_and_are_counted():
    X = np.repeat(draw(18, 15), [2] * 5 + [1] * 10, axis=0)
    model = SammonMapping().fit(X)
    assert model.n_equal_pairs_ == 5
    np.testing.assert_array_equal(model.embedding_[:10:2], model.embedding_[1:10:2])
    by_hand = cdist(X, X)
    assert model.objective_ == pytest.approx(
        float(
            np.sum(
                np.divide(
                    (cdist(model.embedding_, model.embedding_) - by_hand) ** 2,
                    by_hand,
                    out=np.zeros_like(by_hand),
                    where=by_hand > 0,
                )
            )
            / by_hand.sum()
        )
    )


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_rows_that_start_in_one_place_part(metric):
    """Corners of a cube in pairs below each other: the third axis is no component."""
    X = np.array([[x, y, z] for x in (0, 9) for y in (0, 5) for z in (0, 1)], dtype=float)
    X = np.vstack([X, X[:1]])
    values = cdist(X, X) if metric == "precomputed" else X
    start = X[:, :2]
    model = SammonMapping(metric=metric, init=start).fit(values)
    assert len(np.unique(model.embedding_, axis=0)) == 8
    np.testing.assert_array_equal(model.embedding_[0], model.embedding_[8])
    assert model.objective_ < sammon_stress_quietly(X, start)


def sammon_stress_quietly(X, Z):
    wanted = cdist(X, X)
    apart = wanted > 0
    return np.sum((cdist(Z, Z)[apart] - wanted[apart]) ** 2 / wanted[apart]) / wanted.sum()


def test_more_coordinates_than_the_rows_have():
    line = np.linspace(0, 1, 20)[:, None]
    model = SammonMapping(2).fit(line)
    assert model.objective_ < 1e-20
    assert np.isfinite(model.transform(line + 0.01)).all()


def test_a_hemisphere_is_flattened_with_little_stress():
    cap = make_hemisphere(120, random_state=0)
    assert SammonMapping().fit(cap.data).objective_ < 0.05


def test_the_end_of_the_steps_is_told():
    with pytest.warns(ConvergenceWarning, match="did not converge within max_iter=2"):
        model = SammonMapping(max_iter=2).fit(draw(19, 30))
    assert not model.converged_
    assert model.n_iter_ == 2


D = cdist(draw(0), draw(0))


@pytest.mark.parametrize(
    ("model", "X", "said"),
    [
        (SammonMapping(), np.ones((5, 2)), "All rows are the same"),
        (SammonMapping(), np.ones((1, 2)), "at least two rows"),
        (SammonMapping(metric="precomputed"), np.zeros((4, 4)), "All rows are the same"),
        (SammonMapping(metric="precomputed"), draw(), "square matrix"),
        (SammonMapping(metric="precomputed"), -D, "not below 0"),
        (SammonMapping(metric="precomputed"), np.triu(D), "the same both ways"),
        (SammonMapping(init=np.zeros((3, 2))), draw(), r"init has shape \(3, 2\)"),
        (SammonMapping(init=np.full((12, 2), np.inf)), draw(), "at infinity"),
        (SammonMapping(init="random"), draw(), "init must be"),
        (SammonMapping(magic_factor=0.0), draw(), "magic_factor must be"),
    ],
)
def test_bad_input_is_explained(model, X, said):
    with pytest.raises(SidelightError, match=said):
        model.fit(X)


def test_negative_distances_of_new_rows_are_refused():
    model = SammonMapping(metric="precomputed").fit(D)
    with pytest.raises(SidelightError, match="new row 0 to row 3"):
        model.transform(np.where(np.arange(12) == 3, -1.0, D[:1]))


# --- what it is made of ---


def stress_of(X, places):
    return SammonStress(TargetDistances(X, precomputed=False))(places)


def test_stress_is_the_measure_of_the_same_name():
    X, Z = draw(0), draw(1, d=2)
    assert stress_of(X, Z).stress == pytest.approx(sammon_stress(X, Z), rel=1e-13)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(1, 3))
def test_derivatives_by_finite_differences(seed, n, q):
    """``S' = (2/c) gradient`` and the diagonal of ``S''`` is ``(2/c) curvature``."""
    X, Z = draw(seed, n), draw(seed + 1, n, q)
    stress = SammonStress(TargetDistances(X, precomputed=False))
    now = stress(Z)
    factor = 2 / (stress.total / 2)  # total counts every pair twice
    step = 1e-4
    for i in range(n):
        for k in range(q):
            move = np.zeros_like(Z)
            move[i, k] = step
            up, down = stress(Z + move), stress(Z - move)
            slope = (up.stress - down.stress) / (2 * step)
            assert factor * now.gradient[i, k] == pytest.approx(slope, rel=1e-4, abs=1e-5)
            curve = factor * (up.gradient[i, k] - down.gradient[i, k]) / (2 * step)
            assert factor * now.curvature[i, k] == pytest.approx(curve, rel=1e-3, abs=1e-3)


def test_an_exact_configuration_has_no_stress_and_no_gradient():
    Z = draw(2, d=2)
    X = np.hstack([Z, np.zeros((12, 3))]) @ np.linalg.qr(draw(3, 5, 5))[0]
    exact = stress_of(X, Z)
    assert exact.stress < 1e-28
    np.testing.assert_allclose(exact.gradient, 0, atol=1e-10)
    assert SammonMapping().fit(X).objective_ < 1e-20


def test_stress_does_not_see_turns_and_common_scales():
    X, Z = draw(4), draw(5, d=2)
    turn = np.linalg.qr(draw(6, 2, 2))[0]
    assert stress_of(X, Z @ turn + 3).stress == pytest.approx(stress_of(X, Z).stress)
    assert stress_of(7 * X, 7 * Z).stress == pytest.approx(stress_of(X, Z).stress)


def test_no_general_optimizer_finds_less_nearby():
    X = draw(9, 25)
    model = SammonMapping(tol=1e-12, max_iter=5000).fit(X)
    stress = SammonStress(TargetDistances(X, precomputed=False))

    def value(flat):
        now = stress(flat.reshape(-1, 2))
        return now.stress, 4 / stress.total * now.gradient.ravel()

    best = minimize(value, model.embedding_.ravel(), jac=True, method="L-BFGS-B")
    assert best.fun > model.objective_ * (1 - 1e-6)


def test_tiles_and_threads_change_nothing(monkeypatch):
    X = draw(10, 50)
    whole = SammonMapping().fit(X)
    monkeypatch.setattr(_descent, "TILE_NUMBERS", 350)
    monkeypatch.setattr(_descent, "KEPT_ROWS", 10)
    for n_threads in (1, 3):
        with engine.threads(n_threads):
            pieces = SammonMapping().fit(X)
            new = pieces.transform(X[:20] + 0.1)
        np.testing.assert_array_equal(pieces.embedding_, whole.embedding_)
    np.testing.assert_array_equal(new, whole.transform(X[:20] + 0.1))


def test_rows_of_the_fit_and_rows_near_them_keep_their_places():
    X = draw(17, 30)
    model = SammonMapping().fit(X)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    np.testing.assert_allclose(model.transform(X + 1e-9), model.embedding_, atol=1e-6)
    wanted = cdist(X[:1] + 1e-300, X)
    assert np.isfinite(place_rows(wanted, model.embedding_)).all()
