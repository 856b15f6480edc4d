"""Documents of classes in categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.display._draw._cells import draw_cells
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._cells import shares_of_rows
from sidelight.pictures._rows import final_step
from sidelight.pictures.categories._flows import Flows, flows_of

#: Of more categories, or classes, the largest are drawn.
MOST = 40
#: Up to so many, the cells have their numbers.
MAX_NUMBERED = 16


@dataclass(eq=False, repr=False, kw_only=True)
class CategoryFlowDisplay(Display):
    """Where the documents of every class went: classes by categories, shaded by share.

    A row is a class, a column a category, and the shade of a cell the share of the documents of the
    class that the category holds. Classes stand in the order of the categories that their seeds
    became, so that what stayed is on the diagonal, two rows on one column are a merger, and what
    moved is beside it.

    Parameters
    ----------
    flows : Flows
        Numbers of documents.

    Attributes
    ----------
    image_ : AxesImage
        Shares of the classes.
    texts_ : list of Text
        Numbers in the cells, where there are few enough.

    Examples
    --------
    >>> from sidelight.cluster import TextCategories
    >>> from sidelight.datasets import make_category_corpus
    >>> from sidelight.display import CategoryFlowDisplay
    >>> corpus = make_category_corpus(400, n_topics=4, random_state=0)
    >>> model = TextCategories().fit(corpus.data, corpus.extras["labels"])
    >>> CategoryFlowDisplay.from_estimator(model).flows.counts.sum()
    np.int64(400)
    """

    flows: Flows
    title: str = ""

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw what became of the classes that categories were made of.

        Parameters
        ----------
        estimator : fitted TextCategories
            The estimator, or a pipeline that ends with it.
        """
        check_matplotlib(cls.__name__)
        model, _ = final_step(estimator)
        if not hasattr(model, "constituents_"):
            raise InvalidRequest(
                f"{type(model).__name__} makes no categories of classes (it has no constituents_)."
            )
        return cls(flows=flows_of(model, MOST), title=type(model).__name__).plot(ax)

    @property
    def _size(self) -> tuple[float, float]:
        side = min(max(0.34 * self._n_names + 2.0, 4.0), 12.0)
        return side + 0.6, side

    @property
    def _n_names(self) -> int:
        return max(len(self.flows.classes), len(self.flows.categories))

    def _draw(self, inks: Inks) -> None:
        flows = self.flows
        picture = shares_of_rows(
            flows.counts,
            (flows.classes, flows.categories),
            ("category", "class"),
            title="Documents of classes in categories",
            write=self._n_names <= MAX_NUMBERED,
            zeros=False,
            note=flows.note,
        )
        drawn = draw_cells(self.ax_, picture, inks)
        self.image_, self.texts_ = drawn.image, drawn.texts
        set_titles(self.ax_, picture.axis_titles, self.title, picture.note)
