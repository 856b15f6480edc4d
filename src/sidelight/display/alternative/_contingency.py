"""One split against another: how many rows they have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sidelight._typing import IntArray
from sidelight.constraints import KnownSplits
from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.display._draw._cells import draw_cells
from sidelight.evaluation import SplitSimilarity, similarity_to_splits
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._cells import shares_of_rows

#: Numbers are written into tables of at most so many cells.
MAX_WRITTEN = 200


@dataclass(eq=False, repr=False, kw_only=True)
class ContingencyDisplay(Display):
    """Rows that classes of a known split and clusters have in common, as a heat map.

    The shade is the share of the class: two independent splits have the same shades in every row of
    the picture, two equal ones a single dark cell in each.

    Parameters
    ----------
    counts : ndarray of int, shape (n_classes, n_clusters)
        Number of rows.
    class_names, cluster_names : list of str
        Names of the rows and columns of the picture.
    similarity : SplitSimilarity
        Variation of information and normalized mutual information of the two.

    Attributes
    ----------
    image_ : AxesImage
        The shares of the classes.
    texts_ : list of Text
        The counts.

    Examples
    --------
    >>> from sidelight.display import ContingencyDisplay
    >>> display = ContingencyDisplay.from_labels(["it", "it", "no", "no"], [0, 1, 0, 1])
    >>> display.counts.tolist(), round(display.similarity.nmi, 3)
    ([[1, 1], [1, 1]], 0.0)
    """

    counts: IntArray
    class_names: list[str]
    cluster_names: list[str]
    similarity: SplitSimilarity
    title: str = ""

    @classmethod
    def from_labels(cls, known: Any, labels: Any, *, title: str = "", ax: Any = None) -> Self:
        """Draw a known split against clusters.

        Parameters
        ----------
        known : KnownSplits with one split, or array-like of shape (n_samples,)
            The known split, in classes.
        labels : array-like of shape (n_samples,)
            Cluster of every row.
        title : str, default=""
            Written above the picture.
        """
        check_matplotlib(cls.__name__)
        splits = known if isinstance(known, KnownSplits) else KnownSplits(known)
        if len(splits.names) != 1 or splits.has_numbers:
            raise InvalidRequest(
                f"one known split in classes is drawn against the clusters, got {splits!r}."
            )
        (similarity,) = similarity_to_splits(labels, splits)
        clusters, codes = np.unique(np.asarray(labels), return_inverse=True)
        shape = (len(splits.class_names[0]), len(clusters))
        flat = np.ravel_multi_index((splits.codes[:, 0], codes.reshape(-1)), shape)
        return cls(
            counts=np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape),
            class_names=[str(name) for name in splits.class_names[0].tolist()],
            cluster_names=[str(name) for name in clusters.tolist()],
            similarity=similarity,
            title=title,
        ).plot(ax)

    @property
    def _size(self) -> tuple[float, float]:
        return 5.2, 4.4

    def _draw(self, inks: Inks) -> None:
        picture = shares_of_rows(
            self.counts,
            (self.class_names, self.cluster_names),
            ("cluster", self.similarity.name),
            title=f"{self.similarity.name} by cluster",
            write=self.counts.size <= MAX_WRITTEN,
            note=f"variation of information {self.similarity.variation_of_information:.3f} of "
            f"{self.similarity.largest:.3f}, NMI {self.similarity.nmi:.3f}",
        )
        drawn = draw_cells(self.ax_, picture, inks)
        self.image_, self.texts_ = drawn.image, drawn.texts
        set_titles(self.ax_, picture.axis_titles, self.title, picture.note)
