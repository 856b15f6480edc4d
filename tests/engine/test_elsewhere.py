"""What a method says to rows that it cannot read block by block."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cloudpickle import dumps
from sklearn.datasets import make_blobs
from tests.common.models import data_for, make
from tests.common.partitions import cut

from sidelight import Constraints, catalog
from sidelight.base._answers import _Answer, _travelling
from sidelight.engine import as_rows
from sidelight.engine.partitioned._local import LocalEngine
from sidelight.engine.partitioned._rows import PartitionedRows
from sidelight.exceptions import SidelightError

IN_MEMORY = [method for method in catalog.methods() if not method.tags.out_of_core]
READING = {method.cls.__name__ for method in catalog.methods() if method.tags.out_of_core}
#: Methods that read blocks with some settings.
SOMETIMES = {"SpectralClustering", "ConstraintScore", "ConstrainedLPP"}


@pytest.mark.parametrize("method", IN_MEMORY, ids=lambda method: method.name)
def test_a_fit_in_memory_names_what_to_take_instead(method: Any) -> None:
    data = data_for(method)
    rows = PartitionedRows(LocalEngine(cut(data.X, 2)))
    with pytest.raises(SidelightError, match="in memory") as caught:
        make(method).fit(rows, constraints=data.known)
    message = str(caught.value)
    assert set(re.findall(r"\b\w+\b", message)) & (READING | SOMETIMES)
    assert message.startswith(method.cls.__name__)
    if hasattr(method.cls, "predict") or hasattr(method.cls, "transform"):
        assert "block by block" in message
        assert "sample" in message


@pytest.mark.parametrize(
    "name",
    ["rca", "itml", "cannot-link-metric", "constrained-pca", "kohonen-map", "soft-topographic-map"],
)
def test_an_answer_is_sent_without_the_rows_of_the_fit(name: str) -> None:
    method = catalog.get(name)
    sizes = []
    for n in (200, 1200):
        X = make_blobs(n, n_features=4, centers=3, random_state=0)[0]
        labels = Constraints.from_labels(np.where(np.arange(n) < 20, np.arange(n) % 3, -1))
        model = make(method).fit(as_rows(X), constraints=labels)
        sizes.append(len(dumps(_Answer(_travelling(model), "transform", {}))))
    assert sizes[1] < sizes[0] + 1000


def test_answers_about_rows_of_another_shape_are_refused() -> None:
    method = catalog.get("isomap")
    model = make(method).fit(data_for(method).X)
    with pytest.raises(ValueError, match="X has 2 features, but Isomap is expecting"):
        model.transform(as_rows(np.zeros((3, 2))))


def test_names_of_columns_and_containers_do_not_matter_to_blocks() -> None:
    method = catalog.get("rca")
    data = data_for(method)
    table = pd.DataFrame(data.X, columns=list("abcde"))
    model = make(method).fit(table, constraints=data.known)
    here = model.transform(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        there = model.set_output(transform="pandas").transform(as_rows(data.X))
    np.testing.assert_allclose(np.asarray(there), here)
    assert isinstance(there, pd.DataFrame)


def test_what_goes_with_the_rows_is_refused() -> None:
    method = catalog.get("connected-kmeans")
    data = data_for(method)
    model = make(method).fit(data.X, constraints=data.known)
    none = np.zeros((len(data.X), len(data.X)))
    with pytest.raises(SidelightError, match="neighbors= goes with rows in memory"):
        model.predict(as_rows(data.X), neighbors=none)
