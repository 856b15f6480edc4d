"""Who answers: a labeling, a function, and (in the command line) a person."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.utils import check_random_state

from sidelight.constraints.inner import as_codes, plain
from sidelight.exceptions import SidelightError


@runtime_checkable
class Oracle(Protocol):
    """Somebody who can be asked whether two rows belong together."""

    def query(self, i: int, j: int) -> bool | None:
        """Answer for the rows at positions ``i`` and ``j``; None if the answer is unknown."""
        ...


class LabelOracle:
    """Answers from known classes, with errors if ``noise`` is above 0.

    A pair gets the same answer however often, in whichever order and after whichever other pairs
    it is asked. ``n_queries`` counts the questions.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Classes; the oracle does not know about pairs with a row of unknown class (-1).
    noise : float, default=0.0
        Probability that a pair is answered wrongly.
    random_state : int, RandomState or None, default=None
        Seed or generator for the wrong answers; pass an int for reproducible results.

    Examples
    --------
    >>> from sidelight.active import LabelOracle
    >>> oracle = LabelOracle(["apple", "pear", "apple", None])
    >>> oracle.query(0, 2), oracle.query(0, 1), oracle.query(0, 3)
    (True, False, None)
    """

    def __init__(self, y: Any, noise: float = 0.0, random_state: Any = None) -> None:
        values = plain(y)
        classes = as_codes(values, len(values), "y")
        if classes is None:
            raise SidelightError("y knows no class, so that no question can be answered from it.")
        if not 0 <= noise <= 1:
            raise ValueError(f"noise is a probability, between 0 and 1, not {noise!r}.")
        self._codes = classes.codes
        self.noise = noise
        self._seed = int(check_random_state(random_state).randint(2**31)) if noise else 0
        self.n_queries = 0

    def query(self, i: int, j: int) -> bool | None:
        """Whether two rows are of one class; None if a class is unknown."""
        self.n_queries += 1
        if self._codes[i] < 0 or self._codes[j] < 0:
            return None
        same = bool(self._codes[i] == self._codes[j])
        return same != self._is_wrong(i, j)

    def _is_wrong(self, i: int, j: int) -> bool:
        if not self.noise:
            return False
        rng = np.random.default_rng([self._seed, min(i, j), max(i, j)])
        return bool(rng.random() < self.noise)


class CallableOracle:
    """Answers from a function of two positions; ``n_queries`` counts the questions.

    Parameters
    ----------
    function : callable
        ``function(i, j)`` returns True (same), False (different) or None (not known).

    Examples
    --------
    >>> from sidelight.active import CallableOracle
    >>> oracle = CallableOracle(lambda i, j: i % 2 == j % 2)
    >>> oracle.query(1, 3), oracle.n_queries
    (True, 1)
    """

    def __init__(self, function: Callable[[int, int], bool | None]) -> None:
        self.function = function
        self.n_queries = 0

    def query(self, i: int, j: int) -> bool | None:
        """Answer of the function for two rows."""
        self.n_queries += 1
        answer = self.function(i, j)
        if answer is None or isinstance(answer, (bool, np.bool_)):
            return None if answer is None else bool(answer)
        raise TypeError(f"The oracle must answer True, False or None, not {answer!r}.")
