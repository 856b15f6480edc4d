"""What the report shows of mixtures: ellipses, certainty, saliency, gaps."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest

from sidelight.mixture import GaussianMixture
from sidelight.pictures._run import make_given, make_run
from sidelight.pictures.kinds._points import Points
from sidelight.pictures.svg._points import placed
from sidelight.pictures.svg._render import svg_of
from sidelight.report import render_report
from sidelight.report._mixtures import certainty_cards, saliency


@pytest.fixture(scope="module")
def two() -> tuple[np.ndarray, GaussianMixture]:
    rng = np.random.default_rng(0)
    wide = rng.multivariate_normal([0, 0], [[4, 1.5], [1.5, 1]], 150)
    X = np.vstack([wide, rng.multivariate_normal([7, 3], [[0.5, -0.3], [-0.3, 0.5]], 60)])
    return X, GaussianMixture(2, random_state=0).fit(X)


def run_of(estimator, X):
    return make_run(
        make_given(estimator, X, constraints=None, labels_true=None, ids=None, feature_names=None)
    )


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_ellipses_pass_through_two_standard_deviations(two, kind):
    X, _ = two
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    html = render_report(estimator=model, X=X)
    found = re.findall(
        r'<ellipse class="k(\d)" rx="([\d.]+)" ry="([\d.]+)" '
        r'transform="translate\(([-\d.]+) ([-\d.]+)\) rotate\(([-\d.]+)\)"',
        html,
    )
    assert len(found) == 2
    codes = np.zeros(len(X), np.int64)
    at = placed(Points(title="", text="", xy=X, codes=codes, axes="plane"))
    for component, rx, ry, cx, cy, angle in (tuple(map(float, f)) for f in found):
        s = int(component)
        covariance = model._components.full_covariances()[s]
        turn = np.linspace(0, 2 * np.pi, 40)
        rim = model.means_[s] + 2 * np.column_stack([np.cos(turn), np.sin(turn)]) @ (
            np.linalg.cholesky(covariance).T
        )
        gaps = np.column_stack(
            [
                at.box.x(rim[:, 0], *at.x_range) - cx,
                at.box.y(rim[:, 1], *at.y_range) - cy,
            ]
        )
        c, n = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        along, across = gaps @ [c, n], gaps @ [-n, c]
        np.testing.assert_allclose((along / rx) ** 2 + (across / ry) ** 2, 1.0, atol=0.02)


def test_rows_in_doubt_are_named_and_counted(two):
    X, model = two
    between = model.means_.mean(axis=0)
    rows = np.vstack([X, between])
    fitted = GaussianMixture(2, random_state=0).fit(rows)
    how_sure, doubts = certainty_cards(run_of(fitted, rows))
    largest = fitted.predict_proba(rows).max(axis=1)
    assert f"{np.mean(largest >= 0.95):.0%} of the rows" in how_sure
    counts = [int(n) for n in re.findall(r": (\d+) rows</title>", how_sure)]
    assert sum(counts) == len(rows)
    # First and second share of every row in doubt: the first ones rise.
    shares = [int(n) for n in re.findall(r'<td class="n">(\d+)%</td>', doubts)]
    assert shares[::2] == sorted(shares[::2])
    assert len(shares) == 2 * min(10, int(np.count_nonzero(largest < 0.95)))


def test_log_likelihood_is_drawn_rising(two):
    X, model = two
    html = render_report(estimator=model, X=X)
    assert "Log-likelihood per row by iteration" in html
    assert "Objective by iteration" not in html


def test_saliency_bars_are_sorted_and_as_long_as_the_saliency(two):
    X, model = two
    run = run_of(model, X)
    told = SimpleNamespace(
        estimator=SimpleNamespace(saliencies_=np.array([0.25, 1.0])),
        feature_names=run.feature_names,
    )
    bars = svg_of(saliency(told).picture)
    lengths = [float(w) for w in re.findall(r'width="([\d.]+)" height="13', bars)]
    assert bars.index("feature 1") < bars.index("feature 0")
    assert lengths[1] / lengths[0] == pytest.approx(0.25, abs=0.01)
    assert saliency(run) is None
