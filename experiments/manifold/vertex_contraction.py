"""Vertex contraction: rows that are not kept still improve the geodesics (Law 2006, 3.3.3).

``python -m experiments.manifold.vertex_contraction [--runs 3] [--quick]``
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from experiments.harness import Section, Verdict, main, mean_and_error
from sidelight.datasets import make_hemisphere
from sidelight.exceptions import EmbeddingWarning
from sidelight.manifold import IncrementalIsomap

TITLE = "Vertex contraction"
VERDICTS = {
    "Error of geodesics from landmarks, half of a 2-sphere": Verdict(
        "agrees", "falls to the published floor of about 0.03 and below it"
    ),
    "Error of geodesics from landmarks, half of a 3-sphere": Verdict(
        "differs",
        "the other reading of the source's 3-dimensional hemisphere: the order of the curves is "
        "the same, the floor is higher",
    ),
}

LANDMARKS, NEIGHBORS = 40, 6
RULES = {
    "contracted, crowded": {"contraction": "crowded"},
    "contracted, new": {"contraction": "new"},
    "all kept": {},
}


def run(runs: int, quick: bool) -> list[Section]:
    warnings.simplefilter("ignore", EmbeddingWarning)
    kept, seen = (300, 1500) if quick else (1000, 10_000)
    runs = min(runs, 1 if quick else 3)
    sections = []
    for dimension in (2, 3):
        curves = {
            name: [
                follow(dimension, kept, seen, {**rule, "max_points": kept} if rule else {}, seed)
                for seed in range(runs)
            ]
            for name, rule in RULES.items()
        }
        sections.append(section(dimension, kept, curves))
    return sections


def follow(
    dimension: int, kept: int, seen: int, rule: dict[str, object], seed: int
) -> dict[int, float]:
    """RMSE of the geodesics from the landmarks, by the number of rows seen."""
    X = make_hemisphere(seen, dimension=dimension, ambient=10, random_state=seed).data
    model = IncrementalIsomap(
        n_neighbors=NEIGHBORS, n_landmarks=LANDMARKS, random_state=seed, **rule
    ).fit(X[:kept])
    found = {kept: error_of(model, X)}
    step = max((seen - kept) // 9, 1)
    for first in range(kept, seen, 100):
        model.partial_fit(X[first : first + 100])
        now = first + 100
        if (now - kept) % step < 100 or now == seen:
            found[now] = error_of(model, X)
    return found


def error_of(model: IncrementalIsomap, X: np.ndarray) -> float:
    inner = np.clip(X[model.landmarks_] @ X[model.row_ids_].T, -1.0, 1.0)
    return float(np.sqrt(np.mean((model.geodesics() - np.arccos(inner)) ** 2)))


def section(dimension: int, kept: int, curves: dict[str, list[dict[int, float]]]) -> Section:
    seen = list(next(iter(curves.values()))[0])
    rows = [
        (
            f"{n:,}",
            "about 0.03" if n == seen[-1] else "",
            *(mean_and_error([one[n] for one in found]) for found in curves.values()),
        )
        for n in seen
    ]
    return Section(
        f"Error of geodesics from landmarks, half of a {dimension}-sphere",
        f"Root mean square error against arccos(x·y), {LANDMARKS} landmarks, {NEIGHBORS} "
        f"neighbors, {kept:,} rows in memory (the last column keeps all). The published figure is "
        "the floor of the contracted curve.",
        ("rows seen", "published", *curves),
        rows,
        lambda path: draw(curves, path),
        f"vertex_contraction_{dimension}",
    )


def draw(curves: dict[str, list[dict[int, float]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for name, found in curves.items():
        axis.plot(
            list(found[0]), np.mean([list(one.values()) for one in found], axis=0), label=name
        )
    axis.axhline(0.03, color="0.5", ls="--", lw=1, label="published floor")
    axis.set(xlabel="rows seen", ylabel="RMSE of geodesics", ylim=(0, None))
    axis.legend()
    figure.savefig(path, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    main("vertex_contraction")
