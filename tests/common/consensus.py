"""Checks of estimators that find one partition for several."""

from __future__ import annotations

import numpy as np
import pytest
from tests.common.models import data_for, fitted, make

from sidelight.catalog import Method


def check_a_single_partition_is_its_own_consensus(method: Method) -> None:
    y = data_for(method).y
    model = make(method).fit(y[:, None].astype(float))
    assert model.objective_ == 0.0
    np.testing.assert_array_equal(model.labels_[:, None] == model.labels_, y[:, None] == y)


def check_names_of_clusters_do_not_matter(method: Method) -> None:
    data = data_for(method)
    renamed = make(method).fit(7.0 - data.X, constraints=data.known)
    assert renamed.objective_ == pytest.approx(fitted(method).objective_)
