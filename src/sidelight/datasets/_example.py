"""The bundled example: an orchard whose apples sort themselves by size, not by variety.

240 apples of three varieties grew in two orchards. Water makes the apples of the river orchard
much larger than those of the hill orchard, so that three clusters by measurements alone are
clusters of size. A taster compared some apples: the links say which were the same variety and
which were not, and with them the varieties come out.

The two files in ``data/`` are what :func:`orchard_csv` and :func:`links_csv` return; a test holds
them to it. Everything is made up.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sidelight.constraints import Constraints
from sidelight.datasets._dataset import Dataset

SEED = 17
APPLES_PER_GROUP = 40
ORCHARDS = ("H", "R")  # hill, river: the first letter of an apple's id
COLUMNS = ("diameter_mm", "height_mm", "core_mm", "sugar_g_per_l", "firmness_n", "hue_deg")
SIZE = {"H": (66.0, 58.0, 24.0), "R": (85.0, 75.0, 34.0)}
TASTE = {
    "Amber": (135.0, 65.0, 51.0),
    "Crimson": (117.0, 82.0, 34.0),
    "Russet": (126.0, 73.5, 42.5),
}
SPREAD = (3.0, 3.0, 2.0, 2.8, 2.8, 2.8)

# One reference apple of each variety was tasted against so many of each orchard ...
SAME_PER_ORCHARD = 4
# ... and so many pairs of tasted apples turned out to differ.
N_DIFFERENT = 16
UNSURE = 0.5  # weight of a comparison that the taster was less sure of

Apple = tuple[str, npt.NDArray[np.float64], str]


def make_orchard() -> list[Apple]:
    """Grow the apples: id, measurements and variety of each, in picking order."""
    rng = np.random.RandomState(SEED)
    kinds = [(o, v) for o in ORCHARDS for v in TASTE for _ in range(APPLES_PER_GROUP)]
    number = dict.fromkeys(ORCHARDS, 0)
    apples: list[Apple] = []
    for pick in rng.permutation(len(kinds)):
        orchard, variety = kinds[pick]
        number[orchard] += 1
        mean = np.array(SIZE[orchard] + TASTE[variety])
        measured = np.round(mean + np.array(SPREAD) * rng.standard_normal(len(COLUMNS)), 1)
        apples.append((f"{orchard}{number[orchard]:03d}", measured, variety))
    return apples


def make_tasting(apples: list[Apple]) -> list[tuple[str, str, str, float]]:
    """Compare apples: ``(i, j, kind, weight)`` by their ids."""
    rng = np.random.RandomState(SEED + 1)
    links: list[tuple[str, str, str, float]] = []
    tasted: dict[str, list[str]] = {}
    for variety in TASTE:
        own = [[a for a, _, v in apples if v == variety and a[0] == o] for o in ORCHARDS]
        chosen = [list(rng.choice(ids, SAME_PER_ORCHARD + 1, replace=False)) for ids in own]
        reference, *others = [*chosen[0], *chosen[1][:SAME_PER_ORCHARD]]
        tasted[variety] = [str(apple) for apple in (reference, *others)]
        links += [(str(reference), str(other), "must-link", 1.0) for other in others]
    n_same = len(links)
    while len(links) < n_same + N_DIFFERENT:
        one, other = rng.choice(list(tasted), 2, replace=False)
        pair = (str(rng.choice(tasted[one])), str(rng.choice(tasted[other])))
        if all({*pair} != {i, j} for i, j, _, _ in links):
            links.append((*pair, "cannot-link", UNSURE if rng.uniform() < 0.2 else 1.0))
    return links


def orchard_csv() -> str:
    """Text of the bundled table."""
    lines = [",".join(("id", *COLUMNS, "variety"))]
    for apple, measured, variety in make_orchard():
        lines.append(",".join((apple, *(f"{value:.1f}" for value in measured), variety)))
    return "\n".join(lines) + "\n"


def links_csv() -> str:
    """Text of the bundled links."""
    links = make_tasting(make_orchard())
    return "\n".join(["i,j,kind,weight", *(f"{i},{j},{k},{w:g}" for i, j, k, w in links)]) + "\n"


def example_paths() -> tuple[Path, Path]:
    """Where the bundled table and its links are.

    Returns
    -------
    data, links : Path
        ``orchard.csv`` (columns ``id``, six measurements, ``variety``) and ``orchard-links.csv``
        (columns ``i``, ``j``, ``kind``, ``weight``, in the ids of the table).

    Examples
    --------
    >>> from sidelight.datasets import example_paths
    >>> [path.name for path in example_paths()]
    ['orchard.csv', 'orchard-links.csv']
    """
    folder = files("sidelight.datasets") / "data"
    return Path(str(folder / "orchard.csv")), Path(str(folder / "orchard-links.csv"))


def load_example() -> tuple[Dataset, Constraints]:
    """Load the bundled example: 240 apples of three varieties, and what a taster knows of them.

    The measurements split the apples by size, that is by orchard; the varieties only come out
    with the links.

    Returns
    -------
    dataset : Dataset
        Measurements, variety of each apple, and the ids of the apples.
    constraints : Constraints
        24 must-links and 16 cannot-links in the ids of the apples.

    Examples
    --------
    >>> from sidelight.datasets import load_example
    >>> orchard, tasting = load_example()
    >>> orchard
    Dataset(240 rows, 6 features, 3 classes: Apples from two orchards)
    >>> len(tasting.must_link), len(tasting.cannot_link)
    (24, 16)
    """
    table, links = example_paths()
    with table.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    ids = tuple(row[0] for row in rows)
    names = tuple(TASTE)
    dataset = Dataset(
        data=np.array([row[1:-1] for row in rows], dtype=np.float64),
        target=np.array([names.index(row[-1]) for row in rows], dtype=np.int64),
        feature_names=tuple(header[1:-1]),
        target_names=names,
        description="Apples from two orchards\nMade up for this package. The first letter of an "
        "apple's id is its orchard (H hill, R river).",
        ids=ids,
    )
    return dataset, Constraints.read(links, ids=ids)
