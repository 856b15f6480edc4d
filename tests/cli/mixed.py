"""A mixed table with known groups, and the pipeline that the command line should be."""

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from sidelight.cluster import KMeans
from sidelight.preparation import TablePreparer

N = 90
CLUSTER = ("cluster", "customers.csv", "-k", 3, "--truth-column", "segment")
KNOWN = "i,j,kind\nC000,C003,must-link\nC000,C001,cannot-link\nC002,C004,cannot-link\n"


def customers(seed=0):
    """Three groups in columns of all kinds; the column ``segment`` names them."""
    rng = np.random.default_rng(seed)
    group = np.arange(N) % 3
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(300 * group + rng.integers(0, 200, N), "D")
    things = rng.choice(["shoes", "books", "plants"], N)
    return pd.DataFrame(
        {
            "id": [f"C{i:03d}" for i in range(N)],
            "country": np.array(["DE", "FR", "IT"])[np.where(rng.random(N) < 0.7, group, 0)],
            "joined": days.strftime("%Y-%m-%d"),
            "income": np.where(
                np.arange(N) % 9 == 4, np.nan, rng.normal(3e4 + 1e4 * group, 5e3).round(2)
            ),
            "member": np.where(rng.random(N) < 0.2 + 0.3 * group, "yes", "no"),
            "size": np.array(["small", "medium", "large"])[
                np.where(rng.random(N) < 0.6, group, rng.integers(0, 3, N))
            ],
            "comment": [f"the {thing} came on day {i}" for i, thing in enumerate(things)],
            "currency": ["EUR"] * N,
            "segment": np.array(list("abc"))[group],
        }
    )


def pipeline(n_clusters=3, **options):
    return make_pipeline(TablePreparer(**options), KMeans(n_clusters=n_clusters, random_state=0))


def columns_of(frame):
    """What is left for the features, under the ids of the rows."""
    return frame.set_index("id").drop(columns="segment")


def plan_of(facts):
    return [(row["column"], row["used_as"], row["how"]) for row in facts["preparation"]]
