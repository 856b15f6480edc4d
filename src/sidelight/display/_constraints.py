"""What is known, as a graph: rows that belong together, and rows that do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from sidelight.constraints import Constraints
from sidelight.display._canvas import Inks
from sidelight.display._display import Display
from sidelight.pictures import Points
from sidelight.pictures.inner import known_graph


class ConstraintsDisplay(Display, kind=Points):
    """Graph of what is known: rows that belong together in one color, cannot-links dashed.

    Rows of one must-link component have one color; thin lines (``"spokes"``) lead from rows with a
    known class or group to the middle of their component, dotted ones (``"between"``) join known
    classes. Statements that contradict the others are red, as ``"contradicted cannot-link"``; with
    the labels of a clustering, rows have the colors of their clusters and violated statements are
    red. Of very many rows 300 are drawn, whole components first those with trouble.

    Examples
    --------
    >>> from sidelight import Constraints
    >>> from sidelight.display import ConstraintsDisplay
    >>> people = ["ann", "bob", "cid", "dan"]
    >>> known = Constraints([("ann", "bob")], [("bob", "cid"), ("bob", "dan")], ids=people)
    >>> display = ConstraintsDisplay.from_constraints(known)
    >>> display.picture.codes
    array([ 0,  0, -1, -1])
    """

    @classmethod
    def from_constraints(
        cls,
        constraints: Constraints,
        X: Any = None,
        labels: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw what is known.

        Parameters
        ----------
        constraints : Constraints
            The statements.
        X : array, CSR matrix, data frame or RowSource of shape (n_samples, n_features), \
default=None
            The rows, which tell where to draw; without them a layout puts linked rows side by side.
        labels : array-like of shape (n_samples,), default=None
            Clusters to compare with: what they violate is red.
        """
        return cls(known_graph(constraints, X, labels, feature_names)).plot(ax, **options)

    def _options(self, inks: Inks) -> Mapping[str, Any]:
        return {"s": float(np.clip(4_000 / max(len(self.picture.codes), 1), 16, 70))}
