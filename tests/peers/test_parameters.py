"""The tables "theirs, ours" of the coming-from pages: every parameter of every class they name."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sklearn
from tests.peers.__main__ import RELEASE

import sidelight.active
from sidelight import catalog

DOCS = Path(__file__).parents[2] / "docs" / "coming_from"
TABLES = sorted((DOCS / "parameters").glob("*.csv"))
#: Where the classes of a table are found, if they are installed.
PEERS = {
    "scikit_learn": "sklearn",
    "scikit_learn_manifold": "sklearn",
    "active_semi_supervised_clustering": "active_semi_clustering",
    "kmeans_constrained": "k_means_constrained",
    "metric_learn": "metric_learn",
}
#: What stands in place of a parameter of ours.
WITHOUT = {"none", "not needed"}


def rows(table: Path) -> Iterator[dict[str, str]]:
    with table.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def ours(name: str) -> Any:
    """Return a class of Sidelight by its name."""
    for method in catalog.methods():
        if method.cls.__name__ == name:
            return method.cls
    return getattr(sidelight.active, name)


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_what_stands_for_a_parameter_is_there(table: Path) -> None:
    for row in rows(table):
        assert None not in row.values(), f"{table.name}: a comma too few in {row}"
        assert None not in row, f"{table.name}: a comma too many in {row}"
        if row["here"] in WITHOUT:
            assert row["note"], f"{row['class']}({row['parameter']}): say why"
            continue
        match = re.fullmatch(r"(\w+)(?:\.(\w+))?\((\w+)\)", row["here"])
        assert match, row
        place = ours(match[1])
        place = getattr(place, match[2]) if match[2] else place
        assert match[3] in inspect.signature(place).parameters, row["here"]


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_a_page_shows_its_table(table: Path) -> None:
    page = (DOCS / f"{table.stem}.rst").read_text(encoding="utf-8")
    assert f":file: parameters/{table.name}" in page


@pytest.mark.parametrize("table", [path for path in TABLES if path.stem in PEERS], ids=str)
def test_every_parameter_of_a_peer_has_its_row(table: Path) -> None:
    peer = PEERS[table.stem]
    if peer == "sklearn" and not sklearn.__version__.startswith(RELEASE):
        pytest.skip(f"the tables are about {RELEASE}; make peers says what is new")
    if importlib.util.find_spec(peer) is None:
        pytest.skip(f"{peer} is not installed; make bench and make peers bring it")
    named = defaultdict(set)
    for row in rows(table):
        named[row["class"]].add(row["parameter"])
    for name, parameters in named.items():
        module, _, cls = name.rpartition(".")
        place = importlib.import_module(".".join(filter(None, [peer, module])))
        theirs = getattr(place, cls, None)
        if theirs is None:  # another release of the peer
            continue
        assert parameters == set(inspect.signature(theirs).parameters), name
