"""Co-clusters are told beside what chance makes of the same table."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from sidelight import jobs
from sidelight.jobs.cocluster._chance import doubts, is_doubtful
from sidelight.jobs.cocluster._facts import Cocluster

METHODS = ["cdkmeans", "information-coclustering"]


def table(seed, *, planted):
    """60 rows and 12 columns; three blocks of 20 rows and 4 columns, or nothing."""
    rng = np.random.default_rng(seed)
    shares = np.full((60, 12), 0.25)
    if planted:
        shares = np.where(np.arange(60)[:, None] // 20 == np.arange(12) // 4, 0.8, 0.1)
    names = [f"c{column}" for column in range(12)]
    return pd.DataFrame((rng.random((60, 12)) < shares).astype(int), columns=names)


@pytest.mark.parametrize("method", METHODS)
def test_blocks_that_are_there_are_told_from_chance(method):
    found = jobs.run("cocluster", data=table(0, planted=True), k=3, method=method)
    facts = found.facts()
    assert len(facts["tau_by_chance"]) == 19
    assert facts["measures"]["tau"] > 2.0 * facts["tau_by_chance"][-1]
    assert facts["doubts"] == []
    assert " by chance)" in " ".join(str(part) for part in found.tell())


def test_tables_of_nothing_are_said_to_be_as_good_by_chance():
    said = 0
    for seed in range(6):
        data = table(seed, planted=False)
        found = jobs.run("cocluster", data=data, k=3, method="information-coclustering")
        said += any(text.startswith("Chance does as well: ") for text in found.described.doubts)
    assert said >= 4


@pytest.mark.parametrize("method", METHODS)
def test_shares_of_ones_can_be_counted_again(method):
    data = table(1, planted=False)
    found = jobs.run("cocluster", data=data, k=4, method=method)
    X, labels = data.to_numpy(), np.asarray(found.labels)
    blocks = found.described.blocks
    for one in found.described.coclusters:
        place = blocks.rows.clusters.tolist().index(one.number)
        own = np.isin(found.column_labels, blocks.columns.clusters[blocks.own[place]])
        inside = labels == one.number
        assert one.density == pytest.approx(X[inside][:, own].mean())
        assert one.elsewhere == pytest.approx(X[~inside][:, own].mean())
        assert one.n_others == (~inside).sum()
    for text in found.described.doubts:
        if told := re.match(r"Ones do not set co-cluster (\d+) apart: (\d+)% .* (\d+)% ", text):
            number, here, there = map(int, told.groups())
            (one,) = [c for c in found.described.coclusters if c.number == number]
            assert [here, there] == [round(100 * one.density), round(100 * one.elsewhere)]


def test_large_tables_are_not_clustered_again():
    data = pd.concat([table(seed, planted=True) for seed in range(30)], ignore_index=True)
    found = jobs.run("cocluster", data=data, k=3, method="information-coclustering")
    assert found.described.by_chance == ()
    assert found.described.doubts == []


# --- by private names -------------------------------------------------------------------------


def cocluster(n_rows, n_columns, ones, n_others, others):
    inside, outside = n_rows * n_columns, n_others * n_columns
    return Cocluster(1, n_rows, n_columns, ones / inside, others / outside, n_others, (), ())


def test_a_few_rows_that_are_like_the_others_are_in_doubt():
    assert is_doubtful(cocluster(3, 5, 3, 40, 44))  # 20% against 22%
    assert is_doubtful(cocluster(3, 5, 5, 40, 44))  # 33%, in 15 cells
    assert not is_doubtful(cocluster(3, 5, 13, 40, 44))
    assert not is_doubtful(cocluster(30, 5, 60, 40, 44))
    (said,) = doubts(0.3, [0.01, 0.02], [cocluster(3, 5, 3, 40, 44)])
    assert said == (
        "Ones do not set co-cluster 1 apart: 20% of its cells, and 22% of those of its columns in "
        "other rows."
    )
    assert doubts(0.02, [0.01, 0.02], [])[0].startswith("Chance does as well: ")
    assert doubts(0.3, [], []) == []
