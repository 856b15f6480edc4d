"""Which method to take: a tree made from the tags of the catalog, and one table of recommendations.

What is known, how sure it is and how many rows there are lead to a leaf; every method of the
catalog is in at least one. :data:`RECOMMENDED` says which of a leaf come first, and the measured
figures beside them are read from the kept results of ``experiments/does_knowledge_help.py``.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

import chooser_picture

from sidelight import catalog
from sidelight.catalog import Method

HERE = Path(__file__).parent
MEASURED = HERE / "results" / "published" / "does_knowledge_help.md"

#: What may be known, in the order of the tree: the words of the branch, and its kinds of knowledge.
BRANCHES: dict[str, tuple[str, ...]] = {
    "nothing yet": (),
    "classes of some rows": ("labels",),
    "pairs or groups": ("must-link", "cannot-link", "groups"),
    "sizes of the clusters": ("sizes",),
    "opinions on documents": ("feedback",),
    "places on the map": ("anchors",),
    "views of one object": ("correspondences",),
    "links or pair scores": ("relations", "sources"),
    "a split to avoid": ("splits",),
    "an order of either side": ("order",),
    "what clusters must hold": ("conditions",),
}
NOTHING, LABELS, PAIRS, SIZES, OPINIONS, PLACES, SAME, LINKS, SPLITS, ORDER, HOLDS = BRANCHES

#: Methods that stand first in the leaves of these branches, best first, and why. Where figures were
#: measured they bear it out (a test compares), and the page shows them; the others are the simplest
#: of their kind.
RECOMMENDED: dict[str, tuple[tuple[str, ...], str]] = {
    "kmeans": ((NOTHING,), "fast, and what every other method is compared with"),
    "gaussian-mixture": (
        (NOTHING, LABELS),
        "labels shape the components, so rows without one gain most; gaps may stay",
    ),
    "mml-mixture": ((NOTHING,), "where nothing tells how many clusters there are"),
    "constrained-kmeans": ((LABELS,), "simple and fast; labels hold, or cost where you say so"),
    "contracted-spectral-clustering": (
        (LABELS, PAIRS),
        "of all that take pairs, it is best on rows that nothing was said about",
    ),
    "signed-spectral-clustering": (
        (LABELS, PAIRS),
        "nearly the same gain, and it keeps most of it with a fifth of the pairs wrong",
    ),
    "mpckmeans": (
        (LABELS, PAIRS),
        "learns which features count, whatever their units. For numbers; with categories see below",
    ),
    "mean-field-mixture": (
        (LABELS, PAIRS),
        "stands wrong pairs, and says how sure it is of every row. For numbers",
    ),
    "pckmeans": (
        (LABELS, PAIRS),
        "stands wrong pairs; puts the rows that were mentioned right, the others gain little",
    ),
    "copkmeans": ((LABELS, PAIRS), "everything that was said holds; other rows gain little"),
    "constrained-agglomeration": (
        (LABELS, PAIRS),
        "everything holds, in a tree that shows every number of clusters",
    ),
    "bernoulli-mixture": ((LABELS,), "for yes-or-no features, gaps included"),
    "categorical-mixture": ((LABELS,), "for categories as they are, gaps included"),
    "seeded-kmeans": ((LABELS,), "starts at the means of the labels and may then leave them"),
    "size-constrained-kmeans": ((SIZES,), "bounds hold, and pairs beside them"),
    "balanced-kmeans": ((SIZES,), "a minimum size at the cost of plain k-means"),
    "soft-balanced-kmeans": ((SIZES,), "memberships whose sums are balanced"),
    "feedback-clustering": ((OPINIONS,), "the only one that listens to opinions"),
    "itml": ((LABELS, PAIRS), "the learned distance with the largest gain; standardize first"),
    "pola": ((LABELS, PAIRS), "takes the pairs one by one, as they come"),
    "rca": ((LABELS, PAIRS), "needs must-links or groups only, and no scaling"),
    "isomap": ((NOTHING, PAIRS), "keeps distances along the data; says how much of them it shows"),
    "landmark-isomap": ((NOTHING, PAIRS), "the same for many rows"),
    "incremental-isomap": ((NOTHING,), "the same for rows that come one by one"),
    "coordinated-factor-analysis": (
        (NOTHING, PLACES),
        "maps both ways with their spread, and tells how likely a row is",
    ),
    "self-organizing-mixture": ((NOTHING,), "a grid to look at; yes-or-no, categories, gaps"),
    "coordinated-views": ((SAME,), "predicts what one view shows from the other"),
    "fisher-score": ((LABELS,), "features that tell the classes apart"),
    "forward-constraint-selector": ((PAIRS,), "chooses features that work together"),
    "auto": ((LABELS,), "chooses by held-out labels, logistic regression unless another is better"),
    "semi-boost": ((LABELS,), "around the classifier that you trust; weak ones gain most"),
    "pairwise-logistic-regression": (
        (LABELS, PAIRS),
        "the only one of which pairs of unlabeled rows change the classes",
    ),
    "harmonic": ((LABELS,), "simple and fast, where classes are connected"),
    "cdkmeans": ((ORDER,), "clusters of rows and columns of a 0/1 table, in runs of either side"),
    "information-coclustering": ((NOTHING,), "rows and columns of counts, nothing else known"),
    "correlation-clustering": ((LINKS,), "a partition with a proven gap, behind any pair score"),
    "consensus-clustering": ((NOTHING,), "several partitions, and one in their middle"),
    "connected-kmeans": ((LINKS,), "compact clusters, every one of them one piece"),
    "conditional-information-bottleneck": (
        (SPLITS,),
        "measurements or counts, classes or numbers to avoid; later splits differ, too",
    ),
    "cond-ens": ((SPLITS,), "any base clusterer, and the faster of the two"),
    "collective-resolution": ((LINKS,), "decisions that depend on each other"),
    "text-categories": ((LABELS,), "documents whose classes are roughly right, and to be tidied"),
    "attribute-resolution": ((LINKS,), "the baseline: what the columns alone tell"),
    "existential-kmeans": ((HOLDS,), "k-means with enough rows of every kind in every cluster"),
    "anonymizer": ((HOLDS,), "every row like several others, counted before it is written"),
}

SURE: dict[str, str] = {
    "none": "",
    "hard": "certain: it must hold",
    "soft": "mostly right: it counts",
    "start": "a hint to start from",
}
ROWS: tuple[str, ...] = ("any number, or on disk", "as memory allows", "up to some 20,000")
WANTED: dict[tuple[str, str], str] = {
    ("transformer", "metric"): "a distance that fits",
    ("transformer", "manifold"): "a linear map",
    ("embedding", "manifold"): "a curved map",
    ("embedding", "mixture"): "a map with a density",
    ("selector", "feature_selection"): "fewer features",
    ("classifier", "semi_supervised"): "a class for every row",
    ("graph-clusterer", "relational"): "clusters of pair scores",
    ("consensus", "relational"): "a consensus partition",
    ("regionalizer", "relational"): "connected clusters",
    ("resolver", "relational"): "entities of references",
    ("alternative", "cluster"): "another split",
    ("coclusterer", "cluster"): "clusters of two sides",
    ("categorizer", "cluster"): "categories of documents",
    ("anonymizer", "privacy"): "a table to publish",
}


@dataclass(frozen=True)
class Leaf:
    """An answer to every question, and the methods that it leads to.

    Attributes
    ----------
    path : tuple of str
        The answers, in the order of the questions; empty where a question is not asked.
    methods : tuple of Method
        Recommended ones first, the others by name.
    recommended : tuple of Method
        Those that stand first.
    """

    path: tuple[str, ...]
    methods: tuple[Method, ...]
    recommended: tuple[Method, ...]

    @property
    def anchor(self) -> str:
        """Name of the part of the page that lists the methods."""
        words = " ".join(part for part in self.path if part)
        return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


@dataclass(frozen=True)
class Figures:
    """Adjusted Rand index of rows that nothing was said about, mean over the measured sets."""

    nothing: float
    told: float  # with n/2 pairs
    n_worse: int  # sets on which correct knowledge did harm


@functools.cache
def measured() -> dict[str, Figures]:
    """Return the kept figures of every method that was measured on standardized columns."""
    text = MEASURED.read_text(encoding="utf-8")
    (part,) = re.findall(r"^## All methods, standardized columns\n(.*?)^## ", text, re.M | re.S)
    header, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in part.splitlines()
        if line.startswith("| ") and "---" not in line
    )
    nothing, told, worse = map(header.index, ("nothing", "n/2 pairs", "worse than nothing"))
    return {
        row[0]: Figures(float(row[nothing]), float(row[told]), int(row[worse].split()[0]))
        for row in rows
        if row[told] != "–"
    }


def rows_of(method: Method) -> str:
    """Return how many rows a method is for, from its tags."""
    if method.tags.out_of_core:
        return ROWS[0]
    return ROWS[2] if "n²" in method.tags.complexity else ROWS[1]


def clusterer_leaves() -> list[Leaf]:
    """Return the leaves of the tree of clusterers: what is known, how sure, how many rows."""
    found = []
    for branch, kinds in BRANCHES.items():
        takes = [m for m in catalog.methods(kind="clusterer") if _belongs(m, kinds)]
        for enforcement, sure in SURE.items():
            alike = [m for m in takes if m.tags.enforcement == enforcement or not kinds]
            if not kinds and enforcement != "none":
                continue
            for rows in ROWS:
                methods = [m for m in alike if rows_of(m) == rows]
                if methods:
                    found.append(_leaf((branch, sure, rows), branch, methods))
    return found


def other_leaves() -> list[Leaf]:
    """Return the leaves of all other kinds: what is wanted, what is known."""
    found = []
    for (kind, family), wanted in WANTED.items():
        for branch, kinds in BRANCHES.items():
            alike = [m for m in catalog.methods(kind=kind, family=family) if _belongs(m, kinds)]
            if alike:
                found.append(_leaf((wanted, branch), branch, alike))
    return found


def _belongs(method: Method, kinds: tuple[str, ...]) -> bool:
    """Return whether a method is for a branch; "nothing" is for those that use nothing."""
    if not kinds:
        # A mixture with labels is a mixture without them, and the one to start with.
        plain = method.name == "gaussian-mixture" or method.tags.kind in ("embedding", "consensus")
        return plain or not method.tags.knowledge
    return bool(set(kinds) & set(method.tags.knowledge))


def _leaf(path: tuple[str, ...], branch: str, methods: list[Method]) -> Leaf:
    """Put the recommended methods of a leaf first."""
    by_name = {method.name: method for method in methods}
    first = tuple(
        by_name[name]
        for name, (branches, _) in RECOMMENDED.items()
        if name in by_name and branch in branches
    )
    return Leaf(path, (*first, *(method for method in methods if method not in first)), first)


def page() -> str:
    """Return the trees and the lists behind them, as reStructuredText."""
    parts = []
    for title, questions, leaves in (
        (
            "Clusters",
            ("What do you know?", "How sure is it?", "How many rows?"),
            clusterer_leaves(),
        ),
        (
            "Distances, maps, features, classes and relations",
            ("What do you want?", "What do you know?"),
            other_leaves(),
        ),
    ):
        drawing = chooser_picture.draw(title, questions, leaves, _figures)
        parts += [title, "-" * len(title), "", ".. raw:: html", ""]
        parts += [f"   {line}" for line in drawing.splitlines()]
        parts += ["", *_lists(leaves), ""]
    return "\n".join(parts) + "\n"


def _figures(leaf: Leaf, method: Method) -> Figures | None:
    """Return what was measured of a method, where the leaf is about what was measured."""
    return None if NOTHING in leaf.path else measured().get(method.name)


def _lists(leaves: list[Leaf]) -> list[str]:
    """Return every leaf as a part that opens, nested by the first question."""
    lines: list[str] = []
    opened = ""
    for leaf in leaves:
        first, *others = leaf.path
        if first != opened:
            opened = first
            lines += [f".. dropdown:: {first.capitalize()}", "   :class-container: sl-branch", ""]
        title = " · ".join(part for part in others if part)
        heading = f"   **{title[0].upper()}{title[1:]}**"
        lines += [f"   .. _choose-{leaf.anchor}:", "", heading, ""]
        for method in leaf.methods:
            lines += [f"   * {_entry(method, leaf)}", ""]
    return lines


def _entry(method: Method, leaf: Leaf) -> str:
    """Return a method with what it does, what it also takes, and what was measured."""
    name = f":class:`~sidelight.{method.family}.{method.cls.__name__}`"
    parts = [f"{name}: {method.tags.summary}."]
    if method in leaf.recommended:
        _, why = RECOMMENDED[method.name]
        parts = ["★", *parts, f"*{why[0].upper()}{why[1:]}.*"]
    if abilities := _abilities(method):
        parts.append(f"{abilities}.")
    if (figures := _figures(leaf, method)) is not None:
        parts.append(f"Measured: {figures.nothing:.2f} → {figures.told:.2f}.")
    return " ".join(parts)


def _abilities(method: Method) -> str:
    tags = method.tags
    found = [
        words
        for words, holds in (
            (
                "finds the number of clusters",
                tags.kind == "clusterer" and not tags.needs_n_clusters,
            ),
            ("takes gaps", tags.missing),
            ("takes sparse rows", tags.sparse),
        )
        if holds
    ]
    return ", ".join(found).capitalize()
