"""Tags of methods: kinds of estimators, kinds of constraints, and other properties.

:data:`KINDS` and :data:`KNOWLEDGE` are open tables: a new family adds its row, and the catalog, the
command line, the docs' method table and the contract tests follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Kind:
    """A kind of estimator.

    Attributes
    ----------
    name : str
        Name in the tags of a method.
    gives : str
        What a fit gives, as a sentence goes on after "it gives".
    command : str
        Command of ``sidelight`` that runs methods of this kind.
    option : str
        Option of the command that sets the number of clusters, dimensions or features; empty
        where there is no such number.
    title : str
        Heading of the methods of this kind in a list.
    clusters : bool
        Whether a fit gives every row a cluster, in ``labels_``.
    elsewhere : str
        Sentence about rows that do not fit into memory: a method that reads them block by block.
    """

    name: str
    gives: str
    command: str
    option: str
    title: str
    clusters: bool = False
    elsewhere: str = ""


@dataclass(frozen=True)
class Knowledge:
    """A kind of side information.

    Attributes
    ----------
    name : str
        Name in the tags of a method.
    letter : str
        Abbreviation in narrow tables.
    says : str
        What a statement of this kind says.
    """

    name: str
    letter: str
    says: str


#: Kinds of estimators, by name.
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "clusterer",
            "a cluster for every row",
            "cluster",
            "-k",
            "Clusters",
            clusters=True,
            elsewhere="KMeans reads rows block by block, and so does PCKMeans, with pairs.",
        ),
        Kind(
            "transformer",
            "new features of the rows",
            "embed",
            "-d",
            "Distances and projections",
            elsewhere="RCA reads rows block by block.",
        ),
        Kind(
            "embedding",
            "coordinates of the rows on a map",
            "embed",
            "-d",
            "Maps",
            elsewhere="ConstrainedPCA reads rows block by block; without pairs it is PCA.",
        ),
        Kind(
            "selector",
            "some of the features",
            "select",
            "-n",
            "Features",
            elsewhere="VarianceScore reads rows block by block, and so does FisherScore, with "
            "labels.",
        ),
        Kind(
            "classifier",
            "a class for every row",
            "classify",
            "",
            "Classifiers",
            elsewhere="ConstrainedKMeans learns from labels and reads rows block by block.",
        ),
        Kind(
            "graph-clusterer",
            "a cluster for every object of a graph of scored pairs",
            "correlate",
            "",
            "Scored pairs",
            clusters=True,
            elsewhere="PCKMeans clusters rows block by block, by pairs that belong together or "
            "apart.",
        ),
        Kind(
            "consensus",
            "one partition that is nearest to several",
            "consensus",
            "",
            "Several partitions",
            clusters=True,
            elsewhere="KMeans clusters the rows that the partitions are of, block by block.",
        ),
        Kind(
            "regionalizer",
            "clusters of rows that are connected in a graph",
            "regions",
            "-k",
            "Connected clusters",
            clusters=True,
            elsewhere="PCKMeans reads rows block by block; neighbors can be its must-links.",
        ),
        Kind(
            "resolver",
            "an entity for every reference",
            "resolve",
            "",
            "Entities",
            clusters=True,
            elsewhere="COPKMeans reads rows block by block; references that are known to be the "
            "same can be its must-links.",
        ),
        Kind(
            "alternative",
            "clusters that differ from the splits that are known already",
            "alternatives",
            "-k",
            "Other splits than the known ones",
            clusters=True,
            elsewhere="GaussianMixture reads rows block by block, without regard to known splits.",
        ),
        Kind(
            "coclusterer",
            "a cluster for every row and for every column",
            "cocluster",
            "-k",
            "Clusters of rows and columns",
            clusters=True,
            elsewhere="SphericalKMeans clusters the rows alone, block by block.",
        ),
        Kind(
            "categorizer",
            "a category for every document",
            "categorize",
            "",
            "Categories of documents",
            clusters=True,
            elsewhere="MultinomialMixture clusters documents block by block, and learns from "
            "labels.",
        ),
        Kind(
            "anonymizer",
            "a table in which every row is like several others",
            "anonymize",
            "",
            "Tables to publish",
            clusters=True,
            elsewhere="SizeConstrainedKMeans finds clusters of a least size block by block; a "
            "table to publish is made of parts that fit into memory.",
        ),
    )
}

#: Kinds of side information, by name.
KNOWLEDGE: dict[str, Knowledge] = {
    knowledge.name: knowledge
    for knowledge in (
        Knowledge("must-link", "M", "two rows belong together"),
        Knowledge("cannot-link", "C", "two rows belong apart"),
        Knowledge("labels", "L", "a row is of a known class"),
        Knowledge("groups", "G", "several rows belong together"),
        Knowledge("sizes", "S", "a cluster has a least and a largest size"),
        Knowledge("feedback", "F", "a document does not belong, a word matters"),
        Knowledge("anchors", "A", "a row has known coordinates on the map"),
        Knowledge("correspondences", "V", "rows of two views show the same object"),
        Knowledge("relations", "R", "two objects are linked, or several occur together"),
        Knowledge("sources", "U", "rows of one source are all different"),
        Knowledge("splits", "K", "a split of the rows is known and not wanted again"),
        Knowledge("order", "O", "rows or columns have an order, and clusters are runs of it"),
        Knowledge("conditions", "E", "every cluster has a least number of rows of a kind"),
    )
}


#: Tags of methods that use pairs, labels and groups, and may violate them.
SOFT_TAGS: dict[str, Any] = {
    "knowledge": ("must-link", "cannot-link", "labels", "groups"),
    "enforcement": "soft",
}

#: Tags of classifiers, which learn from the labels of some rows.
CLASSIFIER_TAGS: dict[str, Any] = {
    "knowledge": ("labels",),
    "enforcement": "soft",
    "kind": "classifier",
}

#: Tags of methods that use no side information.
PLAIN_TAGS: dict[str, Any] = {"knowledge": (), "enforcement": "none"}


@dataclass(frozen=True, kw_only=True)
class MethodTags:
    """Properties of a method: what it is and takes.

    Attributes
    ----------
    summary : str
        One line for a menu.
    knowledge : tuple of str
        Kinds of side information that the method uses, out of :data:`KNOWLEDGE`; empty for none.
    enforcement : {"hard", "soft", "start", "none"}
        ``hard``: everything is satisfied or the fit raises. ``soft``: violations cost and are
        reported. ``start``: only the start of the search uses the knowledge.
    source : str
        Where the method is published.
    complexity : str
        Time per iteration and memory.
    kind : str
        Name of the kind of estimator, out of :data:`KINDS`.
    needs_n_clusters : bool
        Whether the number of clusters has to be given; only clusterers can need it.
    monotone : bool
        Whether the mathematics promises that ``history_`` never rises.
    sparse : bool
        Whether CSR input is taken as it is.
    out_of_core : bool
        Whether rows may live on disk (:func:`sidelight.engine.open_rows`).
    missing : bool
        Whether NaN stands for a missing value, which the method models.
    raw_columns : bool
        Whether columns must not be scaled or encoded: the method reads counts, codes, directions
        or variances that scaled and encoded columns no longer show.
    weights : tuple of str
        Kinds of pairs whose weights count; by default all that it uses, where they may be violated.
    """

    summary: str
    knowledge: tuple[str, ...]
    enforcement: Literal["hard", "soft", "start", "none"]
    source: str
    complexity: str
    kind: str = "clusterer"
    needs_n_clusters: bool = True
    monotone: bool = False
    sparse: bool = False
    out_of_core: bool = False
    missing: bool = False
    raw_columns: bool = False
    weights: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        unknown = set(self.knowledge) - set(KNOWLEDGE)
        if unknown:
            raise ValueError(f"unknown kinds of side information: {sorted(unknown)}")
        if self.kind not in KINDS:
            raise ValueError(f"unknown kind of estimator {self.kind!r}; KINDS has {list(KINDS)}")
        if self.weights is None:
            pairs = tuple(kind for kind in ("must-link", "cannot-link") if kind in self.knowledge)
            object.__setattr__(self, "weights", pairs if self.enforcement == "soft" else ())
        if self.kind != "clusterer":
            object.__setattr__(self, "needs_n_clusters", False)


def own_tags(*, summary: str, source: str, complexity: str, **others: Any) -> dict[str, Any]:
    """Tags of one method; ``others`` are those in which it differs from its family."""
    return {"summary": summary, "source": source, "complexity": complexity, **others}
