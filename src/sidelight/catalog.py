"""One table of all methods, made from the tags of the estimators.

The command line, the docs' method table, the common tests and ``sidelight methods`` read it; a new
method is in all of them as soon as its family exports a class with tags.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

from sidelight._fit.parameters import declared
from sidelight.base import ConstrainedEstimator
from sidelight.exceptions import SidelightError
from sidelight.tags import KINDS, KNOWLEDGE, Kind, MethodTags

#: Parameters that set the number of clusters, dimensions or features.
SIZES = ("n_clusters", "n_components", "n_features_to_select")
FAMILIES = ("cluster", "feature_selection", "manifold", "metric", "mixture")

#: How alike a name has to be to be suggested, out of 1.
CLOSE = 0.6


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
        return next((name for name in SIZES if name in declared(self.cls)), None)

    @property
    def options(self) -> dict[str, str]:
        """Option of the command line that sets the size, by the names that messages have for it.

        Steps on the way, such as k-means for a start, call the same number by other names.
        """
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


def markdown_table() -> str:
    """The catalog as a Markdown table, for the docs and the README."""
    header = ("Method", "Uses", "How", "Sparse", "Out of core", "Source")
    lines = [header, ("---",) * len(header)]
    for method in _all_methods():
        tags = method.tags
        lines.append(
            (
                f"`{method.family}.{method.cls.__name__}`: {tags.summary}",
                ", ".join(tags.knowledge) or "nothing",
                tags.enforcement if tags.knowledge else "",
                "yes" if tags.sparse else "no",
                "yes" if tags.out_of_core else "no",
                tags.source,
            )
        )
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


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
    """Everything that the families export, without importing it."""
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

    Words are joined by dashes; "KMeans" and "KMedians" stay one word with an acronym before them.

    Examples
    --------
    >>> from sidelight.catalog import command_name
    >>> [command_name(name) for name in ("SeededKMeans", "PCKMeans", "MMLMixture", "RCA")]
    ['seeded-kmeans', 'pckmeans', 'mml-mixture', 'rca']
    """
    parted = re.sub(
        r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])(?!Means|Medians)", "-", class_name
    )
    return parted.lower()


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")
