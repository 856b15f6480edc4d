"""The catalog is made from tags, nothing else."""

import importlib
import re
import subprocess
import sys

import pytest

from sidelight import catalog, cluster
from sidelight.base import ConstrainedEstimator
from sidelight.exceptions import SidelightError
from sidelight.tags import KINDS, KNOWLEDGE


def test_every_public_estimator_is_in_the_catalog_once():
    packages = [importlib.import_module(f"sidelight.{family}") for family in catalog.FAMILIES]
    estimators = {
        public
        for package in packages
        for public in package.__all__
        if isinstance(getattr(package, public), type)
        and issubclass(getattr(package, public), ConstrainedEstimator)
    }
    found = [method.cls.__name__ for method in catalog.methods()]
    assert sorted(found) == sorted(estimators)
    names = [method.name for method in catalog.methods()]
    assert len(set(names)) == len(names)


def test_filters_are_the_tags():
    for kind in KNOWLEDGE:
        expected = tuple(m for m in catalog.methods() if kind in m.tags.knowledge)
        assert catalog.methods(knowledge=kind) == expected
    hard = catalog.methods(enforcement="hard")
    assert {method.tags.enforcement for method in hard} == {"hard"}
    families = [catalog.methods(family=family) for family in catalog.FAMILIES]
    assert sum(families, ()) == catalog.methods()
    kinds = [catalog.methods(kind=kind) for kind in KINDS]
    assert sum(map(len, kinds)) == len(catalog.methods())
    assert all(kinds)
    assert catalog.methods(family="nothing") == ()
    with pytest.raises(SidelightError, match="must-link, cannot-link"):
        catalog.methods(knowledge="gossip")


@pytest.mark.parametrize("name", ["copkmeans", "COPKMeans", "cop-kmeans", "COP K_Means"])
def test_case_and_dashes_do_not_matter(name):
    assert catalog.get(name).cls is cluster.COPKMeans


def test_suggestions_are_of_the_kind_that_was_asked_for():
    for name in ("dbscan", "rcakmeans", "itmm"):
        with pytest.raises(SidelightError) as caught:
            catalog.get(name, kind="clusterer")
        meant = str(caught.value).partition(";")[2]
        named = [m for m in catalog.methods() if re.search(rf"\b{m.name}\b", meant)]
        assert named
        assert {m.tags.kind for m in named} == {"clusterer"}


def test_unknown_methods_get_suggestions():
    with pytest.raises(SidelightError, match=r"no method 'pkmeans'; did you mean .*pckmeans"):
        catalog.get("pkmeans")
    with pytest.raises(SidelightError, match=r"there are .*copkmeans.*kmeans"):
        catalog.get("zzz")


def test_every_method_is_found_by_both_names_and_alone():
    for method in catalog.methods():
        assert catalog.get(method.name) == method
        assert catalog.get(method.cls.__name__) == method
    program = (
        "import sys; from sidelight import catalog; catalog.get('pckmeans'); "
        "assert 'sidelight._fit.em.loop' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
