"""One table of all methods, made from the tags of the estimators.

The command line, the docs' method table, the common tests and ``sidelight methods`` read it; a new
method is in all of them as soon as its family exports a class with tags.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

from sidelight._fit.parameters import declared
from sidelight.base import ConstrainedEstimator
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError
from sidelight.tags import KINDS, KNOWLEDGE, Kind, MethodTags

#: Parameters that set the number of clusters, dimensions or features.
SIZES = ("n_clusters", "n_components", "n_features_to_select")
FAMILIES = (
    *("cluster", "feature_selection", "manifold", "metric", "mixture", "privacy", "relational"),
    "semi_supervised",
)

#: How alike a name has to be to be suggested, out of 1.
CLOSE = 0.6


class Proven(NamedTuple):
    """A method that is recommended without prior knowledge of the data, with its largest size."""

    name: str
    max_rows: float = math.inf
    max_features: float = math.inf


#: Best bets in this order: what the comparison of all methods (``experiments``) shows, and what it
#: costs. Spectral methods need a graph of neighbors, mixtures a covariance matrix per cluster.
PROVEN = (
    Proven("mpckmeans", max_features=1_000),
    Proven("contracted-spectral-clustering", max_rows=20_000),
    Proven("penalized-mixture", max_features=100),
    Proven("gaussian-mixture", max_features=100),
    Proven("pckmeans"),
    Proven("signed-spectral-clustering", max_rows=20_000),
    Proven("constrained-kmeans"),
    Proven("lcvqe"),
    Proven("copkmeans"),
)
#: The same where nothing is known.
PROVEN_PLAIN = (
    Proven("kmeans"),
    Proven("gaussian-mixture", max_features=100),
    Proven("spectral-clustering", max_rows=20_000),
    Proven("constrained-agglomeration", max_rows=5_000),
)
#: Most methods that are proposed, one more where labels are known. With more candidates the best of
#: them is better, but thirty statements choose worse among them.
MAX_CANDIDATES = 4


@dataclass(frozen=True)
class Method:
    """A method of the catalog.

    Attributes
    ----------
    name : str
        Name on the command line, derived from the name of the class.
    family : str
        Subpackage that exports the class.
    cls : type
        The estimator.
    tags : MethodTags
        What it is and takes.
    """

    name: str
    family: str
    cls: type[ConstrainedEstimator]
    tags: MethodTags

    @property
    def kind(self) -> Kind:
        """Kind of estimator."""
        return KINDS[self.tags.kind]

    @property
    def size_parameter(self) -> str | None:
        """Parameter that sets the number of clusters, dimensions or features, if there is one."""
        if not self.kind.option:
            return None
        return next((name for name in SIZES if name in declared(self.cls)), None)

    @property
    def options(self) -> dict[str, str]:
        """Option of the command line that sets the size, by the names that messages have for it.

        Steps on the way, such as k-means for a start, call the same number by other names.
        """
        if not self.kind.option:
            return {}
        others = set(declared(self.cls)) - {self.size_parameter}
        return {name: self.kind.option for name in SIZES if name not in others}


def methods(
    *,
    knowledge: str | None = None,
    enforcement: str | None = None,
    family: str | None = None,
    kind: str | None = None,
) -> tuple[Method, ...]:
    """All methods, or those that fit a description.

    Parameters
    ----------
    knowledge : str, optional
        Only methods that use this kind of side information, out of
        :data:`sidelight.tags.KNOWLEDGE`.
    enforcement : {"hard", "soft", "start", "none"}, optional
        Only methods that treat it in this way.
    family : str, optional
        Only methods of this subpackage.
    kind : str, optional
        Only methods of this kind, out of :data:`sidelight.tags.KINDS`.

    Returns
    -------
    tuple of Method
        Sorted by family, then in the order of their names.

    Examples
    --------
    >>> from sidelight import catalog
    >>> hard = catalog.methods(enforcement="hard", knowledge="cannot-link")
    >>> "copkmeans" in [method.name for method in hard]
    True
    """
    if knowledge is not None and knowledge not in KNOWLEDGE:
        raise SidelightError(
            f"Unknown kind of side information {knowledge!r}; there are {', '.join(KNOWLEDGE)}."
        )
    return tuple(
        method
        for method in _all_methods()
        if (knowledge is None or knowledge in method.tags.knowledge)
        and (enforcement is None or enforcement == method.tags.enforcement)
        and (family is None or family == method.family)
        and (kind is None or kind == method.tags.kind)
    )


def get(name: str, *, kind: str | None = None) -> Method:
    """Find a method by its name or the name of its class; case and dashes do not matter.

    Where there is none, similar names are suggested, of this kind if one is given.

    Examples
    --------
    >>> from sidelight import catalog
    >>> catalog.get("COP-KMeans").cls.__name__
    'COPKMeans'
    """
    for package, public in _public_names():  # most go by the name of their class: import that one
        if _plain(public) == _plain(name) and (method := _method(package, public)) is not None:
            return method
    by_name = {
        _plain(alias): method
        for method in _all_methods()
        for alias in (method.name, method.cls.__name__)
    }
    found = by_name.get(_plain(name))
    if found is not None:
        return found
    wanted = {alias: m for alias, m in by_name.items() if kind in (None, m.tags.kind)}
    close = difflib.get_close_matches(_plain(name), wanted, n=3, cutoff=CLOSE)
    names = sorted({wanted[plain].name for plain in close or wanted})
    meant = f"did you mean {' or '.join(names)}?" if close else f"there are {', '.join(names)}."
    raise SidelightError(f"There is no method {name!r}; {meant}")


def candidates(
    known: Constraints,
    n_rows: int,
    n_features: int,
    *,
    sparse: bool = False,
    missing: bool = False,
) -> tuple[Method, ...]:
    """Propose clusterers to compare: few, different from each other, and proven.

    Parameters
    ----------
    known : Constraints
        What is known about the rows. Methods that use none of it are left out, as are methods for
        bounds on sizes, which only the user can want.
    n_rows, n_features : int
        Size of the data. Methods whose time or memory would not allow it are left out.
    sparse : bool, default=False
        Whether the rows are sparse.
    missing : bool, default=False
        Whether values are missing (NaN).

    Returns
    -------
    tuple of Method
        At most five, best bets first; empty where no method takes such data.

    Examples
    --------
    >>> from sidelight import Constraints, catalog
    >>> known = Constraints([(0, 1)], [(1, 2)], n_samples=500)
    >>> [method.name for method in catalog.candidates(known, n_rows=500, n_features=8)][:2]
    ['mpckmeans', 'contracted-spectral-clustering']
    """
    kinds = {kind.replace("_", "-") for kind, number in known.counts.items() if number}
    found = []
    for proven in PROVEN if kinds else PROVEN_PLAIN:
        tags = get(proven.name).tags
        uses = not kinds or bool(kinds & set(tags.knowledge))
        takes = (tags.sparse or not sparse) and (tags.missing or not missing)
        if uses and takes and n_rows <= proven.max_rows and n_features <= proven.max_features:
            found.append(get(proven.name))
    return tuple(found[: MAX_CANDIDATES + ("labels" in kinds)])


@functools.cache
def _all_methods() -> tuple[Method, ...]:
    found = [_method(package, public) for package, public in _public_names()]
    return tuple(
        sorted(
            (method for method in found if method is not None),
            key=lambda method: (method.family, method.name),
        )
    )


def _public_names() -> Iterator[tuple[ModuleType, str]]:
    """Names that the families export, without importing them."""
    for family in FAMILIES:
        package = importlib.import_module(f"sidelight.{family}")
        for public in package.__all__:
            yield package, public


def _method(package: ModuleType, public: str) -> Method | None:
    """Return an exported estimator as a method; ``None`` for anything else."""
    cls = getattr(package, public)
    if not (isinstance(cls, type) and issubclass(cls, ConstrainedEstimator)):
        return None
    family = package.__name__.rpartition(".")[2]
    return Method(command_name(public), family, cls, cls().__sidelight_tags__())


def command_name(class_name: str) -> str:
    """Derive the name on the command line from the name of a class.

    Words are joined by dashes; "KMeans" and "KMedians" stay one word with an acronym before them,
    and "Classifier" at the end goes without saying.

    Examples
    --------
    >>> from sidelight.catalog import command_name
    >>> [command_name(name) for name in ("SeededKMeans", "PCKMeans", "RCA", "AssembleClassifier")]
    ['seeded-kmeans', 'pckmeans', 'rca', 'assemble']
    """
    parted = re.sub(
        r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])(?!Means|Medians)",
        "-",
        class_name.removesuffix("Classifier"),
    )
    return parted.lower()


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")
