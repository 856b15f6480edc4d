"""Runs: what a notebook asks for is what the command does."""

import contextlib
import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import sidelight
from sidelight import Constraints, catalog, jobs
from sidelight.cli._app import app
from sidelight.cluster import KMeans, PCKMeans
from sidelight.datasets import example_paths
from sidelight.exceptions import InvalidParameter, InvalidRequest, SidelightError, UnusedKnowledge
from sidelight.io import _atomic, _labels, _write_table, read_labels, read_table
from sidelight.io._atomic import atomic_write
from sidelight.jobs import ClusterRequest, EmbedRequest, SelectRequest, apply_model
from sidelight.report import _report

DATA, LINKS = example_paths()
X = np.concatenate([np.zeros((5, 2)), np.ones((5, 2)) * 4]) + np.arange(10)[:, None] / 20


@pytest.fixture(scope="module")
def fitted():
    return jobs.run(ClusterRequest(DATA, k=3, constraints=LINKS, truth="variety", raw=True))


def test_a_run_is_the_estimator_with_its_data(fitted):
    table = read_table(DATA, truth_column="variety")
    known = Constraints.read(LINKS, ids=table.ids)
    model = PCKMeans(n_clusters=3, random_state=0).fit(table.X, constraints=known)
    assert fitted.method == catalog.get("pckmeans")
    assert fitted.knowledge == known
    assert fitted.labels.tolist() == model.labels_.tolist()
    assert fitted.violations.n == model.n_violations_
    assert fitted.seconds > 0
    assert repr(fitted) == "<Run: PCKMeans on orchard.csv, 240 rows>"
    assert fitted.notes == ("The column 'id' names the rows.",)
    facts = fitted.facts()
    assert facts["sizes"] == fitted.sizes
    assert sum(facts["sizes"].values()) == facts["n_rows"] == 240
    assert facts["scores"]["unconstrained"]["n_rows"] == 240 - len(known.mentioned)


def test_the_same_from_memory(fitted):
    table = read_table(DATA, truth_column="variety")
    known = Constraints.read(LINKS, ids=table.ids)
    again = jobs.run(ClusterRequest(table, k=3, constraints=known, raw=True))
    assert again.labels.tolist() == fitted.labels.tolist()
    assert again.scores == fitted.scores
    unnamed = Constraints(known.must_link, known.cannot_link, n_samples=240)
    for rows in (table.X, table.X.tolist()):
        found = jobs.run(
            ClusterRequest(rows, k=3, constraints=unnamed, truth=table.truth, raw=True)
        )
        assert found.labels.tolist() == fitted.labels.tolist()
        assert found.scores == fitted.scores
    assert found.request.command_line() is None


def test_sparse_rows_and_partial_labels_of_any_kind():
    labels = ["left", None, None, None, None, "right", None, None, None, np.nan]
    for rows in (X, sparse.csr_matrix(X)):
        found = jobs.run(ClusterRequest(rows, k=2, method="seeded-kmeans", labels=labels, raw=True))
        assert found.knowledge.counts["labels"] == 2
        assert found.sizes == {"0": 5, "1": 5}
    with pytest.raises(InvalidRequest, match="one value per row"):
        jobs.run(ClusterRequest(X, k=2, truth=[1, 2], raw=True))
    with pytest.raises(InvalidRequest, match="only where the data is a file"):
        jobs.run(ClusterRequest(X, k=2, truth="variety", raw=True))


def test_settings_are_values_or_text_that_the_declaration_reads():
    values = jobs.prepare(
        ClusterRequest(X, k=2, settings={"max_iter": 7, "init": "random"}, raw=True)
    )
    text = jobs.prepare(
        ClusterRequest(X, k=2, settings={"max_iter": "7", "init": "random"}, raw=True)
    )
    assert values.estimator.get_params() == text.estimator.get_params()
    assert values.estimator.max_iter == 7
    with pytest.raises(InvalidParameter, match=r"max_iter must be a whole number of at least 1"):
        jobs.prepare(ClusterRequest(X, k=2, settings={"max_iter": 0}, raw=True))
    with pytest.raises(InvalidRequest, match="use k= for n_clusters"):
        jobs.prepare(ClusterRequest(X, k=2, settings={"n_clusters": 3}, raw=True))
    with pytest.raises(InvalidRequest, match="has no parameter 'speed'"):
        jobs.prepare(ClusterRequest(X, k=2, settings={"speed": 3}, raw=True))


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (ClusterRequest(X, raw=True), "how many clusters"),
        (ClusterRequest(X, k=2, method="rca", raw=True), "sidelight embed DATA -m rca"),
        (SelectRequest(X, raw=True), "one of .*variance-score"),
        (EmbedRequest(X, k=2, method="itml", raw=True), "no number to choose"),
    ],
)
def test_requests_that_make_no_sense(request_, words):
    with pytest.raises(InvalidRequest, match=words):
        jobs.prepare(request_)


def test_a_prepared_request_can_be_fitted_again():
    prepared = jobs.prepare(ClusterRequest(X, k=2, raw=True))
    first, second = prepared.run(), prepared.run()
    assert first.estimator is not second.estimator
    assert not hasattr(prepared.estimator, "labels_")
    assert first.labels.tolist() == second.labels.tolist()


def test_prepared_rows_come_back_from_disk(tmp_path):
    found = jobs.run(ClusterRequest(DATA, k=3, drop=["variety"]))
    np.testing.assert_allclose(found.X.std(axis=0), 1.0)
    model = jobs.load_model(found.save(tmp_path / "model.skops"))
    np.testing.assert_array_equal(model.rows(model.read(DATA)), found.X)
    applied = apply_model(model, DATA)
    assert applied.labels.tolist() == found.labels.tolist()
    applied.write(labels=tmp_path / "labels.csv")
    ids, labels = read_labels(tmp_path / "labels.csv")
    assert (ids.tolist(), labels.tolist()) == (found.data.ids.tolist(), found.labels.tolist())
    jobs.save_model(model, tmp_path / "copy.skops")
    assert jobs.load_model(tmp_path / "copy.skops").method == "kmeans"
    with pytest.raises(SidelightError, match="makes no features"):
        found.write(features=tmp_path / "features.csv")


def test_features_are_run_written_and_mapped_again(tmp_path):
    found = jobs.run(
        EmbedRequest(DATA, k=2, method="rca", constraints=LINKS, truth="variety", raw=True)
    )
    assert found.labels is None
    assert found.features.shape == (240, 2)
    assert found.facts()["features_out"] == found.feature_names == ["rca0", "rca1"]
    written = found.write(
        features=tmp_path / "f.csv", report=tmp_path / "r.html", model=tmp_path / "m.skops"
    )
    np.testing.assert_allclose(read_table(written["features"], drop=["variety"]).X, found.features)
    again = apply_model(jobs.load_model(written["model"]), DATA)
    np.testing.assert_allclose(again.features, found.features)
    assert "sidelight embed" in written["report"].read_text(encoding="utf-8")
    with pytest.raises(SidelightError, match="finds no clusters"):
        found.write(labels=tmp_path / "labels.csv")


def test_outputs_are_all_written_or_none(fitted, tmp_path):
    with pytest.raises(SidelightError, match=r"\.skops"):
        fitted.write(labels=tmp_path / "labels.csv", model=tmp_path / "model.pkl")
    with pytest.raises(SidelightError, match="makes no features"):
        fitted.write(labels=tmp_path / "labels.csv", features=tmp_path / "features.csv")
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_of_a_request_does_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    request = ClusterRequest(
        DATA,
        k=3,
        method="copkmeans",
        constraints=LINKS,
        truth="variety",
        drop=["hue_deg"],
        settings={"max_iter": 50},
        kinds={"sugar_g_per_l": "log"},
        weights={"firmness_n": 2.5},
        scale="robust",
        seed=4,
    )
    words = shlex.split(jobs.prepare(request).request.command_line())
    with pytest.raises(SystemExit) as stop:
        app([*words[1:], "--json"])
    assert stop.value.code == 0
    facts = json.loads(capsys.readouterr().out)
    found = jobs.run(request)
    assert facts["labels"] == found.labels.tolist()
    assert facts["parameters"] == json.loads(json.dumps(found.estimator.get_params()))


def test_the_walk_of_a_command_is_short(tmp_path, monkeypatch):
    """Nine files of the command line and its runs at most; the method is looked up once."""
    monkeypatch.chdir(tmp_path)
    looked_up = []
    get = catalog.get
    monkeypatch.setattr(catalog, "get", lambda name: looked_up.append(name) or get(name))
    home = Path(sidelight.__file__).parent
    entered = set()

    def note(frame, event, argument):
        if event == "call" and frame.f_code.co_name != "<module>":
            entered.add(frame.f_code.co_filename)

    arguments = ["cluster", str(DATA), "-k", "3", "-c", str(LINKS), "--truth-column", "variety"]
    outputs = ["-o", "labels.csv", "--report", "report.html", "--save", "model.skops"]
    sys.setprofile(note)
    try:
        with pytest.raises(SystemExit) as stop:
            app([*arguments, *outputs])
    finally:
        sys.setprofile(None)
    assert stop.value.code == 0
    files = [Path(name) for name in entered]
    visited = [path.relative_to(home).as_posix() for path in files if home in path.parents]
    own = {path for path in visited if path.startswith(("cli/", "runs/"))}
    # What only guards the walk (exit codes) or tells Typer the options sees no data.
    own -= {"cli/_errors.py", "runs/__init__.py"}
    assert len(own) <= 9, sorted(own)
    assert len(looked_up) == 1


def test_files_are_written_beside_their_place_once(fitted, tmp_path, monkeypatch):
    written = []

    @contextlib.contextmanager
    def watched(path):
        written.append(path)
        with atomic_write(path) as beside:
            yield beside

    for module in (_atomic, _labels, _write_table, _report):
        monkeypatch.setattr(module, "atomic_write", watched)
    paths = {
        "labels": tmp_path / "l.csv",
        "report": tmp_path / "r.html",
        "model": tmp_path / "m.skops",
    }
    fitted.write(**paths)
    assert written == list(paths.values())


def test_kmeans_without_knowledge_ignores_nothing():
    found = jobs.run(ClusterRequest(X, k=2, raw=True))
    assert isinstance(found.estimator, KMeans)
    assert found.notes == ()
    labels = [0, -1, -1, -1, -1, 1, -1, -1, -1, -1]
    with pytest.warns(UnusedKnowledge, match="KMeans does not use labels"):
        jobs.run(ClusterRequest(X, k=2, method="kmeans", labels=labels, raw=True))
