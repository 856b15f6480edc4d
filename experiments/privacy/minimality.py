"""What an attacker learns who reruns the public method on every possible world.

``python -m experiments.privacy.minimality [--quick]``

The attacker knows the quasi-identifiers of eight people and the published table, and so how often
every sensitive value occurs in every class. In every world that agrees with it the method is run
again; worlds in which it publishes something else are ruled out. A value is certain that a person
has in all worlds that are left. With random merges the seed is secret: a world is left if some of
the seeds that are tried publish the table, so that the true one may be ruled out; values of which
the attacker is wrongly certain do not count.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from experiments.harness import Section, Verdict, main, mean_and_error
from sidelight.exceptions import SidelightError
from sidelight.privacy import Anonymizer

TITLE = "What rerunning the method tells of sensitive values"

N_PEOPLE, SHARES = 8, (0.5, 0.3, 0.2)
N_SEEDS = 30
SHARES_MERGED = (0.0, 0.1, 0.25)

VERDICTS = {
    "Certain values by random merges": Verdict(
        "no published figure",
        "about a quarter of the values are certain where nothing is left to chance, whatever the "
        "seed; fewer, and more worlds left, where classes are joined at random by a secret seed, "
        "at the price of the loss; more seeds than are tried leave more worlds",
    )
}


def run(runs: int, quick: bool) -> list[Section]:
    """Shares of certain values by the share of random merges; a world a run."""
    n_worlds = 4 if quick else 40
    rows = [row_of(share, n_worlds) for share in SHARES_MERGED]
    return [
        Section(
            "Certain values by random merges",
            f"{n_worlds} tables of {N_PEOPLE} people, two numbers as quasi-identifiers, three "
            f"sensitive values; k = 2, l = 2. {N_SEEDS} seeds are tried, which lead to so many "
            "different outcomes; mean ± standard error.",
            ("random merges", "outcomes", "certain values, %", "possible worlds", "NCP"),
            rows,
        )
    ]


def row_of(share: float, n_worlds: int) -> list[str]:
    """Mean share of certain values, number of worlds that are left, and loss."""
    found = []
    for world in range(n_worlds):
        rng = np.random.default_rng(world)
        X = rng.integers(18, 90, (N_PEOPLE, 2)).astype(float)
        values = rng.choice(list("abc"), N_PEOPLE, p=SHARES)
        try:
            model = published(X, values, share, 10_000 + world if share else 0)
        except SidelightError:  # one value only
            continue
        learned = attack(X, values, model.labels_, share)
        found.append((*learned, model.objective_, n_outcomes(X, values, share)))
    certain, possible, loss, outcomes = np.transpose(found)
    return [
        f"{share:g}",
        mean_and_error(outcomes, digits=1),
        mean_and_error(certain, digits=1, scale=100),
        mean_and_error(possible, digits=1),
        mean_and_error(loss),
    ]


def published(X: Any, values: Any, share: float, seed: int) -> Any:
    """A fitted model."""
    return Anonymizer(2, l=2, random_merges=share, random_state=seed).fit(X, sensitive=values)


def n_outcomes(X: Any, values: Any, share: float) -> int:
    """How many different classes the seeds that are tried lead to."""
    seeds = range(N_SEEDS)
    return len({tuple(published(X, values, share, seed).labels_) for seed in seeds})


def attack(X: Any, values: Any, labels: Any, share: float) -> tuple[float, int]:
    """Share of the values that are certain, and number of worlds that are left."""
    classes = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    orders = [sorted(set(itertools.permutations(values[rows]))) for rows in classes]
    left = []
    for order in itertools.product(*orders):
        world = values.copy()
        for rows, mine in zip(classes, order, strict=True):
            world[rows] = mine
        seeds = range(N_SEEDS if share else 1)
        if any(np.array_equal(published(X, world, share, s).labels_, labels) for s in seeds):
            left.append(world)
    if not left:  # no seed that was tried publishes the table: nothing is learned
        return 0.0, 0
    worlds = np.array(left)
    return float(np.mean((worlds == values).all(axis=0))), len(worlds)


if __name__ == "__main__":
    main("minimality")
