"""Classifiers from labels and pairs beside general-purpose solvers of the same objectives.

One thread of BLAS on both sides.

- Newton's method for the convex loss, Gaussian kernel, beside L-BFGS (SciPy) on the coefficients
  ``α`` of the kernel, and on ``β`` with ``K = ΦΦ'``, which is much better conditioned. L-BFGS goes
  on until the norm of the gradient in the space of the kernel is below 1e-6, or until it finds no
  lower value, or for 1,000 iterations. Both sides compute the kernel themselves; ours also checks
  rows and pairs and finds the class of every row.
- The linear kernel on a million rows, of which 10,000 are labeled and 100,000 pairs are known,
  beside scikit-learn's logistic regression on the pseudo-examples that the pairs amount to, with
  the decision values of all rows. Our time has the checks of rows and pairs in it.
- Landmarks (Nyström's method) on a million rows: fit, and the class of every row; there is no peer.
- The dual of the support vector machine beside L-BFGS-B (SciPy) on the same box, for as long as it
  takes to the same duality gap, or for 20,000 iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.harness import Row, clock, compare
from scipy import optimize, sparse
from scipy.linalg import cholesky
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from sidelight import Constraints
from sidelight.semi_supervised import PairwiseLogisticRegression, PairwiseSVC

LAM = 0.01
TARGET = 1e-6


def run(quick: bool) -> list[Row]:
    with threadpool_limits(1):
        return cases(quick)


def cases(quick: bool) -> list[Row]:
    few = Case(1000 if quick else 5000, 10, *((200, 400) if quick else (1000, 2000)), apart=True)
    many = Case(
        100_000 if quick else 1_000_000, 20, *((2000, 10_000) if quick else (10_000, 100_000))
    )
    svm = Case(1500, 10, *((100, 200) if quick else (300, 700)))
    return [
        beside_lbfgs(few, "α"),
        beside_lbfgs(few, "β"),
        beside_box(svm),
        *(beside_pseudo_examples(many, kind) for kind in ("dense", "sparse")),
        landmarks(many),
    ]


class Case:
    """Rows in six clouds of two classes, with labels and pairs.

    Pairs are drawn from all rows, or ``apart``: of unlabeled rows, each in one of them.
    """

    def __init__(self, n: int, d: int, n_labels: int, n_pairs: int, *, apart: bool = False) -> None:
        rng = np.random.default_rng(0)
        cloud = rng.integers(6, size=n)
        self.y = cloud % 2
        self.X = (2 * rng.normal(size=(6, d)))[cloud] + 2 * rng.normal(size=(n, d))
        self.X -= self.X.mean(axis=0)
        self.labels = np.where(np.arange(n) < n_labels, self.y, -1)
        ends = rng.integers(n, size=(n_pairs, 2))
        if apart:
            ends = (n_labels + rng.permutation(n - n_labels)[: 2 * n_pairs]).reshape(-1, 2)
        ends = ends[ends[:, 0] != ends[:, 1]]
        same = self.y[ends[:, 0]] == self.y[ends[:, 1]]
        self.known = Constraints(ends[same], ends[~same], n_samples=n)
        self.name = f"{n:,} rows of {d}, {n_labels:,} labels, {len(ends):,} pairs"

    def design(self) -> tuple[np.ndarray, sparse.csr_array, np.ndarray]:
        """Named rows, terms as their combinations, and the signs of the labels."""
        labeled = np.flatnonzero(self.labels >= 0)
        pairs = [self.known.must_link, self.known.cannot_link]
        support = np.unique(np.concatenate([labeled, *(pair.ravel() for pair in pairs)]))
        signs = np.where(self.labels[labeled] > 0, 1.0, -1.0)
        blocks = [unit(labeled, support)]
        for pair, c in zip(pairs, (1, -1), strict=True):
            blocks.append(unit(pair[:, 0], support) - c * unit(pair[:, 1], support))
        return support, sparse.csr_array(sparse.vstack(blocks)), signs


def unit(rows: np.ndarray, support: np.ndarray) -> sparse.csr_array:
    """A matrix that picks these rows out of the support."""
    place = np.searchsorted(support, rows)
    shape = (len(rows), len(support))
    return sparse.csr_array((np.ones(len(rows)), (np.arange(len(rows)), place)), shape=shape)


# ------------------------------------------------------------------ convex loss, Gaussian kernel


def beside_lbfgs(case: Case, form: str) -> Row:
    gamma = 1.0 / (case.X.shape[1] * case.X.var())
    model = PairwiseLogisticRegression(gamma=gamma, alpha=LAM, penalty=1.0)
    peer = Descent(case, gamma)
    model.fit(case.X[:300], case.y[:300])  # compiled loops are loaded
    ours = min(
        clock(lambda: model.fit(case.X, case.labels, constraints=case.known)) for _ in range(2)
    )
    theirs = clock(lambda: peer.run(form))
    return {
        "case": f"convex loss, {case.name}",
        "peer": f"L-BFGS in {form}",
        "ours": ours,
        "theirs": theirs,
        "ratio": ours / theirs,
        "limit": 0.1,
        "our steps": model.n_iter_,
        "their iterations": peer.n_iter,
        "our gradient": peer.gradient_of(model),
        "their gradient": peer.norm,
        "our objective": model.objective_,
        "their objective": peer.objective,
    }


class Descent:
    """L-BFGS on the convex objective."""

    def __init__(self, case: Case, gamma: float) -> None:
        self.case, self.gamma = case, gamma
        self.support, self.B, self.signs = case.design()
        self.n_labels = len(self.signs)

    def loss(self, F: np.ndarray) -> tuple[float, np.ndarray]:
        """Loss at the values of the named rows, and its gradient."""
        z = self.B @ F
        label, pair = self.signs * z[: self.n_labels], z[self.n_labels :]
        value = np.logaddexp(0, -label).sum()
        value += (np.logaddexp(0, pair) + np.logaddexp(0, -pair)).sum()
        slope = np.concatenate([-self.signs * expit(-label), expit(pair) - expit(-pair)])
        return float(value), self.B.T @ slope

    def run(self, form: str) -> None:
        K = rbf_kernel(self.case.X[self.support], gamma=self.gamma)
        if form == "β":
            K[np.diag_indices_from(K)] += 1e-10
            self.minimize(cholesky(K, lower=True), lambda phi, b: phi @ b, lambda phi, g: phi.T @ g)
            return
        self.minimize(K, lambda K, a: K @ a, lambda K, g: K @ g, kernel=True)

    def minimize(
        self,
        matrix: np.ndarray,
        values: Callable[..., Any],
        back: Callable[..., Any],
        *,
        kernel: bool = False,
    ) -> None:
        self.norm, self.n_iter, self.objective = np.inf, 0, np.inf

        class Reached(Exception):
            pass

        def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
            F = values(matrix, x)
            value, slope = self.loss(F)
            gradient = back(matrix, slope) + 2 * LAM * (F if kernel else x)
            total = value + LAM * float(x @ (F if kernel else x))
            # In the space of the kernel: g'Kg for coefficients g, and the plain norm in β.
            norm = (slope + 2 * LAM * x) @ gradient if kernel else gradient @ gradient
            self.norm, self.objective = float(np.sqrt(max(norm, 0.0))), total
            if self.norm <= TARGET:
                raise Reached
            return total, gradient

        def count(_: np.ndarray) -> None:
            self.n_iter += 1

        options = {"maxiter": 1000, "maxfun": 10**6, "ftol": 0.0, "gtol": 0.0, "maxcor": 20}
        try:
            optimize.minimize(
                objective,
                np.zeros(len(matrix)),
                jac=True,
                method="L-BFGS-B",
                callback=count,
                options=options,
            )
        except Reached:
            return

    def gradient_of(self, model: PairwiseLogisticRegression) -> float:
        K = rbf_kernel(self.case.X[self.support], gamma=self.gamma)
        alpha = model.dual_coef_[0]
        residual = self.loss(K @ alpha)[1] + 2 * LAM * alpha
        return float(np.sqrt(max(residual @ K @ residual, 0.0)))


# ------------------------------------------------------------------ many rows


def beside_pseudo_examples(case: Case, kind: str) -> Row:
    X: Any = case.X
    if kind == "sparse":
        X = sparse.csr_matrix(np.where(np.abs(X) < 2, 0.0, X))
    support, B, signs = case.design()
    n = len(signs)
    model = PairwiseLogisticRegression(kernel="linear", alpha=LAM, penalty=1.0)
    peer = LogisticRegression(C=1 / (2 * LAM), fit_intercept=False, tol=1e-10, max_iter=10_000)
    if kind == "dense":
        peer.set_params(solver="newton-cholesky")

    def theirs() -> None:
        terms = B @ X[support]
        stack = sparse.vstack if kind == "sparse" else np.vstack
        rows = stack([terms, terms[n:]])
        y = np.concatenate([signs > 0, np.repeat([True, False], terms.shape[0] - n)])
        peer.fit(rows, y)
        peer.decision_function(X)

    row = compare(
        f"linear kernel, {kind}, {case.name}",
        lambda: model.fit(X, case.labels, constraints=case.known),
        theirs,
        peer=f"scikit-learn, {peer.solver}",
        repeats=2,
        limit=3.0,
    )
    return {**row, "largest difference": float(np.abs(model.coef_ - peer.coef_).max())}


def landmarks(case: Case) -> Row:
    model = PairwiseLogisticRegression(n_components=300, random_state=0)
    fit = clock(lambda: model.fit(case.X, case.labels, constraints=case.known))
    predict = clock(lambda: model.predict(case.X))
    return {
        "case": f"300 landmarks, {case.name}",
        "fit": fit,
        "predict": predict,
        "accuracy": float(np.mean(model.transduction_ == case.y)),
    }


# ------------------------------------------------------------------ support vector machine


def beside_box(case: Case) -> Row:
    gamma = 1.0 / (case.X.shape[1] * case.X.var())
    support, B, signs = case.design()
    n, mu = len(signs), 0.3
    box = [(min(s, 0), max(s, 0)) for s in signs] + [(-mu, mu)] * (B.shape[0] - n)
    wanted = np.concatenate([signs, np.zeros(B.shape[0] - n)])
    model = PairwiseSVC(gamma=gamma, alpha=LAM, penalty=mu)
    end: dict[str, float] = {}

    def ours() -> None:
        model.fit(case.X, case.labels, constraints=case.known)

    def theirs() -> None:
        K = rbf_kernel(case.X[support], gamma=gamma)
        Q = B @ (B @ K).T / (2 * LAM)
        end.update(gap=np.inf, iterations=0)

        def objective(t: np.ndarray) -> tuple[float, np.ndarray]:
            z = Q @ t
            return 0.5 * t @ z - wanted @ t, z - wanted

        def look(t: np.ndarray) -> None:
            end["iterations"] += 1
            if end["iterations"] % 20:
                return
            slack = wanted - Q @ t
            low, high = np.array(box).T
            primal = np.maximum(low * slack, high * slack).sum() + 0.5 * t @ (Q @ t)
            end["gap"] = primal - (wanted @ t - 0.5 * t @ (Q @ t))
            if end["gap"] <= 1e-8 * primal:
                raise StopIteration

        optimize.minimize(
            objective,
            np.zeros(len(wanted)),
            jac=True,
            method="L-BFGS-B",
            bounds=box,
            callback=look,
            options={"maxiter": 20_000, "maxfun": 10**6, "ftol": 0.0, "gtol": 0.0},
        )

    row = compare(f"SVM, {case.name}", ours, theirs, peer="L-BFGS-B", repeats=1, limit=0.5)
    return {
        **row,
        "our steps": model.n_iter_,
        "their iterations": end["iterations"],
        "our gap": model.gap_,
        "their gap": end["gap"],
    }
