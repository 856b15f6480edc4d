"""Documents of classes in categories."""

from __future__ import annotations

from typing import Any, Self

from sidelight.display._display import Display
from sidelight.pictures import Cells
from sidelight.pictures.inner import fitted_with, flow_cells, flows_of

#: Of more categories, or classes, the largest are drawn.
MOST = 40


class CategoryFlowDisplay(Display, kind=Cells):
    """Where the documents of every class went: classes by categories, shaded by share.

    A row is a class, a column a category, and the shade of a cell the share of the documents of the
    class that the category holds. Classes stand in the order of the categories that their seeds
    became, so that what stayed is on the diagonal, two rows on one column are a merger, and what
    moved is beside it. Of up to 16 classes and categories the cells have their numbers.

    Examples
    --------
    >>> from sidelight.cluster import TextCategories
    >>> from sidelight.datasets import make_category_corpus
    >>> from sidelight.display import CategoryFlowDisplay
    >>> corpus = make_category_corpus(400, n_topics=4, random_state=0)
    >>> model = TextCategories().fit(corpus.data, corpus.extras["labels"])
    >>> CategoryFlowDisplay.from_estimator(model).picture.text
    '400 in 4 rows and 4 columns.'
    """

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw what became of the classes that categories were made of.

        Parameters
        ----------
        estimator : fitted TextCategories
            The estimator, or a pipeline that ends with it.
        """
        model = fitted_with(
            estimator, "constituents_", "makes no categories of classes (it has no constituents_)."
        )
        return cls(flow_cells(flows_of(model, MOST)).headed(type(model).__name__)).plot(ax)

    @property
    def _size(self) -> tuple[float, float]:
        side = min(max(0.34 * max(self.picture.codes.shape) + 2.0, 4.0), 12.0)
        return side + 0.6, side
