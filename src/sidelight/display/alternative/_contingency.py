"""One split against another: how many rows they have in common."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sidelight.constraints import KnownSplits
from sidelight.display._display import Display
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Cells
from sidelight.pictures.inner import contingency


class ContingencyDisplay(Display, kind=Cells):
    """Rows that classes of a known split and clusters have in common, as a heat map.

    The shade is the share of the class: two independent splits have the same shades in every row of
    the picture, two equal ones a single dark cell in each. The title has the variation of
    information and the normalized mutual information of the two.

    Examples
    --------
    >>> from sidelight.display import ContingencyDisplay
    >>> display = ContingencyDisplay.from_labels(["it", "it", "no", "no"], [0, 1, 0, 1])
    >>> display.picture.shares.tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """

    _size = (5.2, 4.4)

    @classmethod
    def from_labels(cls, known: Any, labels: Any, *, title: str = "", ax: Any = None) -> Self:
        """Draw a known split against clusters.

        Parameters
        ----------
        known : KnownSplits with one split, or array-like of shape (n_samples,)
            The known split, in classes.
        labels : array-like of shape (n_samples,)
            Cluster of every row.
        """
        splits = known if isinstance(known, KnownSplits) else KnownSplits(known)
        if len(splits.names) != 1 or splits.has_numbers:
            raise InvalidRequest(
                f"one known split in classes is drawn against the clusters, got {splits!r}."
            )
        return cls(contingency(splits, np.asarray(labels)).headed(title)).plot(ax)
