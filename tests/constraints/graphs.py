"""Small conflict graphs, and what brute force says about them."""

from __future__ import annotations

import itertools

import numpy as np


def as_edges(pairs) -> np.ndarray:
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


def random_graph(n: int, n_edges: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    possible = np.array(list(itertools.combinations(range(n), 2))).reshape(-1, 2)
    return possible[np.sort(rng.permutation(len(possible))[:n_edges])]


def random_tree(n: int, rng: np.random.Generator) -> np.ndarray:
    return as_edges((int(rng.integers(0, i)), i) for i in range(1, n))


def cycle(n: int) -> np.ndarray:
    return as_edges(tuple(sorted((i, (i + 1) % n))) for i in range(n))


def complete(n: int) -> np.ndarray:
    return as_edges(itertools.combinations(range(n), 2))


def all_labelings(n: int, k: int) -> np.ndarray:
    return np.indices((k,) * n).reshape(n, -1).T if n else np.empty((1, 0), np.int64)


def is_proper(labels: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Whether the two ends of every edge differ; for one labeling or many."""
    return np.all(labels[..., edges[:, 0]] != labels[..., edges[:, 1]], axis=-1)


def chromatic_number(n: int, edges: np.ndarray) -> int:
    def colorable(k: int) -> bool:
        # Colors are interchangeable: the first node may as well have the first one.
        rest = all_labelings(n - 1, k)
        return bool(is_proper(np.column_stack([np.zeros(len(rest), int), rest]), edges).any())

    return next(k for k in range(1, n + 1) if colorable(k))
