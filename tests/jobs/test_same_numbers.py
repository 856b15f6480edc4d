"""The numbers of clusters are the same wherever the same clusters are shown.

A fit, the files and the JSON that it writes, its saved model, and what explains the model by the
table that was clustered speak of the same clusters. ``predict`` assigns rows by their features
alone: it agrees with the fit where nothing else decided about the rows, and says how many rows get
another cluster where something did.
"""

import json

import numpy as np
import pandas as pd
import pytest
from tests.common import models

from sidelight import Constraints, catalog, explain, jobs
from sidelight.exceptions import SidelightError
from sidelight.io import read_labels

CLUSTERERS = [method for method in catalog.methods() if method.kind.command == "cluster"]
#: Rows of the fit can get another cluster by ``predict`` even where nothing is known about them:
#: spectral methods place new rows among their neighbors, and balance counts for a fit only.
BY_OTHER_MEANS = {
    *(method.name for method in CLUSTERERS if method.name.startswith("spectral")),
    *(method.name for method in CLUSTERERS if method.name.endswith("spectral-clustering")),
    *(method.name for method in CLUSTERERS if "sizes" in method.tags.knowledge),
    "soft-balanced-kmeans",
}
#: Keeps its rows for further feedback, and is not saved.
NOT_SAVED = "feedback-clustering"
#: Has no places of clusters that new rows could be near to.
NO_PREDICT = "constrained-agglomeration"


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Rows of the common tests as a file, with the classes of some; the current folder is its."""
    monkeypatch.chdir(tmp_path)
    X, y = models.blobs()
    rows = pd.DataFrame(X, columns=list("abcde")).assign(id=[f"r{i}" for i in range(len(X))])
    rows["class"] = [f"kind {code}" if i % 5 == 0 else "" for i, code in enumerate(y.tolist())]
    rows.to_csv("rows.csv", index=False)
    rows.iloc[3:90].to_csv("some.csv", index=False)
    return rows


def knowledge(method, ids):
    """Pairs of the kinds that a method takes, by the ids of the rows; None without any."""
    pairs = models.knowledge_for(method, models.blobs()[1])
    given = {"must_link": ids[pairs.must_link], "cannot_link": ids[pairs.cannot_link]}
    given = {kind: ends for kind, ends in given.items() if len(ends)}
    return Constraints(**given, n_samples=len(ids), ids=ids) if given else None


def clustered(method, table, *, knows):
    asked = {"drop": ("class",)}
    if knows:
        asked = {"constraints": knowledge(method, table["id"].to_numpy())}
        asked |= {"labels": "class"} if "labels" in method.tags.knowledge else {"drop": ("class",)}
    settings = models.QUICK.get(method.cls.__name__, {})
    return jobs.run("cluster", data="rows.csv", k=4, method=method.name, settings=settings, **asked)


def named_sizes(explanation):
    return {one.name: (one.size, one.class_name) for one in explanation.clusters}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("knows", [True, False], ids=["told", "plain"])
@pytest.mark.parametrize("method", CLUSTERERS, ids=lambda method: method.name)
def test_the_same_clusters_have_the_same_numbers(method, knows, table):
    found = clustered(method, table, knows=knows)
    written = found.write(labels="labels.csv")
    ids, labels = read_labels(written["labels"])
    assert ids.tolist() == table["id"].tolist()
    assert labels.tolist() == found.labels.tolist() == found.estimator.labels_.tolist()
    assert found.row_values()["labels"].tolist() == labels.tolist()
    clusters, counts = np.unique(labels, return_counts=True)
    sizes = dict(zip(map(str, clusters.tolist()), counts.tolist(), strict=True))
    facts = json.loads(json.dumps(found.facts(), default=str))
    assert facts["sizes"] == sizes
    of_facts = {one["name"]: one["size"] for one in facts["explanation"]["clusters"]}
    assert of_facts == {name: n for name, n in sizes.items() if name != "-1"}
    if method.name == NOT_SAVED:
        with pytest.raises(SidelightError, match="cannot be saved as a model"):
            found.save("model.skops")
        return
    found.save("model.skops")
    explained = jobs.run("explain", model="model.skops", data="rows.csv").explanation
    assert named_sizes(explained) == named_sizes(found.explanation)
    assert explained.typical == found.explanation.typical
    assert named_sizes(explain(jobs.load_model("model.skops"), "rows.csv")) == named_sizes(
        explained
    )
    if method.name == NO_PREDICT:
        with pytest.raises(SidelightError, match="neither assign new rows"):
            jobs.run("predict", model="model.skops", data="rows.csv")
        with pytest.raises(SidelightError, match="not the rows that it was fitted to"):
            jobs.run("explain", model="model.skops", data="some.csv")
        return
    again = jobs.run("predict", model="model.skops", data="rows.csv")
    assert again.class_names == found.class_names
    assert again.labels.tolist() == found.estimator.predict(found.X).tolist()
    n_others = int((again.labels != found.labels).sum())
    said = [note for note in again.notes if "by their features alone" in note]
    assert [f" {n_others:,} of these 160 rows" in note for note in said] == [True] * (n_others > 0)
    if not n_others:
        assert again.sizes == sizes
    elif not knows:
        assert method.name in BY_OTHER_MEANS
    some = jobs.run("predict", model="model.skops", data="some.csv")
    of_some = jobs.run("explain", model="model.skops", data="some.csv").explanation
    assert {one.name: one.size for one in of_some.clusters} == some.sizes
    assert some.labels.tolist() == again.labels[3:90].tolist()


@pytest.mark.parametrize("options", [{}, {"avoid": ["country"]}], ids=["plain", "avoided"])
def test_splits_have_the_same_numbers(options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    side, height = rng.integers(0, 2, (2, 80))
    rows = pd.DataFrame({"x": 9.0 * side, "y": 4.0 * height, "z": 3.0 * rng.integers(0, 2, 80)})
    rows = rows.add(rng.normal(0, 0.4, (80, 3))).assign(country=np.array(["DE", "FR"])[side])
    rows.to_csv("rows.csv", index=False)
    found = jobs.run("alternatives", data="rows.csv", k=2, number=2, **options)
    found.save("model.skops")
    again = jobs.run("predict", model="model.skops", data="rows.csv")
    assert again.labels.tolist() == found.labels.tolist()
    explained = jobs.run("explain", model="model.skops", data="rows.csv")
    sizes = {one.name: one.size for one in explained.explanation.clusters}
    assert sizes == found.alternatives[0].sizes
    assert any("alternative_1 are explained; the model also holds" in n for n in explained.notes)


def test_classes_are_explained_as_they_were_found(table):
    found = jobs.run("classify", data="rows.csv", labels="class")
    found.save("model.skops")
    explained = jobs.run("explain", model="model.skops", data="rows.csv").explanation
    assert named_sizes(explained) == named_sizes(found.explanation)
