"""The bundled customers: the files are what the generator makes, and the story is true."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from sidelight.cluster import PCKMeans
from sidelight.datasets import customers_paths, load_customers, make_mixed_customers
from sidelight.datasets.tables._customers import MARKETS, customers_csv, customers_links_csv
from sidelight.evaluation import adjusted_rand_index, constraint_satisfaction
from sidelight.preparation import TablePreparer


@pytest.fixture(scope="module")
def features():
    return TablePreparer(drop=["segment"]).fit_transform(customers_paths()[0])


def test_bundled_files_are_what_the_generator_makes():
    data, links = customers_paths()
    assert data.read_text(encoding="utf-8") == customers_csv()
    assert links.read_text(encoding="utf-8") == customers_links_csv()
    assert data.stat().st_size < 60_000


def test_contents():
    customers, known = load_customers()
    columns = customers.columns
    assert {len(values) for values in columns.values()} == {400}
    assert len(set(customers.ids)) == 400
    assert np.bincount(customers.target).tolist() == [134, 133, 133]
    gaps = {name: sum(value is None for value in values) for name, values in columns.items()}
    assert 30 < gaps.pop("income_eur") < 70
    assert 90 < gaps.pop("comment") < 150
    assert not any(gaps.values())
    assert set(columns["newsletter"]) == {"yes", "no"}
    assert set(columns["satisfaction"]) == {"low", "medium", "high"}
    assert known.n_samples == 400
    assert known.n_pairs == 30


def test_a_table_of_any_size_is_made_again_from_its_seed():
    one, again = (make_mixed_customers(37, random_state=5) for _ in range(2))
    assert one.columns == again.columns
    assert one.n_samples == 37
    assert make_mixed_customers(37, random_state=6).columns != one.columns


def test_market_and_segment_have_nothing_to_do_with_each_other():
    customers = make_mixed_customers(6000, random_state=0)
    old = np.isin(customers.columns["country"], list(MARKETS[0].places))
    shares = [old[customers.target == segment].mean() for segment in range(3)]
    np.testing.assert_allclose(shares, 0.5, atol=0.04)


def test_what_the_shop_knows_is_right_and_spans_both_markets():
    customers, known = load_customers()
    assert constraint_satisfaction(known, customers.target) == 1
    old = np.isin(customers.columns["country"], list(MARKETS[0].places))
    assert np.any(old[known.must_link[:, 0]] != old[known.must_link[:, 1]])


def test_numbers_as_they_are_find_nothing():
    customers, _ = load_customers()
    income = np.array([np.nan if v is None else v for v in customers.columns["income_eur"]])
    income[np.isnan(income)] = np.nanmean(income)
    numbers = np.column_stack([income, customers.columns["orders"], customers.columns["zip"]])
    labels = KMeans(3, n_init=10, random_state=0).fit_predict(numbers)
    assert adjusted_rand_index(customers.target, labels) < 0.05


def test_prepared_columns_find_a_part_and_knowledge_the_segments(features):
    customers, known = load_customers()
    labels = KMeans(3, n_init=10, random_state=0).fit_predict(features)
    assert adjusted_rand_index(customers.target, labels) < 0.6
    labels = PCKMeans(3, random_state=0).fit(features, constraints=known).labels_
    assert adjusted_rand_index(customers.target, labels) > 0.8
