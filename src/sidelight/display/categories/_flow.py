"""Documents of classes in categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from sidelight.display._canvas import Display, check_matplotlib, set_titles
from sidelight.display._rows import final_step
from sidelight.exceptions import InvalidRequest
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
    title : str
        Written above the picture.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
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
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.

        Returns
        -------
        CategoryFlowDisplay
            The drawn display.
        """
        check_matplotlib(cls.__name__)
        model, _ = final_step(estimator)
        if not hasattr(model, "constituents_"):
            raise InvalidRequest(
                f"{type(model).__name__} makes no categories of classes (it has no constituents_)."
            )
        return cls(flows=flows_of(model, MOST), title=type(model).__name__).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the shares.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.

        Returns
        -------
        CategoryFlowDisplay
            The display itself.
        """
        from matplotlib.colors import LinearSegmentedColormap

        flows = self.flows
        n = max(len(flows.classes), len(flows.categories))
        side = min(max(0.34 * n + 2.0, 4.0), 12.0)
        inks = self._begin(ax, size=(side + 0.6, side))
        shades = LinearSegmentedColormap.from_list("share", [inks.page, inks.groups(1)[0]])
        self.image_ = self.ax_.imshow(flows.shares, cmap=shades, vmin=0.0, vmax=1.0, aspect="auto")
        self.ax_.set_xticks(range(len(flows.categories)), flows.categories, rotation=90)
        self.ax_.set_yticks(range(len(flows.classes)), flows.classes)
        self.ax_.tick_params(length=0, labelsize="small")
        self.texts_ = []
        if n <= MAX_NUMBERED:
            for row, column in zip(*flows.counts.nonzero(), strict=True):
                color = inks.page if flows.shares[row, column] > 0.6 else inks.ink
                number = f"{flows.counts[row, column]:,}"
                options: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": "small"}
                self.texts_.append(self.ax_.text(column, row, number, color=color, **options))
        set_titles(self.ax_, ("category", "class"), self.title, flows.note)
        return self
