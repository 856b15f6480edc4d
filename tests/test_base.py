"""Rows that cannot be used are named the way the user names them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from sidelight.cluster import KMeans
from sidelight.metric import RCA

ROWS = np.arange(12.0).reshape(4, 3)
ROWS[2, 1] = ROWS[3, 0] = np.nan
WHERE = "The first is in row {}, column {}; 2 of 4 rows are affected: drop them, or fill"


@pytest.mark.parametrize("estimator", [KMeans(2), RCA()])
@pytest.mark.parametrize(
    ("rows", "row", "column"),
    [
        (ROWS, "2", "1"),
        (ROWS.astype(np.float32), "2", "1"),
        (sparse.csr_array(ROWS), "2", "1"),
        (pd.DataFrame(ROWS, index=list("abcd"), columns=["x", "y", "z"]), "'c'", "'y'"),
        (pl.DataFrame(ROWS, schema=["x", "y", "z"]), "2", "'y'"),
    ],
    ids=["float64", "float32", "sparse", "pandas", "polars"],
)
def test_values_that_are_not_there_are_located(estimator, rows, row, column):
    if sparse.issparse(rows) and isinstance(estimator, RCA):
        pytest.skip("takes dense rows only")
    with pytest.raises(ValueError, match="NaN") as caught:
        estimator.fit(rows)
    assert WHERE.format(row, column) in str(caught.value)


def test_infinite_values_and_columns_of_text():
    table = pd.DataFrame({"x": [1.0, np.inf], "y": [0.0, 1.0]}, index=["first", "second"])
    with pytest.raises(ValueError, match="row 'second', column 'x'; 1 of 2 rows"):
        KMeans(2).fit(table)
    with pytest.raises(ValueError, match=r"Columns \['name'\] are not numbers; drop them"):
        KMeans(2).fit(table.assign(name=["a", "b"]))
