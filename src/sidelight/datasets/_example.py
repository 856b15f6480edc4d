"""The bundled example: apples that sort themselves by orchard, not by variety.

240 apples of three varieties grew in two orchards, on the hill and by the river. Water makes the
apples of the river larger. Three clusters by measurements alone find the one variety that is
unlike the others, and then the two orchards. A taster compared some apples: the links say which
were the same variety and which were not, and with them the varieties come out.

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

SEED = 19
COLUMNS = ("diameter_mm", "height_mm", "sugar_g_per_l", "acid_meq_per_l", "firmness_n", "hue_deg")
# What the orchard decides (hill or river, the first letter of an apple's id) ...
SIZE = {"H": (68.0, 60.0), "R": (79.5, 71.5)}
# ... what the variety decides ...
TASTE = {
    "Amber": (135.0, 70.0, 65.0, 51.0),
    "Crimson": (119.0, 86.0, 81.0, 35.0),
    "Russet": (127.5, 77.5, 72.5, 43.5),
}
SPREAD = (2.8, 2.8, 3.0, 3.0, 3.0, 3.0)
# ... and how many of it there are in each orchard.
APPLES = {"Amber": 50, "Crimson": 20, "Russet": 50}

# Apples of each variety that were tasted, from the hill and from the river: the first one against
# all others ...
TASTED = {"Amber": (7, 7), "Crimson": (2, 2), "Russet": (7, 7)}
# ... and number of pairs of different varieties.
N_DIFFERENT = 13
UNSURE = 0.5  # weight of a comparison that the taster was less sure of

Apple = tuple[str, npt.NDArray[np.float64], str]


def make_orchard() -> list[Apple]:
    """Grow the apples: id, measurements and variety of each, in picking order."""
    rng = np.random.RandomState(SEED)
    kinds = [(o, variety) for o in SIZE for variety in TASTE for _ in range(APPLES[variety])]
    number = dict.fromkeys(SIZE, 0)
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
        own = [[name for name, _, v in apples if v == variety and name[0] == o] for o in SIZE]
        chosen = [
            rng.choice(names, n, replace=False)
            for names, n in zip(own, TASTED[variety], strict=True)
        ]
        reference, *others = tasted[variety] = np.concatenate(chosen).tolist()
        links += [(reference, other, "must-link", 1.0) for other in others]
    n_same = len(links)
    while len(links) < n_same + N_DIFFERENT:
        one, other = rng.choice(list(TASTE), 2, replace=False)
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
    """Load the bundled example: 240 apples of three varieties, with pairs judged by a taster.

    Three clusters by measurements alone are one variety and the two orchards in which the apples
    grew; the varieties only come out with the links.

    Returns
    -------
    dataset : Dataset
        Measurements, variety of each apple, and the ids of the apples.
    constraints : Constraints
        29 must-links and 13 cannot-links in the ids of the apples.

    Examples
    --------
    >>> from sidelight.datasets import load_example
    >>> orchard, tasting = load_example()
    >>> orchard
    Dataset(240 rows, 6 features, 3 classes: Apples from two orchards)
    >>> len(tasting.must_link), len(tasting.cannot_link)
    (29, 13)
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
