"""RCA, MMC and ITML beside metric-learn 0.7.0, which lives in an environment of its own.

20,000 rows of 64 features in ten classes that overlap, 5,000 must-links and 5,000 cannot-links.
The same rows, pairs and bounds on both sides, one thread each, fits by turns. Both matrices are
judged by the same function:

- RCA: the largest difference of the matrices, as a share of the largest entry. metric-learn is
  given chunklets, we find them.
- MMC: ``Σ_CL ‖v‖_A`` at ``Σ_ML ‖v‖²_A = 1``, to be maximised, for both forms. metric-learn runs
  as many iterations as it is allowed; ``shrinkage=0`` gives us the published problem.
- ITML: ``LogDet(A, I) + Σ LogDet(ξ, ξ₀)`` at the best ``ξ`` for the matrix, to be minimised, and
  the share of the pairs within their bounds. metric-learn projects on one pair after the other,
  for as many rounds as it is allowed; ours goes to the optimum.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from benchmarks.harness import HERE, Row, clock
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sidelight import Constraints
from sidelight.metric import ITML, MMC, RCA

ROOT = HERE.parent
ENVIRONMENT = ROOT / ".venv-metric-learn"
PINS = ROOT / "requirements" / "metric-learn.txt"
PEER = "metric-learn 0.7.0"
LIMIT = 1 / 5


def run(quick: bool) -> list[Row]:
    n, d, n_pairs = (4000, 16, 2000) if quick else (20_000, 64, 10_000)
    rows = []
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of rounds that we limit
        case = Case(Path(folder), n, d, n_pairs)
        with Peer(case) as peer:
            rows.append(case.beside(peer, RCA(shrinkage=0), "RCA", {}, case.rca, repeats=3))
            for diagonal in (True, False):
                name = "MMC, diagonal" if diagonal else "MMC, full"
                ours, theirs = (
                    MMC(shape="diagonal" if diagonal else "full", shrinkage=0),
                    {"diagonal": diagonal},
                )
                repeats = 3 if diagonal or quick else 1
                rows.append(case.beside(peer, ours, name, theirs, case.mmc, repeats=repeats))
            # Ours goes to the optimum; theirs slows down before it, the more so with more rounds.
            ours, theirs = ITML(bounds=tuple(case.bounds)), {"max_iter": 1000, "tol": 1e-3}
            name = "ITML, beside at most 1000 rounds"
            rows.append(case.beside(peer, ours, name, theirs, case.itml, repeats=1))
    return rows


# ------------------------------------------------------------------ the work


class Case:
    """Rows and pairs, and what a matrix is worth on them."""

    def __init__(self, folder: Path, n: int, d: int, n_pairs: int) -> None:
        rng = np.random.default_rng(0)
        y = rng.integers(10, size=n)
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        noise = rng.normal(size=(n, d)) * np.geomspace(0.5, 3.0, d)
        self.X = rng.normal(size=(10, d))[y] + noise @ turn.T
        drawn = rng.integers(n, size=(20 * n_pairs, 2))
        drawn = drawn[drawn[:, 0] != drawn[:, 1]]
        same = y[drawn[:, 0]] == y[drawn[:, 1]]
        pairs = [np.unique(np.sort(drawn[kind], axis=1), axis=0) for kind in (same, ~same)]
        pairs = [rng.permutation(found)[: n_pairs // 2] for found in pairs]
        self.known = Constraints(*pairs, n_samples=n)
        together, apart = self.known.must_link, self.known.cannot_link
        self.near = self.X[together[:, 0]] - self.X[together[:, 1]]
        self.far = self.X[apart[:, 0]] - self.X[apart[:, 1]]
        sample = self.X[drawn[:10_000, 0]] - self.X[drawn[:10_000, 1]]
        self.bounds = np.percentile((sample**2).sum(axis=1), [5, 95])
        self.title = f"n={n:,}, d={d}, {n_pairs:,} pairs"
        self.data, self.answer = folder / "data.npz", folder / "matrix.npy"
        np.savez(
            self.data,
            X=self.X,
            pairs=np.concatenate([together, apart]),
            sign=np.repeat([1, -1], [len(together), len(apart)]),
            chunklet=chunklets(self.known),
            bounds=self.bounds,
        )

    def beside(
        self,
        peer: Peer,
        model: Any,
        name: str,
        params: dict[str, Any],
        judge: Callable[[np.ndarray, np.ndarray], Row],
        repeats: int,
    ) -> Row:
        model.fit(self.X, constraints=self.known)  # compile first
        ours, theirs = [], []
        for _ in range(repeats):
            # A new object, so that nothing known about the old one is used again.
            known = Constraints(self.known.must_link, self.known.cannot_link, n_samples=len(self.X))
            ours.append(clock(lambda: model.fit(self.X, constraints=known)))  # noqa: B023
            answer = peer.fit(type(model).__name__, params)
            theirs.append(answer["seconds"])
        iterations = f"{getattr(model, 'n_iter_', '–')} / {answer['n_iter'] or '–'}"
        return {
            "case": f"{name}, {self.title}",
            "peer": PEER,
            "ours": min(ours),
            "theirs": min(theirs),
            "ratio": min(ours) / min(theirs),
            "median ratio": median(ours) / median(theirs),
            "limit": LIMIT,
            "iterations, ours / theirs": iterations,
            **judge(model.get_mahalanobis_matrix(), np.load(self.answer)),
        }

    def rca(self, ours: np.ndarray, theirs: np.ndarray) -> Row:
        return {"largest difference": float(np.abs(ours - theirs).max() / np.abs(ours).max())}

    def mmc(self, ours: np.ndarray, theirs: np.ndarray) -> Row:
        def value(A: np.ndarray) -> float:
            budget = float(np.sum(squares(self.near, A)))
            return float(np.sqrt(squares(self.far, A) / budget).sum())

        return {"to be large, ours": value(ours), "theirs ": value(theirs)}

    def itml(self, ours: np.ndarray, theirs: np.ndarray) -> Row:
        def value(A: np.ndarray) -> float:
            slack = np.concatenate(
                [
                    np.maximum(squares(self.near, A) / self.bounds[0], 1.0),
                    np.minimum(squares(self.far, A) / self.bounds[1], 1.0),
                ]
            )
            log_det = np.trace(A) - np.linalg.slogdet(A)[1] - len(A)
            return float(log_det + np.sum(slack - np.log(slack) - 1.0))

        def met(A: np.ndarray) -> str:
            near = np.mean(squares(self.near, A) <= self.bounds[0] * 1.001)
            far = np.mean(squares(self.far, A) >= self.bounds[1] / 1.001)
            return f"{(near + far) / 2:.3f}"

        return {
            "to be small, ours": value(ours),
            "theirs ": value(theirs),
            "bounds met, ours / theirs": f"{met(ours)} / {met(theirs)}",
        }


def squares(gaps: np.ndarray, A: np.ndarray) -> np.ndarray:
    return np.maximum(np.einsum("nd,nd->n", gaps @ A, gaps), 0.0)


def chunklets(known: Constraints) -> np.ndarray:
    """Numbers from 0 for rows that belong together with others, -1 for all the rest."""
    component = known.components()
    shared = np.bincount(component)[component] > 1
    number = np.full(len(component), -1)
    number[shared] = np.unique(component[shared], return_inverse=True)[1]
    return number


# ------------------------------------------------------------------ the other side


class Peer:
    """A process of metric-learn that holds the same data."""

    def __init__(self, case: Case) -> None:
        command = [str(environment()), str(HERE / "metric" / "peer_metric_learn.py")]
        self.process = subprocess.Popen(
            [*command, str(case.data), str(case.answer)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def fit(self, learner: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"learner": learner, "params": params}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{PEER} failed in {learner}; see its message above.")
        return dict(json.loads(answer))

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def environment() -> Path:
    """The Python of the peer's environment, which is made the first time."""
    python = ENVIRONMENT / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "-r", str(PINS)]
        subprocess.run(install, check=True)
    return python
