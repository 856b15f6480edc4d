"""TClus and the domination matrix in plain Python, as the book tells them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

PHI = {
    "sqrt": math.sqrt,
    "log1p": math.log1p,
    "binary": lambda count: 1.0,
    "identity": lambda count: count,
}
Vector = dict[int, float]


def vectors(X: np.ndarray, phi: Any = lambda count: count) -> list[Vector]:
    return [{j: phi(float(v)) for j, v in enumerate(row) if v > 0} for row in X]


def cosine(one: Vector, other: Vector) -> float:
    product = sum(value * other.get(word, 0.0) for word, value in one.items())
    lengths = [math.sqrt(sum(v * v for v in side.values())) for side in (one, other)]
    return product / (lengths[0] * lengths[1]) if all(lengths) else 0.0


def add(parts: list[Vector]) -> Vector:
    total: Vector = {}
    for part in parts:
        for word, value in part.items():
            total[word] = total.get(word, 0.0) + value
    return total


def heaviest(seed: Vector, n_words: int) -> Vector:
    order = sorted(seed, key=lambda word: (-seed[word], word))
    return {word: seed[word] for word in order[:n_words]}


def nearest(document: Vector, seeds: list[Vector]) -> tuple[int, float]:
    best, largest = -1, 0.0
    for number, seed in enumerate(seeds):
        value = cosine(seed, document)
        if value > largest + 1e-12:
            best, largest = number, value
    return best, largest


def components(seeds: list[Vector], threshold: float) -> list[list[int]]:
    """Single linkage: seeds that a chain of cosines above the threshold joins."""
    found: list[list[int]] = []
    for number, seed in enumerate(seeds):
        near = [g for g in found if any(cosine(seeds[i], seed) > threshold for i in g)]
        joined = sorted([number, *(i for g in near for i in g)])
        found = [g for g in found if g not in near] + [joined]
    return sorted(found)


def categories(
    X: np.ndarray,
    y: np.ndarray,
    *,
    n_words: int,
    n_words_final: int,
    shrink: float,
    merge_threshold: float,
    min_documents: int,
    outlier_threshold: float,
    damping: str,
    damp_documents: bool,
) -> tuple[list[int], list[Vector], list[list[int]]]:
    """Label of every document, seeds, and the classes that each comes from."""
    damped = vectors(X, PHI[damping])
    documents = damped if damp_documents else vectors(X)
    classes = sorted(set(y[y >= 0].tolist()))
    seeds = [add([damped[i] for i in np.flatnonzero(y == c)]) for c in classes]
    origin = [[c] for c in classes]
    active = set(range(len(X)))
    words = n_words
    while True:
        members: list[list[int]] = [[] for _ in seeds]
        for i in sorted(active):
            best, value = nearest(documents[i], seeds)
            if best < 0:
                continue
            if value < outlier_threshold:
                active.discard(i)
            else:
                members[best].append(i)
        before = seeds
        seeds = [heaviest(add([damped[i] for i in rows]), words) for rows in members]
        compared = [seed or heaviest(old, words) for seed, old in zip(seeds, before, strict=True)]
        groups = components(compared, merge_threshold)
        counts = [sum(len(members[i]) for i in group) for group in groups]
        seeds = [heaviest(add([seeds[i] for i in group]), words) for group in groups]
        origin = [sorted(c for i in group for c in origin[i]) for group in groups]
        kept = [g for g, n in enumerate(counts) if n >= max(min_documents, 1)]
        seeds, origin = [seeds[g] for g in kept], [origin[g] for g in kept]
        if words <= n_words_final:
            break
        words = max(min(round(words * shrink), words - 1), n_words_final)
    found = [nearest(document, seeds) for document in documents]
    labels = [
        best if i in active and value >= outlier_threshold else -1
        for i, (best, value) in enumerate(found)
    ]
    return labels, seeds, origin


def without(one: Vector, other: Vector) -> Vector:
    return {word: value for word, value in one.items() if word not in other}


def ranked(document: Vector, seeds: list[Vector], most: int, tau: float) -> list[int]:
    """Candidates in the order of the domination matrix."""
    near = [(cosine(seed, document), h) for h, seed in enumerate(seeds)]
    near = sorted([pair for pair in near if pair[0] > 0], key=lambda p: (-p[0], p[1]))[:most]

    def dominates(a: int, b: int) -> bool:
        (mine, g), (its, h) = near[a], near[b]
        if mine - its >= tau:
            return True
        own = cosine(without(seeds[g], seeds[h]), document)
        return abs(mine - its) < tau and own > cosine(without(seeds[h], seeds[g]), document)

    n = len(near)
    wins = [sum(dominates(a, b) for b in range(n) if a != b) for a in range(n)]
    return [near[a][1] for a in sorted(range(n), key=lambda a: (-wins[a], a))]
