"""Reports of graphs: sign matrix, gap, map of connected clusters, merge chains, rates."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from tests.display.test_relational import signed

from sidelight import Constraints, Relations, jobs
from sidelight.evaluation import pairwise_f1
from sidelight.jobs._graph import gap_text, objects_table
from sidelight.jobs.consensus._facts import disputed_share, vote_blocks, votes_of_pairs
from sidelight.jobs.correlate import _page as correlate_page
from sidelight.jobs.correlate._facts import pair_kinds, worst_disagreements
from sidelight.jobs.correlate._run import CorrelateRun
from sidelight.jobs.regions._facts import n_pieces
from sidelight.pictures.relational._blocks import matrix_codes, sign_blocks, sign_cells
from sidelight.pictures.relational._curve import curve_of_merges
from sidelight.pictures.svg._render import svg_of


class Fitted(BaseEstimator):
    """A partition of scored pairs whose quality is given."""

    def __init__(self, labels_=None, objective_=0.0, lower_bound_=0.0):
        self.labels_, self.objective_, self.lower_bound_ = labels_, objective_, lower_bound_
        self.agreement_ = 10.0


# --- scored pairs -----------------------------------------------------------------------------


def test_cost_is_the_sum_over_red_cells():
    relations, labels = signed()
    blocks = sign_blocks(relations.edges, relations.scores, labels, 1000)
    same = labels[relations.edges[:, 0]] == labels[relations.edges[:, 1]]
    cost = np.where(same, np.maximum(-relations.scores, 0), np.maximum(relations.scores, 0)).sum()
    assert np.abs(blocks.scores[blocks.disagree]).sum() == pytest.approx(cost)
    rows = pair_kinds(relations, labels)
    assert sum(n for _, n, _, _ in rows) == relations.n_edges
    against = [row for row in rows if row[-1]]
    assert sum(n for _, n, _, _ in against) == blocks.disagree.sum()
    assert sum(total for _, _, total, _ in against) == pytest.approx(cost)


def test_linked_clusters_are_neighbors():
    pairs = [(0, 1), (2, 3), (1, 2), (4, 5), (5, 6), (4, 6), (7, 8)]
    scores = np.array([1.0, 1.0, -1.0, 1.0, 1.0, 1.0, 1.0])
    labels = np.array([0, 0, 1, 1, 2, 2, 2, 3, 3])
    blocks = sign_blocks(np.array(pairs), scores, labels, 100)
    assert blocks.clusters.tolist() == [0, 1, 2, 3]  # 0 and 1 are linked, and four objects
    assert sorted(blocks.order.tolist()) == list(range(9))


def test_strokes_cover_the_matrix():
    relations, labels = signed()
    blocks = sign_blocks(relations.edges, relations.scores, labels, 30)
    picture = sign_cells(blocks, [f"o{i}" for i in blocks.order])
    svg = svg_of(picture)
    drawn = np.zeros((30, 30), int)
    for code, layer in enumerate(picture.layers, start=1):
        path = re.search(rf'<path class="{layer.css}" d="([^"]*)"', svg).group(1)
        for x, y, length in re.findall(r"M(\d+) ([\d.]+)h(\d+)", path):
            drawn[int(float(y)), int(x) : int(x) + int(length)] += code
    np.testing.assert_array_equal(drawn, matrix_codes(blocks))


def partition(model, relations, truth=None):
    """Scored pairs with a partition whose quality is given."""
    data = objects_table(relations.ids, relations.n_samples, Path("pairs.csv"), None)
    if truth is not None:
        data = replace(data, truth=np.asarray(truth, str), truth_column="truth")
    return CorrelateRun(
        method=None,
        estimator=model,
        data=data,
        knowledge=Constraints(n_samples=relations.n_samples, ids=relations.ids),
        seconds=0.1,
        notes=(),
        request=jobs.CorrelateRequest("pairs.csv"),
        relations=relations,
    )


def test_the_page_of_scored_pairs(parse):
    relations, labels = signed()
    ids = [f"<o{i}>" for i in range(40)]
    named = Relations([(ids[i], ids[j]) for i, j in relations.edges], relations.scores, ids=ids)
    html = partition(Fitted(labels, 12.0, 10.0), named, truth=labels).page().html()
    page = parse(html)
    words = page.words()
    assert "within 17 % of optimal" in words
    assert "Strongest disagreements" in words
    assert "Agreement with the truth" in words
    assert "sidelight correlate pairs.csv" in words
    assert "<o1>" not in html  # ids are escaped
    worst = worst_disagreements(named, labels, 3)
    scores = [abs(float(row["score"])) for row in worst]
    assert scores == sorted(scores, reverse=True)
    assert worst[0]["first"] in words
    assert len(page.find("rect", class_="frame")) == 4


def test_how_far_from_optimal():
    assert gap_text(Fitted(None, 5.0, 5.0)) == "proven optimal"
    assert gap_text(Fitted(None, 0.0, 0.0)) == "proven optimal"
    assert gap_text(Fitted(None, 5.0, 4.0)) == "within 20 % of optimal"
    assert "no lower bound" in gap_text(Fitted(None, 5.0, 0.0))


def test_of_many_objects_the_page_says_what_is_shown(monkeypatch, parse):
    monkeypatch.setattr(correlate_page, "MAX_OBJECTS", 10)
    relations, labels = signed()
    html = partition(Fitted(labels, 1.0, 1.0), relations).page().html()
    assert "10 of 40 objects" in parse(html).words()


# --- several partitions ------------------------------------------------------------------------


def together(codes, u, v):
    """Vote of a partition about a pair: 1 together, -1 apart, 0 where it knows not both."""
    if codes[u] < 0 or codes[v] < 0:
        return 0
    return 1 if codes[u] == codes[v] else -1


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_votes_and_disputes_by_their_definition(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 9)), int(rng.integers(2, 5))
    partitions = rng.integers(-1, 3, size=(n, m))
    labels = rng.integers(0, 3, size=n)
    edges, scores = votes_of_pairs(partitions)
    assert len(edges) == n * (n - 1) // 2
    for (u, v), score in zip(edges, scores, strict=True):
        assert score == sum(together(codes, u, v) for codes in partitions.T)
    share = disputed_share(partitions, labels)
    for u in range(n):
        votes = [
            together(codes, u, v) * together(labels, u, v)
            for codes in partitions.T
            for v in range(n)
            if v != u
        ]
        n_votes = sum(vote != 0 for vote in votes)
        assert share[u] == pytest.approx(votes.count(-1) / max(n_votes, 1))


def noisy_partitions(n=60, m=5):
    rng = np.random.default_rng(0)
    classes = np.arange(n) // (n // 3)
    return np.column_stack(
        [np.where(rng.random(n) < 0.2, rng.integers(0, 4, n), classes) for _ in range(m)]
    )


def test_the_page_of_a_consensus(parse):
    partitions = noisy_partitions()
    partitions[:4, 0] = -1
    ids = np.array([f"<o{i}>" for i in range(60)])
    known = Constraints(must_link=[(ids[0], ids[59])], ids=ids)
    votes = pd.DataFrame(partitions, columns=["ann", "bob", "cid", "dee", "eve"])
    votes["ann"] = votes["ann"].where(votes["ann"] >= 0).astype("Int64")
    votes["id"], votes["truth"] = ids, np.arange(60) // 20
    found = jobs.run("consensus", data=votes, id_column="id", truth="truth", constraints=known)
    described, model = found.described, found.estimator
    assert [one.n_missing for one in described] == [4, 0, 0, 0, 0]
    assert described[0].n_pairs == 56 * 55 // 2
    assert sum(one.n_different for one in described) == model.objective_
    html = found.page().html()
    page = parse(html)
    words = page.words()
    for title in ("Votes about the pairs", "How near every partition is", "Rows in dispute"):
        assert title in words
    assert "must-links 1 0 100%" in words
    assert "Agreement with the truth" in words
    assert f"{1 - described[1].distance:.1%}" in words
    assert "<o1>" not in html  # ids are escaped
    n_frames = int((np.unique(model.labels_, return_counts=True)[1] > 1).sum())
    assert len(page.find("rect", class_="frame")) == n_frames


def test_of_many_rows_clusters_keep_their_proportions():
    partitions = noisy_partitions(600)
    labels = np.arange(600) // 200
    blocks, rows = vote_blocks(partitions, labels, 30)
    assert np.bincount(labels[rows]).tolist() == [10, 10, 10]
    edges, scores = votes_of_pairs(partitions[rows])
    same = labels[rows][edges[:, 0]] == labels[rows][edges[:, 1]]
    assert blocks.disagree.sum() == (np.where(same, scores < 0, scores > 0)).sum()


# --- connected clusters -----------------------------------------------------------------------


@pytest.fixture
def lattice():
    side = 6
    place = np.array(list(itertools.product(range(side), range(side))), float)
    number = np.arange(side * side).reshape(side, side)
    across = np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    down = np.column_stack([number[:-1].ravel(), number[1:].ravel()])
    graph = Relations(np.vstack([across, down]), n_samples=side * side)
    X = np.where(place[:, :1] < 3, 0.0, 5.0) + np.random.default_rng(0).normal(size=(36, 2))
    return X, graph, place


def test_the_map_of_connected_clusters(lattice, parse):
    X, graph, place = lattice
    found = jobs.run("regions", data=X, k=2, edges=graph, coordinates=place, raw=True)
    html = found.page().html()
    page = parse(html)
    assert "Every cluster is one piece" in page.words()
    assert "Radius of every cluster" in page.words()
    assert "Distances at which rows joined" in page.words()
    svg = re.search(r'<svg class="regions".*?</svg>', html).group()
    assert svg.count("<circle") == 36
    assert svg.count(' center"') == 2
    between = re.search(r'<path class="between" d="([^"]*)"', svg).group(1).count("M")
    inside = sum(d.count("M") for d in re.findall(r'<path class="inside k\d" d="([^"]*)"', svg))
    labels = found.labels
    expected = (labels[graph.edges[:, 0]] != labels[graph.edges[:, 1]]).sum()
    assert (between, inside) == (expected, graph.n_edges - expected)


def test_without_coordinates_and_without_a_graph(lattice, parse):
    X, graph, _ = lattice
    plain = jobs.run("regions", data=X, k=2, edges=graph, raw=True).page().html()
    assert "nodes are placed by their attributes" in parse(plain).words()
    html = jobs.run("regions", data=X, k=2, raw=True).page().html()
    assert "Connected clusters on the map" not in parse(html).words()


def test_pieces_are_counted(lattice):
    _, graph, _ = lattice
    assert n_pieces(np.zeros(36, int), graph).tolist() == [1]
    labels = np.zeros(36, int)
    labels[[0, 35]] = 1
    labels[7] = -1
    assert n_pieces(labels, graph).tolist() == [1, 2]
    assert n_pieces(np.arange(36) // 6, graph).tolist() == [1] * 6


# --- entities ---------------------------------------------------------------------------------


def joined_pairs(n, first, second):
    labels = np.arange(n)
    for a, b in zip(first, second, strict=True):
        labels[labels == labels[b]] = labels[a]
    return labels


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_rates_equal_those_of_every_partition(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 9)), int(rng.integers(1, 8))
    truth = rng.integers(-1, 3, size=n)
    first, second = rng.integers(n, size=(2, m))
    similarity = rng.choice([0.9, 0.7, 0.5, 0.3], size=m)
    curve = curve_of_merges(first, second, similarity, truth)
    assert (np.diff(curve.thresholds) < 0).all()
    level = np.minimum.accumulate(similarity)
    known = truth >= 0
    for place, threshold in enumerate(curve.thresholds):
        steps = np.flatnonzero(level >= threshold)
        labels = joined_pairs(n, first[steps], second[steps])[known]
        same = labels[:, None] == labels
        right = truth[known][:, None] == truth[known]
        upper = np.triu(np.ones_like(same), 1).astype(bool)
        joined, both = (same & upper).sum(), (same & right & upper).sum()
        assert curve.precision[place] == pytest.approx(both / joined if joined else 1.0)
        assert curve.recall[place] == pytest.approx(both / max((right & upper).sum(), 1))
        if (right & upper).any() and joined:
            expected = pairwise_f1(truth[known], labels)
            assert curve.f1[place] == pytest.approx(expected)


NAMES = ["Ann Lee", "Anne Lee", "Bob Ross", "Bob Ros", "Bo Ross", "Carl Sand"]
TRUTH = np.array([0, 0, 1, 1, 1, 2])
ROLES = {"id_column": "id", "truth": "entity"}


def resolved(threshold=0.7, **columns):
    table = pd.DataFrame({"name": NAMES, **columns})
    roles = {role: name for role, name in ROLES.items() if name in columns}
    return jobs.run("resolve", data=table, threshold=threshold, compare={"name": "text"}, **roles)


def test_the_page_of_entities(parse):
    found = resolved(id=[f"<r{i}>" for i in range(6)], entity=TRUTH)
    html = found.page().html()
    words = parse(html).words()
    assert "How the largest entities came about" in words
    assert "Entity 1 3 references" in words  # the Rosses
    assert "Bo Ross" in words
    assert "<r2>" in words
    assert "<r2>" not in html  # ids are escaped
    assert len(found.doubtful()["reason"])
    for reason in found.doubtful()["reason"]:
        assert reason in words
    assert "Precision and recall over the threshold" in words
    assert f"{float(found.estimator.merges_['similarity'][0]):.3f}" in words
    for line in found.blocking_lines():
        assert line in words


def test_a_page_without_truth_merges_and_doubts(parse):
    words = parse(resolved(threshold=2.0).page().html()).words()
    assert "No references were joined." in words
    assert "Doubtful pairs" not in words
    assert "Precision" not in words


def test_pages_in_a_browser(lattice, tmp_path, chromium):
    X, graph, place = lattice
    found = jobs.run("regions", data=X, k=2, edges=graph, coordinates=place, raw=True)
    page = found.report(tmp_path / "map.html")
    dom = chromium(page.as_uri(), "--dump-dom")
    root = re.search(r"<html[^>]*>", dom).group()
    assert 'data-ready="true"' in root
    assert "data-error" not in root
