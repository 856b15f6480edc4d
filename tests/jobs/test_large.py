"""Tables that are read block by block: what comes out is what comes out in memory."""

from __future__ import annotations

import csv
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sidelight import Constraints, jobs
from sidelight.exceptions import InvalidRequest, SidelightError, UnknownIds
from sidelight.io.inner import parts_of
from sidelight.jobs._large import _comparison, _sample, _when
from sidelight.jobs._large._sample import draw, read_rows


def customers(n: int, seed: int = 0) -> pa.Table:
    """Mixed rows around three middles, with ids."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    age = rng.normal(30 + 15 * kind, 3)
    score = rng.normal(kind, 0.3)
    score[rng.random(n) < 0.1] = np.nan
    return pa.table(
        {
            "customer": [f"c{i:05}" for i in rng.permutation(n)],
            "age": age.round(1),
            "score": pa.array(score, from_pandas=True),
            "shop": np.array(["north", "south", "east"])[kind],
            "joined": np.datetime64("2020-01-01") + 200 * kind + rng.integers(0, 60, n),
            "segment": np.array(["a", "b", "c"])[kind],
        }
    )


def cut(table: pa.Table, folder: Path, ends: tuple[int, ...] = (70, 70, 200)) -> Path:
    """Write a table into several files, one of them without rows."""
    folder.mkdir()
    bounds = [0, *ends, table.num_rows]
    for number, (a, b) in enumerate(itertools.pairwise(bounds)):
        pq.write_table(table.slice(a, b - a), folder / f"part-{number}.parquet", row_group_size=50)
    return folder


@pytest.fixture
def table() -> pa.Table:
    return customers(300)


@pytest.fixture
def whole(table, tmp_path) -> Path:
    path = tmp_path / "whole.parquet"
    pq.write_table(table, path)
    return path


@pytest.fixture
def folder(table, tmp_path) -> Path:
    return cut(table, tmp_path / "big")


@pytest.fixture
def known(table, tmp_path) -> Path:
    ids = table.column("customer").to_pylist()
    path = tmp_path / "known.csv"
    path.write_text(
        f"i,j,kind\n{ids[0]},{ids[250]},must-link\n{ids[3]},{ids[199]},cannot-link\n"
        f"{ids[69]},{ids[70]},cannot-link\n"
    )
    return path


def written(folder: Path) -> dict[str, Any]:
    """Names and clusters of the rows in all files of a folder, in their order."""
    table = pa.concat_tables(pq.read_table(file) for file in sorted(folder.iterdir()))
    return {name: table.column(name).to_pylist() for name in table.column_names}


# --- the public promise -------------------------------------------------------------------------


def test_a_folder_gives_what_one_file_gives(whole, folder, known):
    asked = {"k": 3, "constraints": known, "drop": ["segment"]}
    one, many = (jobs.run("cluster", data=data, **asked) for data in (whole, folder))
    assert type(many).__name__ == "LargeRun"
    assert type(one).__name__ == "Run"
    np.testing.assert_array_equal(one.labels, many.labels)
    assert one.sizes == many.sizes
    assert one.violations.as_dict() == many.violations.as_dict()
    np.testing.assert_allclose(
        one.estimator.cluster_centers_, many.estimator.cluster_centers_, rtol=1e-6, atol=1e-9
    )
    assert one.estimator.objective_ == pytest.approx(many.estimator.objective_)
    assert one.features_in == many.features_in
    assert one.method == many.method
    assert [row[0] for row in one.plan] == [row[0] for row in many.plan]


def test_labels_are_aligned_with_the_files(folder, known, tmp_path):
    found = jobs.run("cluster", data=str(folder / "*.parquet"), k=3, constraints=known)
    found.write(labels=tmp_path / "labels")
    start = 0
    for part in sorted(folder.iterdir()):
        rows, labels = pq.read_table(part), pq.read_table(tmp_path / "labels" / part.name)
        assert labels.column_names == ["customer", "cluster"]
        assert labels.column("customer").equals(rows.column("customer"))
        stop = start + rows.num_rows
        np.testing.assert_array_equal(labels.column("cluster"), found.labels[start:stop])
        start = stop
    assert start == 300


@pytest.mark.parametrize("name", ["labels.csv", "labels.csv.gz", "labels.tsv", "labels.parquet"])
def test_one_file_for_all_labels_is_that_of_a_table_in_memory(name, whole, folder, tmp_path):
    for data, place in ((whole, tmp_path / f"one-{name}"), (folder, tmp_path / f"many-{name}")):
        jobs.run("cluster", data=data, k=3, labels="segment").write(labels=place)
    one, many = tmp_path / f"one-{name}", tmp_path / f"many-{name}"
    if name.endswith("parquet"):
        assert pq.read_table(one).to_pylist() == pq.read_table(many).to_pylist()
    elif name.endswith("gz"):
        assert pa.input_stream(one).read() == pa.input_stream(many).read()
    else:
        assert one.read_bytes() == many.read_bytes()


def test_rows_without_ids_are_numbered_through_all_files(table, tmp_path):
    folder = cut(table.drop_columns(["customer"]), tmp_path / "big")
    found = jobs.run("cluster", data=folder, k=3)
    found.write(labels=tmp_path / "labels")
    assert written(tmp_path / "labels") == {
        "row": list(range(300)),
        "cluster": found.labels.tolist(),
    }


def test_memory_alone_makes_a_file_come_in_blocks(whole, known):
    asked = {"k": 3, "constraints": known}
    one = jobs.run("cluster", data=whole, **asked)
    blocks = jobs.run("cluster", data=whole, memory="20kB", **asked)
    np.testing.assert_array_equal(one.labels, blocks.labels)
    assert len(blocks.X.blocks) > 3  # it would be a single one within 256 MB


def test_workers_of_dask_give_the_same(folder, known):
    distributed = pytest.importorskip("distributed")
    asked = {"data": folder, "k": 3, "constraints": known, "settings": {"n_init": 1}}
    here = jobs.run("cluster", **asked)
    # Workers in threads take part by the protocol of a cluster elsewhere.
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=":0"
    ) as cluster:
        there = jobs.run("cluster", engine=f"dask={cluster.scheduler_address}", **asked)
    np.testing.assert_array_equal(here.labels, there.labels)
    assert isinstance(there.labels, np.ndarray)
    assert any("2 workers of Dask on tcp://" in note for note in there.notes)
    assert there.features_in == here.features_in


def test_labels_and_truth_are_read_from_all_files(whole, folder):
    for one_of in ({"labels": "segment"}, {"truth": "segment"}):
        one, many = (jobs.run("cluster", data=data, k=3, **one_of) for data in (whole, folder))
        np.testing.assert_array_equal(one.labels, many.labels)
        assert one.scores == many.scores
        assert one.class_names == many.class_names


def test_raw_columns_are_taken_as_they_are(table, tmp_path):
    numbers = table.select(["customer", "age"]).append_column("n", pa.array(np.arange(300) % 7))
    folder = cut(numbers, tmp_path / "big")
    pq.write_table(numbers, tmp_path / "whole.parquet")
    one, many = (
        jobs.run("cluster", data=data, k=3, raw=True)
        for data in (tmp_path / "whole.parquet", folder)
    )
    np.testing.assert_array_equal(one.labels, many.labels)
    assert many.features_in == ["age", "n"]


def test_constraints_in_memory_go_by_their_ids(table, folder):
    ids = table.column("customer").to_pylist()
    order = np.random.default_rng(1).permutation(300)
    known = Constraints(
        must_link=[(ids[0], ids[1])], cannot_link=[(ids[0], ids[2])], ids=[ids[i] for i in order]
    )
    found = jobs.run("cluster", data=folder, k=3, constraints=known)
    np.testing.assert_array_equal(found.knowledge.must_link, [[0, 1]])
    np.testing.assert_array_equal(found.knowledge.cannot_link, [[0, 2]])


# --- the sample ---------------------------------------------------------------------------------


def test_a_sample_is_said_to_be_one_and_sizes_are_those_of_all_rows(folder, known, monkeypatch):
    monkeypatch.setattr(_sample, "SAMPLE", 100)
    found = jobs.run("cluster", data=folder, k=3, constraints=known)
    assert found.sampled == "a sample of 100 of 300 rows"
    assert {one.name: one.size for one in found.explanation.clusters} == found.sizes
    assert found.explanation.n_rows == 300
    assert found.facts()["sample"] == {"n_rows": 100, "of": 300}
    page = found.page().html()
    n_shown = found.sample.data.n_rows
    assert 100 < n_shown <= 106  # those that constraints mention are there too
    assert f"Drawn from a sample of {n_shown} of 300 rows" in page  # the map
    assert "Drawn from a sample of 100 of 300 rows" in page  # what the clusters are
    assert "All rows are counted" in page
    assert found.violations.n_stated == 3


def test_nothing_is_said_of_a_sample_where_all_rows_are_seen(folder):
    found = jobs.run("cluster", data=folder, k=3)
    assert found.sampled == ""
    assert "sample" not in found.page().html()
    assert found.facts()["sample"] == {"n_rows": 300, "of": 300}


def test_sampled_rows_are_those_of_the_table(table, folder):
    rows = np.array([0, 5, 69, 70, 71, 199, 200, 299])
    found = read_rows(parts_of(folder, keep_types=True), ["shop", "customer"], rows)
    assert found.to_pylist() == table.select(["shop", "customer"]).take(rows).to_pylist()
    assert read_rows(parts_of(folder), ["age"], rows[:0]).num_rows == 0


def test_a_draw_is_uniform_seeded_and_holds_what_is_mentioned(monkeypatch):
    monkeypatch.setattr(_sample, "SAMPLE", 50)
    counts = np.zeros(200)
    for seed in range(400):
        sample = draw(200, np.array([3, 7]), seed)
        assert sample.is_drawn.sum() == 50
        assert {3, 7} <= set(sample.rows.tolist())
        assert np.all(np.diff(sample.rows) > 0)
        counts[sample.rows[sample.is_drawn]] += 1
    # Each row is drawn with probability 1/4: mean 100, standard deviation 8.7.
    assert abs(counts - 100).max() < 5 * 8.7
    again = draw(200, np.array([3, 7]), 399)
    np.testing.assert_array_equal(again.rows, sample.rows)


# --- the other jobs -----------------------------------------------------------------------------


def test_new_rows_get_clusters_file_by_file(folder, whole, known, tmp_path):
    model = tmp_path / "model.skops"
    found = jobs.run("cluster", data=folder, k=3, constraints=known)
    found.save(model)
    one = jobs.run("predict", model=model, data=whole)
    many = jobs.run("predict", model=model, data=folder, memory="30kB")
    np.testing.assert_array_equal(one.labels, many.labels)
    assert one.sizes == many.sizes
    assert one.notes == many.notes
    many.write(predicted=tmp_path / "labels")
    assert sorted(file.name for file in (tmp_path / "labels").iterdir()) == sorted(
        file.name for file in folder.iterdir()
    )
    assert written(tmp_path / "labels")["cluster"] == many.labels.tolist()


def test_labels_of_other_rows_are_not_replaced(folder, table, tmp_path):
    found = jobs.run("cluster", data=folder, k=3)
    found.save(tmp_path / "model.skops")
    found.write(labels=tmp_path / "labels")
    other = cut(table.slice(0, 250), tmp_path / "other")
    many = jobs.run("predict", model=tmp_path / "model.skops", data=other)
    with pytest.raises(InvalidRequest, match="holds something else"):
        many.check_replaced(predicted=tmp_path / "labels")
    same = jobs.run("predict", model=tmp_path / "model.skops", data=folder)
    same.check_replaced(predicted=tmp_path / "labels")


def test_clusters_are_explained_by_model_and_by_labels(folder, whole, tmp_path):
    found = jobs.run("cluster", data=folder, k=3, drop=["segment"])
    found.save(tmp_path / "model.skops")
    found.write(labels=tmp_path / "labels")
    in_memory = jobs.run("explain", model=tmp_path / "model.skops", data=whole)
    by_model = jobs.run("explain", model=tmp_path / "model.skops", data=folder)
    by_labels = jobs.run("explain", model=tmp_path / "labels", data=folder)
    sizes = {one.name: one.size for one in in_memory.explanation.clusters}
    for one in (by_model, by_labels):
        assert {p.name: p.size for p in one.explanation.clusters} == sizes == found.sizes
        assert one.sampled == ""
    texts = [
        [trait.what for trait in one.explanation.clusters[0].traits]
        for one in (in_memory, by_model)
    ]
    assert texts[0] == texts[1]


def test_labels_of_other_rows_are_not_explained(folder, table, tmp_path):
    jobs.run("cluster", data=folder, k=3).write(labels=tmp_path / "labels")
    fewer = cut(table.slice(0, 250), tmp_path / "fewer")
    with pytest.raises(SidelightError, match=r"labels of 300 rows, but .*fewer has 250"):
        jobs.run("explain", model=tmp_path / "labels", data=fewer)
    turned = cut(table.take(np.arange(300)[::-1]), tmp_path / "turned")
    with pytest.raises(SidelightError, match="names its rows otherwise"):
        jobs.run("explain", model=tmp_path / "labels", data=turned)


def test_candidates_are_compared_on_a_sample_and_the_chosen_is_fitted_to_all(
    folder, known, monkeypatch, tmp_path
):
    monkeypatch.setattr(_sample, "SAMPLE", 120)
    monkeypatch.setattr(_comparison, "SAMPLE", 120)
    found = jobs.run(
        "compare", data=folder, k=[2, 3], methods=["pckmeans"], constraints=known, truth="segment"
    )
    assert len(found.labels) == 300 == sum(found.sizes.values())
    assert len(found.compared) == 120
    assert set(found.knowledge.mentioned) <= set(found.compared)
    assert any("on a sample of 120 of 300 rows" in note for note in found.notes)
    alone = jobs.run(
        "cluster", data=folder, k=found.comparison.best_.k, constraints=known, truth="segment"
    )
    np.testing.assert_array_equal(found.labels, alone.labels)
    truth = found.data.truth_codes[found.compared[found.comparison.compared]]
    assert found._compared_truth().tolist() == truth.tolist()
    found.write(report=tmp_path / "report.html", labels=tmp_path / "labels")
    assert "Drawn from a sample" in (tmp_path / "report.html").read_text()
    with pytest.raises(InvalidRequest, match="SpectralClustering needs all rows"):
        jobs.run("compare", data=folder, k=[2, 3], methods=["spectral-clustering"])
    with pytest.raises(InvalidRequest, match="engine= is for the fit of one number"):
        jobs.run("cluster", data=folder, k=[2, 3], engine="dask")


# --- checkpoints --------------------------------------------------------------------------------


def test_a_killed_command_goes_on_with_the_same_labels(folder, known, tmp_path):
    journal, labels = tmp_path / "fit.journal", tmp_path / "labels"
    words = ["cluster", folder, "-k", 3, "-c", known, "--checkpoint", journal, "-o", labels]
    more = ["--set", "n_init=60", "--set", "tol=0"]
    command = [sys.executable, "-m", "sidelight", *map(str, [*words, *more])]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while running.poll() is None and not (journal.exists() and journal.stat().st_size > 20_000):
        os.sched_yield()
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    size = journal.stat().st_size
    assert not labels.exists()

    fit = {"k": 3, "constraints": known, "settings": {"n_init": 60, "tol": 0}}
    asked = {"data": folder, "checkpoint": journal, **fit}
    with pytest.raises(SidelightError, match="already: resume=True goes on"):
        jobs.run("cluster", **asked)
    with pytest.raises(SidelightError, match="another fit"):
        jobs.run("cluster", **asked, seed=1, resume=True)
    resumed = jobs.run("cluster", **asked, resume=True)
    assert journal.stat().st_size > size > 20_000
    resumed.write(labels=labels)
    assert not journal.exists()
    plain = jobs.run("cluster", data=folder, **fit)
    assert written(labels)["cluster"] == plain.labels.tolist()
    assert resumed.estimator.objective_ == pytest.approx(plain.estimator.objective_, rel=1e-12)


def test_a_checkpoint_stays_until_the_results_are_written(folder, tmp_path):
    journal = tmp_path / "fit.journal"
    found = jobs.run("cluster", data=folder, k=3, checkpoint=journal)
    assert journal.exists()
    with pytest.raises(SidelightError, match="does not exist"):
        found.write(labels=tmp_path / "nowhere" / "labels")
    assert journal.exists()
    again = jobs.run("cluster", data=folder, k=3, checkpoint=journal, resume=True)
    np.testing.assert_array_equal(found.labels, again.labels)
    again.write(labels=tmp_path / "labels", report=tmp_path / "report.html")
    assert not journal.exists()


def test_a_checkpoint_is_no_file_of_rows_and_no_result(folder, tmp_path):
    first = sorted(folder.iterdir())[0]
    with pytest.raises(InvalidRequest, match="read here and would be lost"):
        jobs.run("cluster", data=folder, k=3, checkpoint=first, resume=True)
    found = jobs.run("cluster", data=folder, k=3, checkpoint=tmp_path / "labels.csv")
    with pytest.raises(InvalidRequest, match="read here and would be lost"):
        found.write(labels=tmp_path / "labels.csv")
    with pytest.raises(SidelightError, match="does not exist"):
        jobs.run("cluster", data=folder, k=3, checkpoint=tmp_path / "nowhere" / "fit.journal")


def test_a_checkpoint_of_other_rows_is_refused(folder, table, tmp_path):
    asked = {"k": 3, "checkpoint": tmp_path / "fit.journal", "resume": True}
    jobs.run("cluster", data=folder, **asked)
    other = cut(customers(300, seed=5), tmp_path / "other")
    with pytest.raises(SidelightError, match=r"fit\.journal is of"):
        jobs.run("cluster", data=other, **asked)


# --- what is refused ----------------------------------------------------------------------------


def test_methods_that_need_all_rows_name_those_that_do_not(folder, whole):
    with pytest.raises(InvalidRequest, match=r"SpectralClustering needs all rows.*pckmeans"):
        jobs.run("cluster", data=folder, k=3, method="spectral-clustering")
    jobs.run("cluster", data=whole, k=3, method="kmeans", memory="1GB")


def test_unknown_ids_and_ids_in_two_files_are_named_with_the_file(folder, table, tmp_path):
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("i,j,kind\nc00001,nobody,must-link\n")
    with pytest.raises(UnknownIds, match=r"wrong\.csv, line 2.*nobody"):
        jobs.run("cluster", data=folder, k=3, constraints=wrong)
    pq.write_table(table.slice(10, 5), folder / "part-9.parquet")
    with pytest.raises(SidelightError, match=r"part-0\.parquet and in .*part-9\.parquet"):
        jobs.run("cluster", data=folder, k=3, id_column="customer")


def test_a_folder_of_somebody_else_is_left_alone(folder, tmp_path):
    found = jobs.run("cluster", data=folder, k=3)
    with pytest.raises(InvalidRequest, match="read here"):
        found.write(labels=folder)
    ours = tmp_path / "labels"
    found.write(labels=ours)
    (ours / "part-77.parquet").write_bytes((ours / "part-0.parquet").read_bytes())
    assert jobs._outputs.KINDS["labels"].is_ours(ours)
    found.write(labels=ours)
    assert not (ours / "part-77.parquet").exists()  # of a run with more files
    (ours / "notes.parquet").write_bytes((folder / "part-0.parquet").read_bytes())
    assert not jobs._outputs.KINDS["labels"].is_ours(ours)


def test_a_folder_is_written_completely_or_not_at_all(folder, tmp_path, monkeypatch):
    found = jobs.run("cluster", data=folder, k=3)
    write, batches = pq.ParquetWriter.write_batch, []

    def fails_at_the_third(self: Any, batch: Any) -> None:
        batches.append(batch)
        if len(batches) == 3:
            raise OSError(28, "the disk is full")
        write(self, batch)

    monkeypatch.setattr(pq.ParquetWriter, "write_batch", fails_at_the_third)
    with pytest.raises(OSError, match="disk"):
        found.write(labels=tmp_path / "labels")
    assert not (tmp_path / "labels").exists()


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"resume": True}, "checkpoint"),
        ({"engine": "spark"}, "dask=tcp"),
        ({"memory": "much"}, "500MB"),
        ({"conditions": "count(*) >= 3"}, "all rows in memory"),
        ({"columns": ["nothing"]}, "no column 'nothing'"),
        ({"drop": ["nothing"]}, "no column 'nothing'"),
        ({"id_column": "nothing"}, "no column 'nothing'"),
    ],
)
def test_mistakes_are_said(given, match, folder):
    with pytest.raises(SidelightError, match=match):
        jobs.run("cluster", data=folder, k=3, **given)


def test_rows_in_memory_are_not_read_in_blocks():
    with pytest.raises(InvalidRequest, match="memory= is for rows that are read"):
        jobs.run("cluster", data=np.eye(4), k=2, memory="1GB")


def test_a_file_is_read_in_blocks_where_it_is_large(whole, monkeypatch):
    assert not _when.in_blocks(jobs.ClusterRequest(whole))
    monkeypatch.setattr(_when, "MAX_IN_MEMORY", 1000)
    assert _when.in_blocks(jobs.ClusterRequest(whole))
    assert not _when.in_blocks(jobs.ClusterRequest("nowhere.csv"))


def test_text_files_in_parts(table, tmp_path):
    folder = tmp_path / "big"
    folder.mkdir()
    for number, rows in enumerate((table.slice(0, 100), table.slice(100))):
        with (folder / f"{number}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(rows.column_names)
            writer.writerows(zip(*(c.to_pylist() for c in rows.columns), strict=True))
    found = jobs.run("cluster", data=folder, k=3, drop=["segment"])
    found.write(labels=tmp_path / "labels")
    assert [file.name for file in sorted((tmp_path / "labels").iterdir())] == [
        "0.parquet",
        "1.parquet",
    ]
    assert written(tmp_path / "labels")["customer"] == table.column("customer").to_pylist()
