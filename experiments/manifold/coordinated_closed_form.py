"""Coordinated factor analysis: the m-step in closed form against the older iterative one.

``python -m experiments.manifold.coordinated_closed_form [--runs 10] [--quick]``
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from experiments.harness import Section, Verdict, main, mean_and_error
from experiments.recipes.rendered import render_faces
from sidelight.cluster import KMeans
from sidelight.datasets import make_s_surface
from sidelight.engine import as_rows
from sidelight.manifold.atlas._bound import BoundEvaluation, ChartState, Coordination, Estimates
from sidelight.manifold.atlas._steps import ChartRules

TITLE = "Coordinated factor analysis: closed form"
VERDICTS = {
    "Closed form against iteration": Verdict(
        "agrees",
        "a step in closed form is 16 to 20 times as fast, where the source has 7 to 12; our bounds "
        "differ by no more than their errors, where the source has the closed form ahead; the "
        "faces are our own renderer's",
    ),
    "Inner iterations": Verdict("agrees", "some charts do not converge within the cap"),
}

#: Limits of the inner iteration, as in the source.
CAP, CLOSE = 1000, 1e-4
TOL, MAX_STEPS = 1e-4, 300


class Published(NamedTuple):
    """Figures of Verbeek (2004), figure 5.2: EM steps, seconds per step, bound in thousands."""

    steps: str
    per_step: float
    bound: str


PUBLISHED = {
    ("S surface", "closed form"): Published("123.5 ± 49.5", 0.05, "0.9 ± 0.6"),
    ("S surface", "iterative"): Published("125.5 ± 33.8", 0.61, "0.2 ± 0.8"),
    ("faces", "closed form"): Published("78.4 ± 7.0", 0.382, "9.7 ± 0.7"),
    ("faces", "iterative"): Published("76.7 ± 9.1", 2.596, "8.1 ± 1.1"),
}


class Fit(NamedTuple):
    """Figures of one run."""

    n_steps: int
    seconds_of_m: float
    seconds: float
    bound: float
    inner: float
    unfinished: float


class ClosedForm:
    """The m-step of the package."""

    inner, unfinished = float("nan"), float("nan")

    def __init__(self, steps: Coordination) -> None:
        self.steps = steps

    def __call__(self, now: BoundEvaluation) -> ChartState:
        return self.steps.m_step(now)


class Iterative:
    """The m-step of Roweis, Saul and Hinton (2002): equations 5.26 to 5.28 as assignments.

    It starts from the roots ``A`` of the step before, random ones at first; a chart that does not
    converge keeps the parameters that it had.
    """

    def __init__(self, steps: Coordination, k: int, d: int, seed: int) -> None:
        self.steps = steps
        self.roots = np.random.default_rng(seed).normal(size=(k, d, d)) + np.eye(d)
        self.counts: list[float] = []
        self.left: list[float] = []

    @property
    def inner(self) -> float:
        """Mean number of inner iterations."""
        return float(np.mean(self.counts))

    @property
    def unfinished(self) -> float:
        """Share of charts that did not converge."""
        return float(np.mean(self.left))

    def __call__(self, now: BoundEvaluation) -> ChartState:
        best = self.steps.m_step(now).charts  # for weights, centers and means, which agree
        d = best.n_coordinates
        sums = now.views[0]
        total = sums.latent[:, 0]
        g = sums.latent[:, 1 : d + 1] / total[:, None]
        x = sums.rows / total[:, None]
        G = (sums.latent[:, d + 1 :] / total[:, None]).reshape(-1, d, d)
        G = G - g[:, :, None] * g[:, None, :]
        C = sums.cross / total[:, None, None] - x[:, :, None] * g[:, None, :]
        S = sums.squares / total[:, None] - x**2
        roots, loadings, noise, done = self._iterate(C, G, S)
        old = now.parameters.charts
        keep = done[:, None, None]
        self.roots = roots  # the next step goes on from there
        charts = replace(
            best,
            spreads=np.where(keep, roots @ np.swapaxes(roots, 1, 2), old.spreads),
            loadings=np.where(keep, loadings, old.loadings),
            noise=np.where(done[:, None], noise, old.noise),
        )
        return ChartState(charts, now.estimates)

    def _iterate(
        self, C: np.ndarray, G: np.ndarray, S: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        inverse_G = np.linalg.inv(G)
        roots = self.roots.copy()
        done = np.zeros(len(roots), dtype=bool)
        floor = self.steps.rules.floor
        n_iter = 0
        while n_iter < CAP and not done.all():
            n_iter += 1
            local = C @ inverse_G @ roots
            B = local @ np.linalg.inv(roots)
            noise = S - 2 * np.sum(B * C, axis=2) + np.sum((B @ G) * B, axis=2)
            noise = np.maximum(noise, floor)
            scaled = np.swapaxes(local / noise[:, :, None], 1, 2)
            inverse = np.linalg.solve(
                np.eye(G.shape[1]) + scaled @ local,
                (np.swapaxes(roots, 1, 2) + scaled @ C) @ inverse_G,
            )
            new = np.linalg.inv(inverse)
            moved = np.max(np.abs(1 - new / roots), axis=(1, 2))
            roots = np.where(done[:, None, None], roots, new)
            done |= moved < CLOSE
        local = C @ inverse_G @ roots
        B = local @ np.linalg.inv(roots)
        noise = S - 2 * np.sum(B * C, axis=2) + np.sum((B @ G) * B, axis=2)
        self.counts.append(n_iter)
        self.left.append(float(np.mean(~done)))
        return roots, B, np.maximum(noise, floor), done


def run(runs: int, quick: bool) -> list[Section]:
    runs = min(runs, 10)
    found: dict[tuple[str, str], list[Fit]] = {key: [] for key in PUBLISHED}
    for seed in range(runs):
        for name, (X, places, k) in data_sets(seed, quick).items():
            for method in ("closed form", "iterative"):
                found[name, method].append(one_fit(X, places, k, method, seed))
    return [table(found), inner_table(found)]


def data_sets(seed: int, quick: bool) -> dict[str, tuple[np.ndarray, np.ndarray, int]]:
    """Rows, coordinates to start from and number of charts."""
    S = make_s_surface(1000, random_state=seed)
    faces = render_faces(250 if quick else 698, size=32, random_state=seed)
    rows = PCA(30, random_state=0).fit_transform(faces.data)
    return {
        "S surface": (S.data, S.coordinates, 10),
        "faces": (rows, faces.coordinates, 15 if quick else 50),
    }


def one_fit(X: np.ndarray, places: np.ndarray, k: int, method: str, seed: int) -> Fit:
    """Both phases, the estimates held fast and free, with one of the two m-steps."""
    n, d = places.shape
    X = X - X.mean(axis=0)
    g = (places - places.mean(axis=0)) / places.std(axis=0)
    rules = ChartRules((slice(0, X.shape[1]),), False, False, 1e-4 * X.var(axis=0), 0.0)
    steps = Coordination(as_rows(X), np.ones((n, 1), bool), np.ones(n), np.zeros(n, bool), rules)
    labels = KMeans(k, n_init=1, random_state=seed).fit(g).labels_
    state = steps.of_clusters(labels, k, Estimates(g, np.tile(1e-4 * np.eye(d), (n, 1, 1))))
    m_step: Any = ClosedForm(steps)
    if method == "iterative":
        m_step = Iterative(steps, k, d, seed)
    n_steps, seconds_of_m, started = 0, 0.0, time.perf_counter()
    for free in (False, True):
        before = np.inf
        for _ in range(MAX_STEPS):
            now = steps.e_step(state, free=free)
            if before - now.objective <= TOL * max(abs(now.objective), 1.0):
                break
            before = now.objective
            m_started = time.perf_counter()
            state = m_step(now)
            seconds_of_m += time.perf_counter() - m_started
            n_steps += 1
    seconds = time.perf_counter() - started
    reduced = -now.objective * n + 0.5 * n * X.shape[1] * np.log(2 * np.pi)
    return Fit(n_steps, seconds_of_m, seconds, reduced / 1000, m_step.inner, m_step.unfinished)


def table(found: dict[tuple[str, str], list[Fit]]) -> Section:
    rows = []
    ratios = {}
    for (name, method), fits in found.items():
        printed = PUBLISHED[name, method]
        per_step = [fit.seconds / fit.n_steps for fit in fits]
        ratios[name, method] = np.mean(per_step)
        rows.append(
            [
                name,
                method,
                printed.steps,
                mean_and_error([fit.n_steps for fit in fits], digits=1),
                f"{printed.per_step:g}",
                mean_and_error(per_step, digits=4),
                printed.bound,
                mean_and_error([fit.bound for fit in fits], digits=2),
            ]
        )
    speed = ", ".join(
        f"{ratios[name, 'iterative'] / ratios[name, 'closed form']:.0f} ({name}; printed "
        f"{PUBLISHED[name, 'iterative'].per_step / PUBLISHED[name, 'closed form'].per_step:.0f})"
        for name in ("S surface", "faces")
    )
    text = (
        "Figure 5.2: coordinates begin at the true ones; EM ends at a relative gain of 1e-4, the "
        "inner iteration at relative changes of 1e-4 or after 1,000. The bound is in thousands of "
        "nats without the constant of the rows, as the source seems to count it. The iterative "
        f"step takes so many times the time of a step in closed form: {speed}. Ours ± standard "
        f"error of {len(next(iter(found.values())))} runs."
    )
    header = (
        "set",
        "m-step",
        "EM steps, printed",
        "ours",
        "seconds per step, printed",
        "ours",
        "bound, printed",
        "ours",
    )
    return Section("Closed form against iteration", text, header, rows)


def inner_table(found: dict[tuple[str, str], list[Fit]]) -> Section:
    rows = []
    for name in ("S surface", "faces"):
        fits = found[name, "iterative"]
        rows.append(
            [
                name,
                mean_and_error([fit.inner for fit in fits], digits=0),
                mean_and_error([100 * fit.unfinished for fit in fits], digits=1),
            ]
        )
    text = (
        "Inner iterations per m-step (of all charts, until the last has converged), and charts "
        "that did not converge within 1,000. The source reports that 100 are nearly always too "
        "few, and that some charts had not converged after 100,000."
    )
    header = ("set", "inner iterations, ours", "charts without convergence, %, ours")
    return Section("Inner iterations", text, header, rows)


if __name__ == "__main__":
    main(Path(__file__).stem)
