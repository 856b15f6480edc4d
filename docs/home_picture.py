"""The picture of the home page: the bundled customers, clustered without and with what is known."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import PCA

from sidelight import Constraints
from sidelight.cluster import KMeans, PCKMeans
from sidelight.datasets import customers_paths, load_customers
from sidelight.evaluation import adjusted_rand_index
from sidelight.preparation import TablePreparer

WIDTH, HEIGHT, MARGIN, RADIUS = 420, 300, 10, 3.2
#: Of the principal components, those in which the segments differ; the second is the market.
SHOWN = (0, 2)
NEW_LINE = "\n"
OLD_MARKET = ("Germany", "Austria", "Netherlands")


def figure() -> str:
    """Return the picture as reStructuredText: two panels, what they show, and the scores."""
    customers, known = load_customers()
    features = TablePreparer(drop=["segment"]).fit_transform(customers_paths()[0])
    places = _on_paper(PCA(max(SHOWN) + 1, random_state=0).fit_transform(features)[:, SHOWN])
    old = np.isin(customers.columns["country"], OLD_MARKET)
    told = PCKMeans(n_clusters=3, random_state=0).fit(features, constraints=known).labels_
    plain = _renumbered(KMeans(n_clusters=3, random_state=0).fit(features).labels_, told)
    panels = []
    for labels, pairs, title in (
        (plain, None, "Nothing known: two clusters are markets (round, square)"),
        (told, known, "30 statements: three segments of customers"),
    ):
        score = adjusted_rand_index(customers.target, labels)
        caption = f"{title}. Agreement with the true segments (adjusted Rand index): {score:.2f}."
        panels.append(
            f"<figure>{_panel(places, labels, old, pairs, title)}"
            f"<figcaption>{caption}</figcaption></figure>"
        )
    lines = [".. raw:: html", "", '   <div class="sl-panels">']
    lines += [f"   {line}" for panel in panels for line in panel.splitlines()]
    return "\n".join([*lines, "   </div>", ""]) + "\n"


def _on_paper(places: np.ndarray) -> np.ndarray:
    """Fit coordinates into the panel."""
    low, high = places.min(axis=0), places.max(axis=0)
    room = np.array([WIDTH, HEIGHT]) - 2 * MARGIN
    return MARGIN + (places - low) / (high - low) * room


def _renumbered(labels: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Number clusters such that as many rows as possible keep the number that they have there."""
    shared = np.zeros((labels.max() + 1, like.max() + 1))
    np.add.at(shared, (labels, like), 1)
    rows, columns = linear_sum_assignment(-shared)
    return columns[np.argsort(rows)][labels]


def _panel(
    places: np.ndarray, labels: np.ndarray, old: np.ndarray, known: Constraints | None, title: str
) -> str:
    """Draw the rows, and lines for pairs that belong together (whole) or apart (dashed)."""
    marks = []
    if known is not None:
        for pairs, kind in ((known.must_link, "must"), (known.cannot_link, "cannot")):
            for i, j in pairs:
                (x, y), (u, v) = places[i], places[j]
                marks.append(
                    f'<line class="sl-{kind}" x1="{x:.0f}" y1="{y:.0f}" x2="{u:.0f}" y2="{v:.0f}"/>'
                )
    for (x, y), label, is_old in zip(places, labels, old, strict=True):
        shape = (
            f'<circle class="sl-c{label}" cx="{x:.0f}" cy="{y:.0f}" r="{RADIUS}"/>'
            if is_old
            else f'<rect class="sl-c{label}" x="{x - RADIUS:.0f}" y="{y - RADIUS:.0f}" '
            f'width="{2 * RADIUS:g}" height="{2 * RADIUS:g}"/>'
        )
        marks.append(shape)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{title}">\n{NEW_LINE.join(marks)}\n</svg>'
    )
