"""``sidelight.explain`` takes whatever holds the clusters and whatever holds the table."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.cluster import KMeans as TheirKMeans
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture as TheirMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sidelight
from sidelight import catalog
from sidelight.cluster import KMeans
from sidelight.exceptions import SidelightError
from sidelight.jobs import ClassifyRequest, ClusterRequest, load_model, run
from sidelight.mixture import GaussianMixture
from sidelight.preparation import TablePreparer


@pytest.fixture(scope="module")
def customers() -> pd.DataFrame:
    """Two kinds of customers, with an id, gaps, a date and categories."""
    rng = np.random.default_rng(0)
    rich = np.arange(160) % 2
    income = rng.normal(30_000 + 40_000 * rich, 4_000).round(-1)
    income[::13] = np.nan
    return pd.DataFrame(
        {
            "customer_id": [f"c{row:03d}" for row in range(160)],
            "income": income,
            "country": np.where(rng.random(160) < 0.1 + 0.8 * rich, "DE", "FR"),
            "signup": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 160), "D"),
            "shoe": rng.normal(size=160),
        }
    )


@pytest.fixture(scope="module")
def fitted(customers):
    return run(ClusterRequest(customers, k=2))


def texts(explanation):
    return [[trait.text for trait in profile.traits] for profile in explanation.clusters]


def test_a_run_knows_its_own_table(fitted, customers):
    found = sidelight.explain(fitted)
    assert [profile.size for profile in found.clusters] == np.bincount(fitted.labels).tolist()
    named = {trait.column for profile in found.clusters for trait in profile.traits}
    assert {"income", "country"} <= named
    assert not named & {"shoe", "customer_id"}
    assert set(found.typical["0"]) <= set(customers["customer_id"])
    rich = max(found.clusters, key=lambda one: one.traits[0].inside)
    income = next(trait for trait in rich.traits if trait.column == "income")
    assert 65_000 < income.inside < 75_000  # euros, not standard deviations


def test_every_kind_of_table_says_the_same(fitted, customers, tmp_path):
    csv, parquet = tmp_path / "customers.csv", tmp_path / "customers.parquet"
    customers.to_csv(csv, index=False)
    customers.to_parquet(parquet)
    wanted = texts(sidelight.explain(fitted.labels, customers))
    arrow = pa.Table.from_pandas(customers)
    for table in (csv, str(parquet), arrow):
        found = sidelight.explain(fitted.labels, table)
        assert texts(found) == wanted
        assert set(found.typical["0"]) <= set(customers["customer_id"])
    assert texts(sidelight.explain(fitted.labels, pl.from_pandas(customers))) == wanted
    assert texts(sidelight.explain(fitted, customers)) == texts(sidelight.explain(fitted))


def test_a_saved_model_assigns_the_rows(fitted, customers, tmp_path):
    model = load_model(fitted.save(tmp_path / "model.skops"))
    csv = tmp_path / "some.csv"
    some = customers.iloc[40:].assign(new="x")
    some.to_csv(csv, index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sidelight.explain(model, csv)
        in_memory = sidelight.explain(model, some)
    assert found.n_rows == 120
    sizes = np.bincount(fitted.labels[40:])
    assert [profile.size for profile in found.clusters] == sizes.tolist()
    assert texts(found) == texts(in_memory)
    assert found.typical == in_memory.typical
    for one in (found, in_memory):
        assert "Not used, since the model was fitted without: 'new'." in one.notes


def test_a_saved_model_of_plain_numbers(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 2)) + 6.0 * (np.arange(80) % 2)[:, None]
    model = load_model(run(ClusterRequest(X, k=2, raw=True)).save(tmp_path / "model.skops"))
    assert texts(sidelight.explain(model, X)) == texts(sidelight.explain(model.estimator, X))
    with pytest.raises(SidelightError, match="'x1'"):
        sidelight.explain(model, X[:, :1])
    with pytest.raises(SidelightError, match="'x0' must hold numbers"):
        sidelight.explain(model, pd.DataFrame({"x0": ["a"] * 80, "x1": X[:, 1]}))


def test_a_model_that_cannot_assign_rows_says_what_to_do(customers, tmp_path):
    found = run(ClusterRequest(customers, k=2, method="constrained-agglomeration"))
    assert len(sidelight.explain(found).clusters) == 2
    model = load_model(found.save(tmp_path / "model.skops"))
    assert texts(sidelight.explain(model, customers)) == texts(sidelight.explain(found))
    with pytest.raises(SidelightError, match=r"cannot assign rows to its clusters again; .*Run"):
        sidelight.explain(model, customers[:80])


def test_pipelines_are_explained_in_the_users_units(customers):
    rows = customers.drop(columns="customer_id")
    model = make_pipeline(TablePreparer(), KMeans(n_clusters=2, random_state=0)).fit(rows)
    found = sidelight.explain(model, rows)
    assert max(trait.inside for trait in found.clusters[0].traits + found.clusters[1].traits) > 6e4
    # Distances are those of the pipeline's own features.
    X = model[:-1].transform(rows)
    labels = model[-1].labels_
    mean = X[labels == 0].mean(axis=0)
    own = np.flatnonzero(labels == 0)
    assert found.typical["0"][0] == own[np.argmin(((X[own] - mean) ** 2).sum(axis=1))]


@pytest.mark.parametrize(
    "model",
    [
        TheirKMeans(2, n_init=1, random_state=0),
        AgglomerativeClustering(2),
        DBSCAN(eps=0.9),
        TheirMixture(2, random_state=0),
        make_pipeline(StandardScaler(), TheirKMeans(2, n_init=1, random_state=0)),
        KMeans(n_clusters=2, random_state=0),
        GaussianMixture(n_components=2, random_state=0),
    ],
    ids=lambda model: type(model[-1] if hasattr(model, "steps") else model).__name__,
)
def test_any_clusterer_with_or_without_centers(model):
    rng = np.random.default_rng(2)
    rows = pd.DataFrame(
        rng.normal(size=(120, 2)) + 5.0 * (np.arange(120) % 2)[:, None],
        columns=["height", "weight"],
        index=[f"p{row}" for row in range(120)],
    )
    found = sidelight.explain(model.fit(rows), rows)
    last = model[-1] if hasattr(model, "steps") else model
    labels = getattr(last, "labels_", None)
    labels = model.predict(rows) if labels is None else labels
    assert found.n_outside == np.sum(labels == -1)
    assert found.n_rows == 120
    assert {t.column for t in found.clusters[0].traits} == {"height", "weight"}
    assert all(str(row).startswith("p") for row in found.typical["0"])
    assert found.rules.fidelity > 0.9


def test_a_mixture_tells_its_doubts_by_its_probabilities():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2)) + 2.0 * (np.arange(200) % 2)[:, None]
    model = GaussianMixture(n_components=2, random_state=0).fit(X)
    found = sidelight.explain(model, X)
    chances = model.predict_proba(X)
    for cluster in (0, 1):
        own = np.flatnonzero(model.labels_ == cluster)
        wanted = own[np.argmin(chances[own, cluster])]
        doubt = found.doubtful[str(cluster)][0]
        assert doubt.row == wanted
        assert doubt.margin == pytest.approx(2.0 * chances[wanted, cluster] - 1.0)


def test_sparse_rows_are_described_by_what_varies_most():
    rng = np.random.default_rng(4)
    X = (rng.random((100, 300)) < 0.02).astype(float)
    X[::2, 7] = 5.0
    found = sidelight.explain(np.arange(100) % 2, sparse.csr_matrix(X))
    assert [profile.traits[0].column for profile in found.clusters] == ["x7", "x7"]
    assert found.notes == ("The 100 of 300 columns that vary most are described.",)


def test_classes_of_clusters_are_told(customers):
    known = np.where(
        np.arange(160) % 10 == 1, "rich", np.where(np.arange(160) % 10 == 2, "not", "")
    )
    found = run(ClusterRequest(customers, k=2, labels=known))
    assert {profile.class_name for profile in sidelight.explain(found).clusters} == {"rich", "not"}


def test_classes_are_not_called_clusters(tmp_path):
    rng = np.random.default_rng(5)
    kind = np.repeat([0, 1, 2], 30)
    names = np.array(["ash", "birch", "cedar"])
    rows = pd.DataFrame(rng.normal(size=(90, 2)) + 2.0 * kind[:, None], columns=["height", "girth"])
    found = run(
        ClassifyRequest(
            rows, method="harmonic", labels=np.where(np.arange(90) % 3, "", names[kind])
        )
    )
    saved = found.save(tmp_path / "model.skops")
    told = run("explain", model=saved, data=rows)
    words = [str(part) for part in told.tell()]
    theirs = LogisticRegression().fit(rows, names[kind])
    for explained in (sidelight.explain(found), told.explanation, sidelight.explain(theirs, rows)):
        assert [profile.name for profile in explained.clusters] == names.tolist()
        words += [*explained.sentences(), explained.rules.sentence, repr(explained)]
        words += [*explained.notes, explained._repr_html_()]
        others = {doubt.other for doubts in explained.doubtful.values() for doubt in doubts}
        assert others <= set(names.tolist())
    assert not any("cluster" in text.lower() for text in words)


#: Forms of the table that was clustered: as it was, in memory, its columns turned round, rewritten.
FORMS = {
    "file": lambda rows, path: path,
    "memory": lambda rows, path: rows,
    "columns": lambda rows, path: rows[rows.columns[::-1]],
    "rewritten": lambda rows, path: _rewritten(rows, path),
}


def _rewritten(rows, path):
    other = path.with_name("other.csv")
    pd.read_csv(path)[rows.columns[::-1]].to_csv(other, index=False)
    return other


@pytest.mark.parametrize("method", catalog.methods(kind="clusterer"), ids=lambda m: m.name)
def test_the_rows_of_a_fit_have_its_clusters_again(method, customers, tmp_path):
    """Also where ``predict`` of the fitted model would give some of them to other clusters."""
    path = tmp_path / "customers.csv"
    rows = customers[::2].reset_index(drop=True)
    rows.to_csv(path, index=False)
    try:
        found = run(ClusterRequest(path, k=2, method=method.name))
        model = load_model(found.save(tmp_path / "model.skops"))
    except (SidelightError, ValueError):
        return  # it takes numbers only, or is asked for more than a number of clusters
    sizes = {name: n for name, n in found.sizes.items() if name != "-1"}
    for form in FORMS.values():
        explained = sidelight.explain(model, form(rows, path))
        assert {profile.name: profile.size for profile in explained.clusters} == sizes


def test_columns_that_are_left_out_are_told(customers):
    found = sidelight.explain(np.arange(160) % 2, customers.assign(same=1))
    assert len(found.notes) == 1
    assert "Not described:" in found.notes[0]
    assert "same" in found.notes[0]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (np.zeros(3, int), r"The labels are about 3 rows, but the table has 160"),
        (KMeans(n_clusters=2), r"KMeans has no labels_: fit it first|not fitted"),
        (object(), r"object is neither a fitted clusterer nor one label per row"),
        (TheirKMeans(2, n_init=1).fit(np.eye(4)), r"KMeans was fitted to 4 rows, but .* 160"),
    ],
)
def test_what_cannot_be_explained_is_said(model, message, customers):
    with pytest.raises((SidelightError, ValueError), match=message):
        sidelight.explain(model, customers)


def test_the_table_is_needed(customers):
    with pytest.raises(SidelightError, match="needs the table too"):
        sidelight.explain(KMeans(n_clusters=2))
