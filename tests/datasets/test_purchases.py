"""0/1 tables with planted clusters of both sides."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight.datasets import make_purchases
from sidelight.evaluation import jump_number
from sidelight.exceptions import SidelightError
from sidelight.io import read_table


@given(st.integers(1, 4), st.sampled_from(["products", "weeks"]), st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_ones_are_where_the_clusters_say(k, over, seed):
    bought = make_purchases(
        5 * k, 3 * k, over=over, n_clusters=k, density=1.0, noise=0.0, random_state=seed
    )
    np.testing.assert_array_equal(bought.X, bought.target[:, None] == bought.column_target)
    assert set(bought.target) == set(bought.column_target) == set(range(k))
    assert len(set(bought.columns)) == 3 * k
    assert len(set(bought.customers)) == 5 * k
    if over == "weeks":
        assert jump_number(bought.column_target) == 0


def test_shares_of_ones():
    bought = make_purchases(600, 90, density=0.6, noise=0.1, random_state=0)
    inside = bought.target[:, None] == bought.column_target
    assert bought.X[inside].mean() == pytest.approx(0.6, abs=0.01)
    assert bought.X[~inside].mean() == pytest.approx(0.1, abs=0.01)
    np.testing.assert_array_equal(
        bought.X, make_purchases(600, 90, density=0.6, noise=0.1, random_state=0).X
    )


def test_files(tmp_path):
    bought = make_purchases(9, 6, random_state=0)
    bought.write(tmp_path / "sales.csv", truth=True)
    table = read_table(tmp_path / "sales.csv", truth_column="group")
    np.testing.assert_array_equal(table.X, bought.X)
    assert table.ids.tolist() == bought.customers.tolist()
    assert table.truth.tolist() == bought.target.tolist()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_customers": 0}, "n_customers must be"),
        ({"over": "days"}, "over must be"),
        ({"density": 1.5}, "density must be"),
        ({"n_columns": 2}, "3 clusters need as many customers and columns"),
    ],
)
def test_wrong_options(options, says):
    with pytest.raises(SidelightError, match=says):
        make_purchases(**options)
