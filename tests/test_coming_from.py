"""Tables "theirs -> ours" of the pages for those who come from another package.

The names of the other side are written down here, so that a parameter that a page leaves out is
missed without the package; where it is installed, they are compared with it.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

from sidelight import Constraints, metric
from sidelight._fit.parameters import declared

PAGE = Path(__file__).parent.parent / "docs" / "coming_from" / "metric_learn.rst"

#: Parameters of metric-learn 0.7.0, by the table that they stand in.
THEIRS = {
    "ITML": "gamma max_iter tol prior verbose preprocessor random_state convergence_threshold",
    "ITML_Supervised": "gamma max_iter tol n_constraints prior verbose preprocessor random_state "
    "num_constraints convergence_threshold",
    "MMC": "max_iter max_proj tol init diagonal diagonal_c verbose preprocessor random_state "
    "convergence_threshold",
    "MMC_Supervised": "max_iter max_proj tol n_constraints init diagonal diagonal_c verbose "
    "preprocessor random_state num_constraints convergence_threshold",
    "RCA": "n_components preprocessor",
    "RCA_Supervised": "n_components n_chunks chunk_size preprocessor random_state num_chunks",
    "Covariance": "preprocessor",
    "Constraints": "partial_labels",
}
OF_FIT = {
    "ITML": "bounds calibration_params",
    "ITML_Supervised": "bounds",
    "MMC": "calibration_params",
    "RCA": "chunks",
}
WITHOUT = "LMNN LSML LSML_Supervised SDML SDML_Supervised NCA LFDA MLKR SCML SCML_Supervised"


def tables() -> dict[str, dict[str, str]]:
    """Rows of every table with a title that names classes: what is theirs to what is ours."""
    text = PAGE.read_text(encoding="utf-8")
    found = {}
    for title, body in re.findall(
        r"^\.\. list-table:: (.+)\n((?:   .*\n|\n)+)", text, re.MULTILINE
    ):
        rows = re.findall(r"\* - (.+?)\n     - (.+?)(?=\n   \*|\Z)", body, re.DOTALL)
        found |= {name: dict(rows) for name in re.findall(r"``(\w+)``", title)}
    return found


TABLES = tables()


@pytest.mark.parametrize("name", THEIRS)
def test_every_parameter_has_a_counterpart_or_a_reason(name: str) -> None:
    table = TABLES[name]
    for parameter in THEIRS[name].split():
        assert f"``{parameter}``" in table, parameter
    for parameter in OF_FIT.get(name, "").split():
        assert f"``fit``: ``{parameter}``" in table, parameter
    for theirs, ours in table.items():
        if ours.startswith("none"):
            assert re.match(r"none(: |, as ``)", ours), f"{theirs}: no reason"


@pytest.mark.parametrize("name", TABLES)
def test_what_is_ours_is_there(name: str) -> None:
    for ours in TABLES[name].values():
        for cls, parameter in re.findall(r"``(\w+)\.(\w+)``", ours):
            assert parameter in declared(getattr(metric, cls)), f"{cls}.{parameter}"
        for method, arguments in re.findall(r"``Constraints\.(\w+)\((.*?)\)``", ours):
            known = inspect.signature(getattr(Constraints, method)).parameters
            assert set(re.findall(r"(\w+)=", arguments)) <= set(known)


def test_classes_without_a_counterpart_are_named_with_a_reason() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in WITHOUT.split():
        row = re.search(rf"\* - [^\n]*``{name}``[^\n]*\n     - no counterpart: ", text)
        assert row is not None, name


def test_the_names_are_those_of_metric_learn() -> None:
    theirs = pytest.importorskip("metric_learn")
    named = {*THEIRS, *WITHOUT.split(), "__version__"}
    assert named == set(importlib.import_module("metric_learn").__all__)
    for name, parameters in THEIRS.items():
        signature = inspect.signature(getattr(theirs, name).__init__).parameters
        assert {*parameters.split(), "self"} == set(signature), name
