"""One table of names: every parameter and fitted attribute of every method stands in it.

``docs/names`` holds the table and ``docs/conventions.rst`` shows it.
"""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.common.models import fitted

from sidelight import catalog
from sidelight._fit.parameters import declared
from sidelight.catalog import Method

METHODS = catalog.methods()
of_all_methods = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)

#: Attributes that a fit with default parameters need not set, and what sets them.
NOT_ALWAYS = {
    "category_probabilities_": "categorical columns",
    "coef_": "a linear kernel",
    "dual_coef_": "another kernel",
    "loadings_": "low-rank covariances",
    "noise_variances_": "low-rank covariances",
    "row_map_": "another kernel",
    "search_": "a choice that is left to the method",
    "splits_": "a recursive partition",
    "support_": "another kernel",
    "threshold_": "pairs of both kinds",
}
#: Set by scikit-learn's own validation.
SCIKIT_LEARN = {"n_features_in_", "feature_names_in_"}


@pytest.fixture(scope="module")
def tables(docs_module: Any) -> Any:
    return docs_module("name_tables")


@dataclass(frozen=True)
class Type:
    """A type as a type line has it, taken apart.

    Attributes
    ----------
    words : frozenset of str
        Choices by name.
    ranges : dict of str to (float, bool, float, bool)
        Range of an ``int`` or a ``float``: its ends, and whether they are excluded.
    others : frozenset of str
        All else.
    """

    words: frozenset[str]
    ranges: dict[str, tuple[float, bool, float, bool]]
    others: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Type:
        words = frozenset(re.findall(r'"[^"]*"', text))
        ranges, others = {}, set()
        for part in re.sub(r'\{[^}]*\}|"[^"]*"', "", text).split(" or "):
            found = NUMBER.fullmatch(part.strip())
            if found:
                ranges[found["noun"]] = range_of(found)
            elif part.strip():
                others.add(part.strip())
        return cls(words, ranges, frozenset(others))

    def is_part_of(self, whole: Type) -> bool:
        return (
            self.words <= whole.words | ({*self.words} if "str" in whole.others else set())
            and self.others <= whole.others
            and all(
                noun in whole.ranges and within(one, whole.ranges[noun])
                for noun, one in self.ranges.items()
            )
        )


NUMBER = re.compile(
    r"(?P<noun>int|float)"
    r"(?: in (?P<left>[\[(])(?P<low>[\d.]+), (?P<high>[\d.]+)(?P<right>[\])])"
    r"| (?P<sign>>=?) (?P<least>[\d.]+)(?P<finite>, finite)?)?"
)


def range_of(found: re.Match[str]) -> tuple[float, bool, float, bool]:
    if found["left"]:
        ends = float(found["low"]), float(found["high"])
        return ends[0], found["left"] == "(", ends[1], found["right"] == ")"
    if found["sign"]:
        return float(found["least"]), found["sign"] == ">", math.inf, bool(found["finite"])
    return -math.inf, False, math.inf, False


def within(one: tuple[float, bool, float, bool], other: tuple[float, bool, float, bool]) -> bool:
    low, low_open, high, high_open = one
    least, least_open, most, most_open = other
    above = low > least or (low == least and low_open >= least_open)
    return above and (high < most or (high == most and high_open >= most_open))


def attribute_entries(cls: type) -> dict[str, str]:
    """Name and type of the entries of the section "Attributes", shapes left out."""
    text = inspect.getdoc(cls) or ""
    _, _, rest = text.partition("\nAttributes\n----------\n")
    section = re.split(r"\n\n[^\n]+\n-{3,}\n", rest, maxsplit=1)[0].replace("\\\n", "")
    heads = re.findall(r"^(\w+_(?:, \w+_)*) : (.+)$", section, flags=re.MULTILINE)
    return {name: without_shape(kind) for names, kind in heads for name in names.split(", ")}


def without_shape(kind: str) -> str:
    return re.sub(r",? (?:of )?shape \(.*?\)(?=$| or [^(])", "", kind).strip()


def test_a_type_is_part_of_another() -> None:
    wide = Type.of('float >= 0 or {"auto", "exact"} or array or None')
    for part in ("float > 0, finite", "float in (0, 1]", '"auto"', 'array or "exact"', "None"):
        assert Type.of(part).is_part_of(wide)
    for other in ("float", "float >= -1", "int >= 0", '{"auto", "other"}', "tuple", "bool"):
        assert not Type.of(other).is_part_of(wide)
    assert not Type.of("float >= 0").is_part_of(Type.of("float > 0"))
    assert not Type.of("float >= 0").is_part_of(Type.of("float >= 0, finite"))
    assert without_shape("ndarray of int32, shape (n_samples,)") == "ndarray of int32"
    assert without_shape("ndarray of shape (n,) or (n, k)") == "ndarray"
    assert without_shape("ndarray of shape (n,) or None") == "ndarray or None"


@of_all_methods
def test_parameters_stand_in_the_table(method: Method, tables: Any) -> None:
    rows = tables.read("parameters")
    for name, parameter in declared(method.cls).items():
        row = tables.row_of(rows, name, method.family)
        assert row is not None, f"{name} is not in docs/names/parameters.csv"
        assert Type.of(parameter.type_text).is_part_of(Type.of(row.type)), (
            f"{name} is {parameter.type_text}, and {row.type} in docs/names/parameters.csv"
        )


@of_all_methods
def test_attributes_stand_in_the_table(method: Method, tables: Any) -> None:
    rows = tables.read("attributes")
    for name, kind in attribute_entries(method.cls).items():
        row = tables.row_of(rows, name, method.family)
        assert row is not None, f"{name} is not in docs/names/attributes.csv"
        allowed = set(row.type.split(" or "))
        assert set(kind.split(" or ")) <= allowed, f"{name} is {kind}, and {row.type} in the table"


@of_all_methods
def test_what_fit_sets_is_what_is_documented(method: Method) -> None:
    model, documented = fitted(method), attribute_entries(method.cls)
    own = {name for name in vars(model) if re.fullmatch(r"[a-zA-Z]\w*_", name)}
    derived = {
        name
        for name in dir(method.cls)
        if re.fullmatch(r"[a-zA-Z]\w*_", name)
        and isinstance(inspect.getattr_static(method.cls, name), property)
    }
    assert (own | derived) - SCIKIT_LEARN <= documented.keys()
    missing = {name for name in documented if not hasattr(model, name)}
    assert missing <= NOT_ALWAYS.keys()


@of_all_methods
def test_fitted_values_have_the_documented_type(method: Method) -> None:
    model = fitted(method)
    for name, kind in attribute_entries(method.cls).items():
        if hasattr(model, name):
            value = getattr(model, name)
            assert any(is_of_type(value, one) for one in kind.split(" or ")), (
                f"{name} is documented as {kind} and is {type(value).__name__}"
            )


def is_of_type(value: Any, kind: str) -> bool:
    if kind.startswith("{"):
        return repr(value).replace("'", '"') in kind
    if kind.startswith("ndarray"):
        of = kind.removeprefix("ndarray").removeprefix(" of ")
        return isinstance(value, np.ndarray) and value.dtype.kind in KINDS.get(
            of.rstrip("0123456789"), ""
        )
    for container, plain in (("tuple", tuple), ("list", list), ("dict", dict)):
        if kind == container or kind.startswith(f"{container} of "):
            return isinstance(value, plain) and (container != "dict" or holds(value, kind))
    if kind in PLAIN:
        return isinstance(value, PLAIN[kind])
    if kind == "table of texts":
        return len(np.shape(value)) == 2
    return kind == "object" or type(value).__name__ == kind


def holds(value: dict[Any, Any], kind: str) -> bool:
    """Whether keys and values of a dict are what ``dict of str to float`` says."""
    key, item = kind.removeprefix("dict of ").split(" to ")
    return all(is_of_type(one, key) and is_of_type(value[one], item) for one in value)


#: Kinds of element types; without a word any of them.
KINDS = {"": "biufOUSM", "int": "iu", "bool": "b", "float": "f", "object": "O", "str": "UO"}
PLAIN: dict[str, Any] = {
    "None": type(None),
    "bool": (bool, np.bool_),
    "int": (int, np.integer),
    "float": (float, np.floating),
    "str": str,
    "csr_array": sparse.csr_array,
}


def test_the_table_has_no_name_that_no_method_has(tables: Any) -> None:
    used = {
        "parameters": {(m.family, name) for m in METHODS for name in declared(m.cls)},
        "attributes": {(m.family, name) for m in METHODS for name in attribute_entries(m.cls)},
    }
    for role, names in used.items():
        rows = tables.read(role)
        assert [row.name for row in rows] == sorted(
            (row.name for row in rows), key=lambda name: (name.lower(), name)
        )
        assert len({(row.name, row.family) for row in rows}) == len(rows)
        for row in rows:
            families = {family for family, name in names if name == row.name}
            assert row.family in families if row.family else families, row
            assert Type.of(row.type) != Type.of(""), row
            assert re.fullmatch(r"\S.*[.]", row.meaning), row


def test_no_choice_of_the_table_is_unused(tables: Any) -> None:
    rows = tables.read("parameters")
    used: dict[Any, set[str]] = {}
    for method in METHODS:
        for name, parameter in declared(method.cls).items():
            row = tables.row_of(rows, name, method.family)
            parts = Type.of(parameter.type_text)
            used.setdefault(row, set()).update(parts.words | parts.others | parts.ranges.keys())
    for row, parts in used.items():
        whole = Type.of(row.type)
        assert whole.words | whole.others | whole.ranges.keys() == parts, row


def test_the_page_shows_the_tables(tables: Any) -> None:
    page = tables.NAMES.parent / "conventions.rst"
    text = page.read_text(encoding="utf-8")
    assert tables.page_with_tables(text) == text
    assert all(f"``{row.name}``" in text for role in tables.ROLES for row in tables.read(role))
