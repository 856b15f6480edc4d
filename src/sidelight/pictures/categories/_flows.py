"""How documents went from classes to categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight.pictures.kinds._cells import Cells, shares_of_rows

#: Cells of up to so many classes and categories have their numbers.
MAX_NUMBERED = 16


@dataclass(frozen=True, eq=False)
class Flows:
    """Documents of classes in categories, in an order in which most are on the diagonal.

    Attributes
    ----------
    counts : ndarray of shape (n_shown_classes, n_shown_categories)
        Number of documents of a class in a category.
    classes, categories : list of str
        Names of the rows and columns.
    n_classes, n_categories : int
        Numbers of all, shown or not.
    """

    counts: IntArray
    classes: list[str]
    categories: list[str]
    n_classes: int
    n_categories: int

    @property
    def shares(self) -> Array:
        """Share of the documents of a class that are in each category."""
        return self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)

    @property
    def note(self) -> str:
        """What is not shown; empty where everything is."""
        if len(self.classes) == self.n_classes and len(self.categories) == self.n_categories:
            return ""
        return (
            f"the largest: {len(self.classes)} of {self.n_classes:,} classes, "
            f"{len(self.categories)} of {self.n_categories:,} categories"
        )


def flows_of(estimator: Any, most: int) -> Flows:
    """Count the documents of classes in categories; of very many, those in the largest categories.

    Parameters
    ----------
    estimator : TextCategories
        Fitted.
    most : int
        Largest number of categories, and of classes.
    """
    counts = estimator.constituents_
    sizes = counts.sum(axis=1)
    categories = np.sort(np.argsort(-sizes, kind="stable")[:most])
    place = np.full(len(counts) + 1, len(counts))
    place[categories] = np.arange(len(categories))
    origin = place[estimator.class_category_]
    shown = counts[categories].sum(axis=0)
    largest = np.argsort(-shown, kind="stable")[:most]
    classes = largest[np.argsort(origin[largest], kind="stable")]
    return Flows(
        counts[np.ix_(categories, classes)].T,
        [str(name) for name in estimator.classes_[classes].tolist()],
        [str(name) for name in estimator.category_names_[categories].tolist()],
        counts.shape[1],
        counts.shape[0],
    )


def flow_cells(flows: Flows) -> Cells:
    """Classes by categories, shaded by the share of the class."""
    return shares_of_rows(
        flows.counts,
        (flows.classes, flows.categories),
        ("category", "class"),
        title="Documents of classes in categories",
        write=max(flows.counts.shape) <= MAX_NUMBERED,
        zeros=False,
        note=flows.note,
    )
