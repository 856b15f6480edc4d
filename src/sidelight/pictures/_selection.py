"""Which rows and which constraints are drawn when there are too many for a picture."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sidelight.constraints import Constraints
from sidelight.pictures._run import Run

MAX_POINTS = 4_000
MAX_CONSTRAINED = 3_000  # leaves room for a picture of the rest of the data
MAX_LINES = 3_000

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Links:
    """Pairs of rows with what they ask for and whether they got it."""

    pairs: Positions
    cannot: npt.NDArray[np.bool_]
    violated: npt.NDArray[np.bool_]
    weight: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, chosen: npt.NDArray[np.generic]) -> Links:
        return Links(
            self.pairs[chosen], self.cannot[chosen], self.violated[chosen], self.weight[chosen]
        )

    def among(self, rows: Positions) -> Links:
        """Pairs of which both rows are among these, by their places there; rows ascend."""
        kept = self[np.flatnonzero(np.isin(self.pairs, rows).all(axis=1))]
        return replace(kept, pairs=np.searchsorted(rows, kept.pairs))


@dataclass(frozen=True)
class Selection:
    """Rows to draw, and the links between them.

    Attributes
    ----------
    rows : ndarray
        Positions of the drawn rows, sorted.
    links : Links
        Drawn links; ``pairs`` point into ``rows``.
    """

    rows: Positions
    links: Links


def links_of(known: Constraints, must_link: Positions, cannot_link: Positions) -> Links:
    """All stated pairs, and which of them are among the violated pairs of both kinds."""
    n = known.n_samples
    violated = [
        contains_pairs(must_link, known.must_link, n),
        contains_pairs(cannot_link, known.cannot_link, n),
    ]
    return Links(
        pairs=np.concatenate([known.must_link, known.cannot_link]).reshape(-1, 2),
        cannot=np.repeat([False, True], [len(known.must_link), len(known.cannot_link)]),
        violated=np.concatenate(violated),
        weight=np.concatenate([known.must_link_weight, known.cannot_link_weight]),
    )


def stated_links(run: Run) -> Links:
    """List all stated pairs, the violated ones first."""
    links = links_of(run.constraints, run.violations.must_link, run.violations.cannot_link)
    return links[np.argsort(~links.violated, kind="stable")]


def select(run: Run, links: Links, rng: np.random.Generator) -> Selection:
    """Choose what to draw: violated things, other constrained rows, then a random sample."""
    chosen = _constrained_rows(run, links, rng)[:MAX_CONSTRAINED]
    rows = fill_up(chosen, run.n_rows, MAX_POINTS, rng)
    drawn = links.among(rows)
    if len(drawn) > MAX_LINES:
        random_order = np.lexsort([rng.random(len(drawn)), ~drawn.violated])
        drawn = drawn[random_order[:MAX_LINES]]
    return Selection(rows, drawn)


def fill_up(chosen: Positions, n_rows: int, most: int, rng: np.random.Generator) -> Positions:
    """Add random rows to chosen ones until there are ``most``, or all; ascending."""
    wanted = min(most, n_rows)
    if wanted == n_rows:
        return np.arange(n_rows)
    others = np.setdiff1d(rng.choice(n_rows, wanted, replace=False), chosen)
    return np.sort(np.concatenate([chosen, rng.permutation(others)[: wanted - len(chosen)]]))


def _constrained_rows(run: Run, links: Links, rng: np.random.Generator) -> Positions:
    """Order the rows that anything is known about, those of violated statements first."""
    order = np.lexsort([rng.random(len(links)), ~links.violated])
    n_violated = int(links.violated.sum())
    pairs, mentioned = links.pairs[order], run.constraints.mentioned
    candidates = np.concatenate(
        [
            pairs[:n_violated].ravel(),
            run.violations.labels,
            run.violations.groups,
            pairs[n_violated:].ravel(),
            mentioned[rng.permutation(len(mentioned))],
        ]
    ).astype(np.int64)
    _, first = np.unique(candidates, return_index=True)
    return candidates[np.sort(first)]


def contains_pairs(some: Positions, pairs: Positions, n_rows: int) -> npt.NDArray[np.bool_]:
    """Whether each of ``pairs`` occurs in ``some``; pairs are stored with the smaller row first."""
    found: npt.NDArray[np.bool_] = np.isin(
        pairs[:, 0] * n_rows + pairs[:, 1], some[:, 0] * n_rows + some[:, 1]
    )
    return found


def ringed_rows(run: Run, selection: Selection) -> npt.NDArray[np.bool_]:
    """Which of the drawn rows a violated statement mentions."""
    ringed = np.isin(selection.rows, np.concatenate([run.violations.labels, run.violations.groups]))
    ringed[selection.links.pairs[selection.links.violated].ravel()] = True
    return ringed
