"""Maps of Bernoulli vectors: words by the documents that hold them, pixels by the images.

``python -m experiments.mixture.som_words [--runs 10] [--quick]``
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.datasets import load_digits

from experiments.harness import Section, Verdict, main, mean_and_error
from sidelight.mixture import KohonenMap, SelfOrganizingMixture

TITLE = "Maps of words"
VERDICTS = {
    "Words of topics on a ring": Verdict(
        "cannot be had",
        "the source shows a picture of 100 words of newsgroups; of made words the neighbors are "
        "known, and the map finds them",
    ),
    "A word of two topics": Verdict(
        "agrees",
        'made words; the source shows "win" between computers and sports',
    ),
    "Pixels of digits": Verdict(
        "cannot be had",
        "a stand-in: pixels next to each other land at about half the mean distance, but the far "
        "order is that of how often a pixel is dark",
    ),
}

GRID = (5, 5)
N_WORDS, N_TOPICS = 100, 5


def run(runs: int, quick: bool) -> list[Section]:
    runs = min(runs, 3 if quick else 10)
    n_documents = 1000 if quick else 5000
    return [ring_table(runs, n_documents), ambiguous_table(runs, n_documents), pixels_table()]


def documents(places: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Words by documents; a document is near one of five topics on a ring, words near theirs."""
    topics = 2 * np.pi * rng.integers(0, N_TOPICS, n) / N_TOPICS + 0.3 * rng.normal(size=n)
    near = np.exp(3.0 * (np.cos(places[:, None] - topics) - 1.0))
    return (rng.uniform(size=near.shape) < 0.3 * near).astype(float)


def fitted(rows: np.ndarray) -> SelfOrganizingMixture:
    return SelfOrganizingMixture(GRID, component="bernoulli", random_state=0).fit(rows)


def around(angles: np.ndarray) -> np.ndarray:
    """Distances around the ring between all pairs."""
    return pdist(np.column_stack([np.cos(angles), np.sin(angles)]))


def ring_table(runs: int, n_documents: int) -> Section:
    figures: dict[str, list[float]] = {"SOMM": [], "SOMM, 2 bits": [], "Kohonen's map": []}
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        places = rng.uniform(0, 2 * np.pi, N_WORDS)
        rows = documents(places, n_documents, rng)
        som = fitted(rows)
        known = around(places)
        figures["SOMM"].append(rank(known, som.embedding_))
        figures["SOMM, 2 bits"].append(rank(known, som.transform_for_display(rows)))
        figures["Kohonen's map"].append(rank(known, KohonenMap(GRID).fit(rows).embedding_))
    rows = [[name, mean_and_error(values)] for name, values in figures.items()]
    text = (
        f"{N_WORDS} words, each at a place on a ring of {N_TOPICS} topics, in {n_documents:,} "
        f"documents near one topic each; a row is a word. {GRID[0]} x {GRID[1]} nodes of equal "
        "weight. Rank correlation between the distances of words on the ring and on the map, mean "
        f"± standard error of {runs} sets. With tempered posteriors words no longer pile up on the "
        "nodes."
    )
    return Section("Words of topics on a ring", text, ("map", "rank correlation"), rows)


def rank(known: np.ndarray, places: np.ndarray) -> float:
    return float(spearmanr(known, pdist(places)).statistic)


def ambiguous_table(runs: int, n_documents: int) -> Section:
    """A word of two topics lies between their words."""
    between = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        topics = np.repeat(2 * np.pi * np.arange(N_TOPICS) / N_TOPICS, 20)
        rows = documents(topics, n_documents, rng)
        both = np.maximum(*documents(topics[[0, 40]], n_documents, rng))  # of topics 0 and 2
        rows = np.vstack([rows, both])
        placed = fitted(rows).transform_for_display(rows)
        centers = placed[:100].reshape(N_TOPICS, 20, 2).mean(axis=1)
        distances = np.linalg.norm(centers - placed[100], axis=1)
        apart = float(np.linalg.norm(centers[0] - centers[2]))
        middle = float(np.linalg.norm(placed[100] - (centers[0] + centers[2]) / 2))
        between.append((middle / apart, *distances[[0, 2]] / apart))
    found = np.array(between)
    rows = [
        [name, mean_and_error(column, digits=2)]
        for name, column in zip(
            ("to the middle of its two topics", "to the first topic", "to the second topic"),
            found.T,
            strict=True,
        )
    ]
    text = (
        "One more word occurs in the documents of two of the topics. Distance on the map, in units "
        f"of the distance between the words of the two topics, mean ± standard error of {runs} "
        "sets."
    )
    return Section("A word of two topics", text, ("distance", "ours"), rows)


def pixels_table() -> Section:
    images = (load_digits().data > 7).astype(float)
    used = images.any(axis=0)
    pixels = images.T[used]
    places = np.column_stack(np.divmod(np.flatnonzero(used), 8))
    som = fitted(pixels)
    known = pdist(places)
    near = known <= 1.0
    placed = som.transform_for_display(pixels)
    apart = pdist(placed)
    rows = [
        ["SOMM, 2 bits", f"{spearmanr(known, apart).statistic:.3f}", f"{share(apart, near):.2f}"],
        [
            "Kohonen's map",
            f"{spearmanr(known, pdist(KohonenMap(GRID).fit(pixels).embedding_)).statistic:.3f}",
            f"{share(pdist(KohonenMap(GRID).fit(pixels).embedding_), near):.2f}",
        ],
    ]
    text = (
        f"{len(pixels)} pixels of {images.shape[1]} that are ever dark, as rows of yes or no in "
        f"{len(images):,} images of digits. Rank correlation of distances between pixels in the "
        "image and on the map, and mean distance of neighboring pixels on the map as a share of "
        "that of all pairs."
    )
    header = ("map", "rank correlation", "distance of neighbors / of all")
    return Section("Pixels of digits", text, header, rows)


def share(apart: np.ndarray, near: np.ndarray) -> float:
    return float(apart[near].mean() / apart.mean())


if __name__ == "__main__":
    main(Path(__file__).stem)
