"""A value that is not a number is never the best of several, wherever it comes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from sidelight._fit.alternation import alternate
from sidelight._fit.lowest import is_lower, lowest
from sidelight._fit.restarts import best_of
from sidelight.cluster import SpectralClustering
from sidelight.cluster.spectral._bipartition import split_costs
from sidelight.exceptions import SidelightError

NAN, INF = np.nan, np.inf


@dataclass(frozen=True)
class End:
    """Where a restart or an evaluation ended."""

    objective: float
    parameters: int = 0
    interrupted: bool = False


@pytest.mark.parametrize("others", [(NAN,), (INF,), (NAN, INF), (NAN, NAN, 5.0)])
@pytest.mark.parametrize("value", [-3.0, 0.0, 2.0])
def test_the_lowest_number_wins_in_every_order(value: float, others: tuple[float, ...]) -> None:
    for order in itertools.permutations((value, *others)):
        assert best_of([End(objective) for objective in order]).objective == value
        assert order[lowest(order, "values")] == value


@pytest.mark.parametrize("one", [NAN, -INF, -1.0, 0.0, 1.0, INF])
@pytest.mark.parametrize("other", [NAN, -INF, -1.0, 0.0, 1.0, INF])
@pytest.mark.parametrize("margin", [0.0, 1e-7])
def test_lower_is_an_order_with_nan_at_its_end(one: float, other: float, margin: float) -> None:
    rank = [-INF, -1.0, 0.0, 1.0, INF, NAN]
    place = [next(i for i, v in enumerate(rank) if v is x or v == x) for x in (one, other)]
    assert is_lower(one, other, margin=margin) == (place[0] < place[1])


def test_without_any_number_the_error_says_what_to_do() -> None:
    with pytest.raises(SidelightError, match=r"None of the restarts .* Scale the columns"):
        best_of([End(NAN), End(NAN)])
    with pytest.raises(SidelightError, match="None of the splits"):
        lowest([NAN], "splits")


def run(objectives: list[float], *, reject_rises: bool) -> tuple[int, list[float], bool]:
    """Alternate over parameters 0, 1, ... whose objectives are these."""
    end = alternate(
        0,
        lambda step, before: End(objectives[step], step),
        lambda now: now.parameters + 1,
        stop=lambda before, now, history: not before.objective - now.objective > 1e-6,
        reject_rises=reject_rises,
        max_iter=len(objectives) - 1,
        description="test",
        verbose=0,
    )
    return end.last.parameters, end.history.tolist(), end.converged


@pytest.mark.parametrize("reject_rises", [True, False])
def test_an_update_to_nan_ends_at_the_number_before(reject_rises: bool) -> None:
    assert run([3.0, 2.0, NAN, 1.0], reject_rises=reject_rises) == (1, [3.0, 2.0], False)
    assert run([3.0, NAN], reject_rises=reject_rises) == (0, [3.0], False)


@pytest.mark.parametrize("reject_rises", [True, False])
def test_any_number_is_an_improvement_on_nan(reject_rises: bool) -> None:
    last, history, converged = run([NAN, 3.0, 2.0, 2.0, 1.0], reject_rises=reject_rises)
    assert (last, history[1:], converged) == (3, [3.0, 2.0, 2.0], True)
    assert run([INF, 3.0, 3.0], reject_rises=reject_rises) == (2, [INF, 3.0, 3.0], True)


def test_a_rise_is_still_rejected() -> None:
    assert run([3.0, 2.0, 4.0, 1.0], reject_rises=True) == (1, [3.0, 2.0], True)
    assert run([3.0, 2.0, INF, 1.0], reject_rises=True) == (1, [3.0, 2.0], True)


@pytest.mark.parametrize("sigma", list(itertools.permutations([1.0, 0.001, 2.0])))
def test_a_width_that_leaves_rows_alone_is_not_chosen(sigma: tuple[float, ...]) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0], [6.0]], 30, axis=0)
    model = SpectralClustering(2, weights="gaussian", sigma=list(sigma), random_state=0).fit(X)
    tried = dict(zip(model.search_["sigma"], model.search_["distortion"], strict=True))
    assert np.isnan(tried[0.001])
    assert tried[model.sigma_] == min(tried[1.0], tried[2.0])


@pytest.mark.parametrize("objective", ["normalized-cut", "min-max-cut"])
def test_costs_of_splits_are_not_differences_of_volumes(objective: str) -> None:
    """A chain whose weights fall by factors: the last volumes are lost beside the first."""
    weights = 10.0 ** -np.arange(0, 30, 3)
    n = len(weights) + 1
    graph = sparse.csr_array(sparse.diags_array([weights, weights], offsets=[-1, 1], shape=(n, n)))
    found = split_costs(graph, np.arange(n), objective)
    dense = graph.toarray()
    for cut in range(1, n):
        between = dense[:cut, cut:].sum()
        inner, outer = dense[:cut].sum(), dense[cut:].sum()
        if objective == "min-max-cut":
            inner, outer = dense[:cut, :cut].sum(), dense[cut:, cut:].sum()
        if (inner > 1e-12 and outer > 1e-12) or objective == "normalized-cut":
            assert found[cut - 1] == pytest.approx(between / inner + between / outer, rel=1e-9)
