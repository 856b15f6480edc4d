"""A pytest plugin that puts our methods where scikit-learn's are, before its tests are read.

``make peers`` runs the tests that scikit-learn is installed with under this plugin. Parameters go
by the tables of ``docs/coming_from/parameters``: what has a counterpart is renamed, what only says
how to compute is passed over, and what has no counterpart is an error, as it is for a user.
"""

from __future__ import annotations

import csv
import functools
import importlib
import inspect
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sidelight import evaluation

PARAMETERS = Path(__file__).parents[2] / "docs" / "coming_from" / "parameters"
#: Tables that tell of scikit-learn.
TABLES = ("scikit_learn", "scikit_learn_manifold")
CLASSES = {
    "cluster.KMeans": "cluster.KMeans",
    "cluster.AgglomerativeClustering": "cluster.ConstrainedAgglomeration",
    "cluster.SpectralClustering": "cluster.SpectralClustering",
    "mixture.GaussianMixture": "mixture.GaussianMixture",
    "manifold.Isomap": "manifold.Isomap",
    "manifold.LocallyLinearEmbedding": "manifold.LocallyLinearEmbedding",
    "manifold.SpectralEmbedding": "manifold.LaplacianEigenmap",
    "decomposition.KernelPCA": "manifold.KernelPCA",
    "semi_supervised.LabelPropagation": "semi_supervised.HarmonicClassifier",
    "semi_supervised.LabelSpreading": "semi_supervised.LabelSpreadingClassifier",
    "semi_supervised.SelfTrainingClassifier": "semi_supervised.SelfTrainingClassifier",
}
SCORES = {
    "rand_score": evaluation.rand_index,
    "adjusted_rand_score": evaluation.adjusted_rand_index,
    "adjusted_mutual_info_score": evaluation.adjusted_mutual_information,
    "normalized_mutual_info_score": evaluation.normalized_mutual_information,
}


def _width(gamma: float | None) -> Any:
    """Return the width of a Gaussian whose factor of the squared distance is ``gamma``."""
    return "auto" if gamma is None else 1 / np.sqrt(2 * gamma)


def _similarity_graph(given: dict[str, Any]) -> dict[str, Any]:
    graphs = {
        "rbf": {"graph": "full", "weights": "gaussian"},
        "nearest_neighbors": {"graph": "neighbors", "weights": "connectivity"},
    }
    affinity, gamma = given.pop("affinity", "rbf"), given.pop("gamma", 1.0)
    chosen = graphs.get(affinity, {"graph": affinity})
    return chosen | ({"sigma": _width(gamma)} if affinity == "rbf" else {}) | given


def _label_graph(given: dict[str, Any]) -> dict[str, Any]:
    kernel, gamma = given.pop("kernel", "rbf"), given.pop("gamma", 20)
    graph: dict[str, Any] = {"graph": kernel}
    if kernel == "rbf":
        graph = {"graph": "full", "sigma": _width(gamma)}
    elif kernel == "knn":
        graph = {"graph": "neighbors", "weights": "connectivity", "n_neighbors": 7}
    return graph | {"class_shares": "free"} | given  # theirs takes no shares


def _heat_graph(given: dict[str, Any]) -> dict[str, Any]:
    affinity, gamma = given.pop("affinity", "nearest_neighbors"), given.pop("gamma", None)
    if affinity == "rbf":
        heat = "auto" if gamma is None else 1 / (4 * gamma)
        return {"graph": "full", "weights": "heat", "time": heat} | given
    if affinity == "precomputed_nearest_neighbors":
        return {"metric": "precomputed"} | given
    return {"graph": "neighbors" if affinity == "nearest_neighbors" else affinity} | given


def _neighborhood(given: dict[str, Any]) -> dict[str, Any]:
    if given.get("n_neighbors", 1) is None:  # theirs asks for one of both, here a radius wins
        del given["n_neighbors"]
    if given.pop("p", 2) == 2 and given.get("metric") == "minkowski":
        given["metric"] = "euclidean"
    return given


def _kernel(given: dict[str, Any]) -> dict[str, Any]:
    if given.get("kernel", "linear") == "poly":
        given["kernel"] = "polynomial"
    if given.get("gamma", 1.0) is None:
        given["gamma"] = "auto"
    return {"kernel": "linear"} | given


#: What is said by other values than theirs, by class.
VALUES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "cluster.SpectralClustering": _similarity_graph,
    "semi_supervised.LabelPropagation": _label_graph,
    "semi_supervised.LabelSpreading": _label_graph,
    "manifold.Isomap": _neighborhood,
    "manifold.SpectralEmbedding": _heat_graph,
    "decomposition.KernelPCA": _kernel,
}


@functools.cache
def names_of(theirs: str) -> dict[str, str]:
    """Return what stands for each parameter of a class of theirs; empty where nothing has to."""
    found = {}
    for table in TABLES:
        with (PARAMETERS / f"{table}.csv").open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                match = re.fullmatch(r"\w+\((\w+)\)", row["here"])
                if row["class"] == theirs and (match or row["here"] == "not needed"):
                    found[row["parameter"]] = match[1] if match else ""
    return found


def translated(theirs: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of ours for those of a class of theirs."""
    given = VALUES.get(theirs, lambda given: given)(dict(given))
    names = names_of(theirs)
    return {names.get(name, name): value for name, value in given.items() if names.get(name, name)}


def stand_in(theirs: str, original: Any) -> Callable[..., Any]:
    """Return what makes an object of ours where theirs is asked for."""
    module, name = CLASSES[theirs].split(".")
    ours = getattr(importlib.import_module(f"sidelight.{module}"), name)

    @functools.wraps(original, updated=())
    def make(*args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(original).bind_partial(*args).arguments
        return ours(**translated(theirs, given | kwargs))

    return make


def put_in_place() -> None:
    """Replace the classes and scores of scikit-learn by ours."""
    for theirs in CLASSES:
        package, _, name = theirs.rpartition(".")
        door = importlib.import_module(f"sklearn.{package}")
        original = getattr(door, name)
        for place in (door, importlib.import_module(original.__module__)):
            setattr(place, name, stand_in(theirs, original))
    for name, score in SCORES.items():
        original = getattr(importlib.import_module("sklearn.metrics"), name)
        for module in ("sklearn.metrics", "sklearn.metrics.cluster", original.__module__):
            setattr(importlib.import_module(module), name, score)


# --- the plugin -------------------------------------------------------------------------------

_outcomes: dict[str, str] = {}


def pytest_configure() -> None:
    put_in_place()


def pytest_runtest_logreport(report: Any) -> None:
    name = report.nodeid.rpartition("::")[2]
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        _outcomes[name] = str(crash.message if crash else report.longrepr)[:400]
    elif report.when == "call" and report.passed:
        _outcomes.setdefault(name, "")


def pytest_sessionfinish() -> None:
    Path(os.environ["PEER_OUTCOMES"]).write_text(json.dumps(_outcomes), encoding="utf-8")
