"""The preparer among scikit-learn's own parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.preparation.tables import mixed_table

from sidelight import Constraints
from sidelight.cluster import PCKMeans
from sidelight.preparation import TablePreparer

BY_NAME = "columns are found by their names, in any order, and those set aside need not be there"


def expected_failures(estimator: Any) -> dict[str, str]:
    return {"check_dataframe_column_names_consistency": BY_NAME}


@parametrize_with_checks([TablePreparer()], expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_float32_stays_float32() -> None:
    X = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
    assert TablePreparer().fit_transform(X).dtype == np.float32
    assert TablePreparer().fit(X).transform(X).dtype == np.float32
    assert TablePreparer().fit_transform(X.astype(np.float64)).dtype == np.float64


def test_an_array_is_a_table_of_numbers() -> None:
    X = np.random.default_rng(0).normal(5, 3, size=(50, 4))
    preparer = TablePreparer().fit(X)
    np.testing.assert_allclose(preparer.transform(X), (X - X.mean(0)) / X.std(0))
    assert preparer.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]


def test_a_pipeline_with_constraints_and_pandas_out() -> None:
    table = mixed_table(0, 80)
    table.index = [f"c{i}" for i in range(80)]
    known = Constraints(must_link=[("c0", "c1")], cannot_link=[("c0", "c2")], ids=table.index)
    preparer = TablePreparer().set_output(transform="pandas")
    shuffled = table.sample(frac=1.0, random_state=0)
    model = make_pipeline(preparer, PCKMeans(n_clusters=2, penalty=1e6, random_state=0))
    model.fit(shuffled, pckmeans__constraints=known)
    labels = pd.Series(model[-1].labels_, index=shuffled.index)
    assert labels["c0"] == labels["c1"] != labels["c2"]


@pytest.mark.parametrize("rows", [[[1.0, "a"], [2.0, "b"], [3.0, "a"]]])
def test_lists_of_mixed_rows(rows: Any) -> None:
    preparer = TablePreparer().fit(rows)
    assert [plan.kind for plan in preparer.plan_] == ["number", "category"]
