"""Collective resolution against the algorithm written with sets, its limits and its rules."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from tests.relational.resolution.collective_reference import Reference, draw_evidence

from sidelight import Constraints, Relations
from sidelight._kernels.relational.resolution.collective_state import (
    HEAP_SIZE,
    OPEN,
    fill_heap,
    is_current,
)
from sidelight.datasets import make_references
from sidelight.evaluation import pairwise_f1
from sidelight.exceptions import ConstraintWarning, InconsistentConstraints, SidelightError
from sidelight.relational import AttributeResolution, CollectiveResolution, ColumnComparison
from sidelight.relational.resolution import _collective_merges as engine
from sidelight.relational.resolution._collective_merges import (
    Ended,
    Evidence,
    Settings,
    merge_collectively,
    merges_of,
    pairs_of,
)

LINKAGES = ("single", "average", "complete")


WIDTH_2 = {"x0": ColumnComparison("number", scale=2.0)}


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    return np.array_equal(one[:, None] == one, other[:, None] == other)


# ------------------------------------------------------------- the same as with sets


def members_of(clusters: np.ndarray, n: int) -> list[frozenset[int]]:
    """References of the cluster that every merge makes."""
    held = [frozenset([row]) for row in range(n)]
    for first, second in clusters.tolist():
        held.append(held[first] | held[second])
    return held[n:]


# ------------------------------------------------------------- limits


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8, 0.95])
def test_without_relations_it_is_attribute_resolution(threshold: float) -> None:
    X, _, y = make_references(30, 20, 60, random_state=0)
    known = Constraints.sample(y, 30, random_state=0)
    sources = np.arange(len(X)) % 40
    for given_sources in (None, sources):
        if given_sources is not None:
            known = Constraints(cannot_link=known.cannot_link, n_samples=len(X))
        params = {"constraints": known, "sources": given_sources}
        ours = CollectiveResolution(threshold, compare=WIDTH_2).fit(X, **params)
        plain = AttributeResolution(threshold, compare=WIDTH_2).fit(X, **params)
        np.testing.assert_array_equal(ours.labels_, plain.labels_)
        assert ours.relational_share_ == 0.0


def test_default_threshold() -> None:
    X, relations, _ = make_references(20, 20, 30, random_state=0)
    assert CollectiveResolution().fit(X, relations=relations).threshold_ == pytest.approx(0.55)
    assert CollectiveResolution(relational_share=0.2).fit(
        X, relations=relations
    ).threshold_ == pytest.approx(0.7)
    assert CollectiveResolution().fit(X).threshold_ == 0.8


def test_a_reference_that_occurs_alone_joins_by_attributes() -> None:
    names = {"name": ["Wei Wang", "Ann Li", "Wei Wang"]}
    papers = [1, 1, 2]
    assert CollectiveResolution().fit(names, relations=papers).labels_.tolist() == [0, 1, 0]
    as_published = CollectiveResolution(isolated=0.0).fit(names, relations=papers)
    assert as_published.labels_.tolist() == [0, 1, 2]
    assert as_published.pairs_["similarity"].tolist() == [0.5]


def test_alpha_1_counts_neighbors_alone() -> None:
    X = np.array([[0.0], [5.0], [0.9], [5.0]])
    relations = Relations(hyperedges=[[0, 1], [2, 3]], n_samples=4)
    known = Constraints(must_link=[(1, 3)], n_samples=4)
    model = CollectiveResolution(1.0, relational_share=1.0, bootstrap=None, compare=WIDTH_2)
    model.fit(X, relations=relations, constraints=known)
    np.testing.assert_array_equal(model.labels_, [0, 1, 0, 1])
    assert model.merges_["relational"][-1] == 1.0


# ------------------------------------------------------------- rules


def test_a_cannot_link_beats_the_bootstrap() -> None:
    names = {"name": ["W. Wang", "A. Ansari", "W. Wang", "A. Ansari"]}
    joined = CollectiveResolution().fit(names, relations=[0, 0, 1, 1])
    assert joined.merges_["kind"].tolist() == ["bootstrap", "bootstrap"]
    known = Constraints(cannot_link=[(0, 2)], n_samples=4)
    apart = CollectiveResolution().fit(names, relations=[0, 0, 1, 1], constraints=known)
    assert apart.labels_[0] != apart.labels_[2]
    # With the two Wangs known to differ, nothing identifies the two Ansaris any more.
    assert apart.labels_[1] != apart.labels_[3]


def test_references_of_one_hyperedge_may_be_the_same_if_said_so() -> None:
    names = {"name": ["Ann Li", "Ann Li", "Bo Berg"]}
    groups = [[0, 1, 2]]
    assert len(set(CollectiveResolution().fit(names, relations=groups).labels_)) == 3
    model = CollectiveResolution(0.5, distinct=False).fit(names, relations=groups)
    assert model.labels_.tolist() == [0, 0, 1]


def test_a_must_link_inside_a_hyperedge_holds_and_is_told() -> None:
    names = {"name": ["Ann Li", "A. Li", "Bo Berg"]}
    known = Constraints(must_link=[(0, 1)], n_samples=3)
    with pytest.warns(ConstraintWarning, match="row 0 and row 1 are in one hyper-edge"):
        model = CollectiveResolution().fit(names, relations=[[0, 1, 2]], constraints=known)
    assert model.labels_.tolist() == [0, 0, 1]
    assert model.merges_["kind"].tolist() == ["must-link"]


def test_contradictions_are_refused() -> None:
    known = Constraints(must_link=[(0, 1)], n_samples=3)
    with pytest.raises(InconsistentConstraints, match="row 0"):
        CollectiveResolution().fit(
            {"name": ["a b", "a b", "c d"]}, constraints=known, sources=["s", "s", "t"]
        )


# ------------------------------------------------------------- the result


@pytest.mark.parametrize("linkage", LINKAGES)
def test_pairs_and_merges_tell_the_same_story(linkage: str) -> None:
    X, relations, _ = make_references(40, 30, 80, random_state=1)
    known = Constraints(must_link=[(0, 5), (5, 9)], cannot_link=[(1, 7)], n_samples=len(X))
    model = CollectiveResolution(linkage=linkage, compare=WIDTH_2)
    model.fit(X, relations=relations, constraints=known)
    pairs, merges = model.pairs_, model.merges_
    np.testing.assert_array_equal(
        pairs["joined"], model.labels_[pairs["i"]] == model.labels_[pairs["j"]]
    )
    assert np.all(pairs["similarity"][~pairs["joined"]] < model.threshold_)
    own = merges["kind"] == "similar"
    assert np.all(merges["similarity"][own] >= model.threshold_)
    mixed = (1 - model.relational_share) * merges["attribute"] + model.relational_share * merges[
        "relational"
    ]
    np.testing.assert_allclose(merges["similarity"][own], mixed[own])
    known_both = (merges["shared"] > 0) | (merges["relational"] != 0.3)
    share = np.divide(
        merges["shared"],
        merges["neighbors"],
        out=np.zeros(len(own)),
        where=merges["neighbors"] > 0,
    )
    np.testing.assert_allclose(merges["relational"][known_both], share[known_both])
    held = members_of(np.column_stack([merges["first"], merges["second"]]), len(X))
    for step, cluster in enumerate(held):
        assert {int(merges["i"][step]), int(merges["j"][step])} <= cluster
        assert len(set(model.labels_[list(cluster)])) == 1
    assert len(X) - len(held) == model.labels_.max() + 1


def test_labels_at_a_higher_threshold_are_those_of_a_fit() -> None:
    X, relations, _ = make_references(60, 60, 120, random_state=2)
    low = CollectiveResolution(0.1, compare=WIDTH_2).fit(X, relations=relations)
    for threshold in (0.1, 0.3, 0.45, 0.6, 0.9, 1.0):
        again = CollectiveResolution(threshold, compare=WIDTH_2).fit(X, relations=relations)
        np.testing.assert_array_equal(low.labels_at(threshold), again.labels_)


@pytest.mark.parametrize("linkage", LINKAGES)
def test_the_order_of_references_and_hyperedges_does_not_matter(linkage: str) -> None:
    X, relations, _ = make_references(60, 50, 120, random_state=3)
    model = CollectiveResolution(0.4, linkage=linkage, compare=WIDTH_2)
    labels = model.fit(X, relations=relations).labels_.copy()
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(X))
    columns = rng.permutation(relations.n_hyperedges)
    incidence = sparse.csr_array(relations.incidence[rows][:, columns])
    shuffled = model.fit(X[rows], relations=Relations(hyperedges=incidence, n_samples=len(X)))
    assert same_partition(shuffled.labels_, labels[rows])


NAMES = ["W. Wang", "C. Chen", "A. Ansari", "W. Wang", "A. Ansari"]


NAMES += ["L. Li", "C. Chen", "W. Wang", "W. W. Wang", "A. Ansari"]


PAPERS = [1, 1, 1, 2, 2, 3, 3, 3, 4, 4]


ENTITIES = {*map(frozenset, ({1, 4, 9}, {3, 5, 10}, {8}, {2}, {7}, {6}))}


def test_the_example_of_the_chapter_when_one_author_is_known() -> None:
    known = Constraints(must_link=[(2, 4), (4, 9)], n_samples=10)
    model = CollectiveResolution(bootstrap=None)
    labels = model.fit({"name": NAMES}, relations=PAPERS, constraints=known).labels_
    assert {frozenset((np.flatnonzero(labels == k) + 1).tolist()) for k in set(labels)} == ENTITIES


def test_more_is_found_with_relations_than_without() -> None:
    with_relations, without = [], []
    for seed in range(5):
        X, relations, y = make_references(100, 50, 200, random_state=seed)
        model = CollectiveResolution(compare=WIDTH_2).fit(X, relations=relations)
        with_relations.append(pairwise_f1(y, model.labels_))
        thresholds = (0.3, 0.5, 0.7, 0.8, 0.9)
        plain = [AttributeResolution(t, compare=WIDTH_2, distinct=True) for t in thresholds]
        without.append(
            max(pairwise_f1(y, one.fit(X, relations=relations).labels_) for one in plain)
        )
    assert np.mean(with_relations) > np.mean(without) + 0.1


# ------------------------------------------------------------- bad input


def test_labels_at_a_lower_threshold_are_not_known() -> None:
    model = CollectiveResolution(0.6).fit({"name": ["Ann Li", "A. Li"]})
    with pytest.raises(SidelightError, match=r"down to the threshold 0\.6"):
        model.labels_at(0.5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"threshold": -1}, "threshold"),
        ({"relational_share": 1.5}, "relational_share"),
        ({"linkage": "ward"}, "linkage"),
        ({"bootstrap": "often"}, "bootstrap"),
        ({"bootstrap_neighbors": -1}, "bootstrap_neighbors"),
    ],
)
def test_bad_parameters(params: dict, message: str) -> None:
    with pytest.raises(SidelightError, match=message):
        CollectiveResolution(**params).fit({"name": ["Ann Li", "A. Li"]})


def test_few_references() -> None:
    assert CollectiveResolution().fit({"name": ["Ann Li"]}).labels_.tolist() == [0]
    frame = pd.DataFrame({"name": [None, None]})
    model = CollectiveResolution().fit(frame, relations=[0, 0])
    assert model.labels_.tolist() == [0, 1]
    assert len(model.pairs_["i"]) == len(model.merges_["i"]) == 0
    assert model.n_iter_ == 1


# --- what it is made of ---


def clusters_of(ended: Ended) -> set[frozenset[int]]:
    root = ended.root()
    return {frozenset(np.flatnonzero(root == one).tolist()) for one in np.unique(root)}


def fresh(ended: Ended) -> Reference:
    """The reference algorithm, in the state of the engine."""
    reference = Reference(ended.evidence, ended.settings)
    reference.clusters = sorted(clusters_of(ended), key=min)
    return reference


# ------------------------------------------------------------- the same as with sets


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("bootstrap", [None, 0.6])
def test_merges_are_those_of_brute_force(seed: int, linkage: str, bootstrap: float | None) -> None:
    evidence = draw_evidence(seed, distinct=seed % 2 == 0, n_conflicts=3, n_must_links=2)
    chosen = Settings(0.4, 0.35, linkage, bootstrap, 1, isolated=0.1 * seed)
    wanted = Reference(evidence, chosen).run()
    ended = merge_collectively(evidence, chosen)
    merges = merges_of(ended)
    made = members_of(merges.clusters, evidence.n)
    own = np.flatnonzero(merges.kind != "must-link")
    assert [made[step] for step in own] == [cluster for cluster, _ in wanted.merges]
    np.testing.assert_allclose(merges.similarity[own], [value for _, value in wanted.merges])
    assert np.sum(merges.kind == "bootstrap") == wanted.n_bootstrapped
    assert clusters_of(ended) == set(wanted.clusters)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("linkage", LINKAGES)
def test_after_every_merge_all_similarities_are_those_computed_anew(
    seed: int, linkage: str
) -> None:
    evidence = draw_evidence(seed, n=14, distinct=seed % 2 == 0, n_conflicts=2)
    threshold = 0.3
    for n_merges in itertools.count():
        ended = merge_collectively(evidence, Settings(0.5, threshold, linkage), max_merges=n_merges)
        state = ended.state
        left = np.flatnonzero(state.fate == OPEN)
        wanted = fresh(ended).open_pairs()
        root = ended.root()
        where = {int(one): frozenset(np.flatnonzero(root == one).tolist()) for one in root}
        found = {
            frozenset(where[int(node)] for node in state.similar.ends[2 * e : 2 * e + 2]): e
            for e in left.tolist()
        }
        assert found.keys() == wanted.keys()
        for pair, e in found.items():
            assert state.value[e] == pytest.approx(wanted[pair])
        entries = [
            int(state.heap_edge[i])
            for i in range(state.counters[HEAP_SIZE])
            if is_current(state, i)
        ]
        assert sorted(entries) == [e for e in left if state.value[e] >= threshold]
        if ended.converged:
            break
    assert n_merges > 2


def test_a_heap_that_is_too_small_grows() -> None:
    evidence = draw_evidence(3, n=24, share=0.9, distinct=False)
    chosen = Settings(0.6, 0.2, "average")
    wanted = merge_collectively(evidence, chosen)
    state, _ = engine._start(evidence, chosen)
    fill_heap(state, 0.6, engine.LINKAGES["average"], 0.2)
    size = int(state.counters[HEAP_SIZE])
    small = {name: getattr(state, name)[:size] for name in ("heap_value", "heap_edge")}
    small["heap_version"] = state.heap_version[:size]
    grown, converged = engine._merge(state._replace(**small), chosen, 1, None)
    assert converged
    assert len(grown.heap_value) > size
    np.testing.assert_array_equal(grown.parent, wanted.state.parent)


# ------------------------------------------------------------- limits


@pytest.mark.parametrize("seed", range(3))
def test_without_relations_and_rules_it_is_the_closure_of_attributes(seed: int) -> None:
    evidence = draw_evidence(seed, n=40, share=0.1, distinct=False)
    for threshold in np.linspace(0.0, 1.0, 21):
        ended = merge_collectively(evidence, Settings(0.0, threshold, "single"))
        kept = evidence.pairs[evidence.similarity >= threshold]
        graph = sparse.coo_array((np.ones(len(kept)), (kept[:, 0], kept[:, 1])), (40, 40))
        assert same_partition(ended.root(), connected_components(graph, directed=False)[1])


# ------------------------------------------------------------- what a merge does to others


def test_similarity_rises_for_pairs_that_one_of_the_merged_clusters_tells_apart() -> None:
    """Unless both had both merged clusters around them, their Jaccard coefficient rises."""
    seen = {"rises": 0, "may fall": 0}
    for seed in range(12):
        evidence = draw_evidence(seed, n=14, n_hyperedges=10, distinct=False)
        chosen = Settings(0.5, 0.0, "single")
        before = merge_collectively(evidence, chosen, max_merges=0)
        n_merges = merge_collectively(evidence, chosen).n_merges
        for step in range(n_merges):
            after = merge_collectively(evidence, chosen, max_merges=step + 1)
            old, new = fresh(before), fresh(after)
            merged = (clusters_of(after) - clusters_of(before)).pop()
            parts = clusters_of(before) - clusters_of(after)
            kept = clusters_of(before) & clusters_of(after)
            for a, b in itertools.combinations(sorted(kept, key=min), 2):
                if merged not in new.around(a) or merged not in new.around(b):
                    continue
                both = parts <= old.around(a) and parts <= old.around(b)
                seen["may fall" if both else "rises"] += 1
                assert both or new.relational(a, b) >= old.relational(a, b)
            before = after
    assert min(seen.values()) > 0


def test_similarity_falls_where_both_merged_clusters_were_shared() -> None:
    sets = [[0, 2], [0, 3], [0, 4], [1, 2], [1, 3], [1, 5]]
    pairs = np.array([[0, 1], [2, 3]])
    incidence = Relations(hyperedges=sets, n_samples=6).incidence
    none = sparse.csr_array((6, 0), dtype=np.int8)
    evidence = Evidence(
        pairs, np.array([0.1, 0.9]), incidence, np.arange(6), np.empty((0, 2), np.int64), none
    )
    values = [
        pairs_of(merge_collectively(evidence, Settings(0.5, 0.4, "single"), max_merges=n))[
            "relational"
        ][0]
        for n in (0, 1)
    ]
    np.testing.assert_allclose(values, [2 / 4, 1 / 3])


# ------------------------------------------------------------- rules


@settings(max_examples=40)
@given(
    st.integers(0, 10_000),
    st.floats(0, 1),
    st.floats(0, 0.8),
    st.sampled_from(LINKAGES),
    st.sampled_from([None, 0.2, 0.7]),
    st.integers(0, 2),
)
def test_rules_always_hold(
    seed: int, alpha: float, threshold: float, linkage: str, bootstrap: float | None, wanted: int
) -> None:
    evidence = draw_evidence(seed, n_conflicts=4, n_must_links=3)
    kept = [
        pair for pair in evidence.conflicts.tolist() if pair[0] != pair[1]
    ]  # between different components
    ended = merge_collectively(evidence, Settings(alpha, threshold, linkage, bootstrap, wanted))
    root, node = ended.root(), evidence.node
    root_of_node = np.empty(evidence.n_nodes, np.int64)
    root_of_node[node] = root
    for u, v in kept:
        assert root_of_node[u] != root_of_node[v]
    for column in evidence.exclusive.toarray().T:
        held = root_of_node[np.flatnonzero(column)]
        assert len(np.unique(held)) == len(held)
    for one in np.unique(node):
        assert len(np.unique(root[node == one])) == 1


# ------------------------------------------------------------- the result


@pytest.mark.parametrize("alpha", [0.4, 0.5, 0.6])
def test_the_example_of_the_chapter(alpha: float) -> None:
    """Equal names are the more similar the rarer they are: that of Ansari begins."""
    pairs = np.array(
        [(i, j) for i, j in itertools.combinations(range(10), 2) if last(i) == last(j)]
    )
    rarity = {"Ansari": 1.0, "Chen": 0.9, "Wang": 0.9}
    same = np.array([NAMES[i] == NAMES[j] for i, j in pairs])
    similarity = np.array([rarity[last(i)] for i, _ in pairs]) * np.where(same, 1.0, 0.9)
    relations = Relations.from_groups(PAPERS)
    evidence = Evidence(
        pairs,
        similarity,
        relations.incidence,
        np.arange(10),
        np.empty((0, 2), np.int64),
        relations.incidence,
    )
    threshold = 0.95 * (1 - alpha)  # between what a rare and a frequent name say by themselves
    ended = merge_collectively(evidence, Settings(alpha, threshold, "average"))
    assert {frozenset(row + 1 for row in one) for one in clusters_of(ended)} == ENTITIES


def last(reference: int) -> str:
    return NAMES[reference].split()[-1]


# ------------------------------------------------------------- bad input


def test_hyperedges_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MAX_NEIGHBORS", 10)
    names = {"name": [f"Ann Li{i}" for i in range(8)]}
    with pytest.raises(SidelightError, match="the largest is hyper-edge 1 with 6 references"):
        CollectiveResolution().fit(names, relations=[0, 0, 1, 1, 1, 1, 1, 1])
