"""Explanations of entities, and what would decide about doubtful pairs."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from sidelight import Constraints
from sidelight.datasets import make_references
from sidelight.exceptions import SidelightError
from sidelight.relational import CollectiveResolution, ColumnComparison

NAMES = ["W. Wang", "C. Chen", "A. Ansari", "W. Wang", "A. Ansari"]
NAMES += ["L. Li", "C. Chen", "W. Wang", "W. W. Wang", "A. Ansari"]
PAPERS = [1, 1, 1, 2, 2, 3, 3, 3, 4, 4]
IDS = [f"r{i}" for i in range(1, 11)]


@pytest.fixture(scope="module")
def papers() -> CollectiveResolution:
    table = pd.DataFrame({"name": NAMES}, index=IDS)
    known = Constraints(must_link=[("r3", "r5"), ("r5", "r10")], ids=IDS)
    return CollectiveResolution(bootstrap=None).fit(table, relations=PAPERS, constraints=known)


def test_an_entity_is_explained_by_its_merges(papers: CollectiveResolution) -> None:
    wang = papers.explain(row="r9")
    assert wang.rows.tolist() == [0, 3, 8]
    assert wang.entity == papers.labels_[0]
    assert len(wang.table["i"]) == 2
    text = str(wang)
    assert text.startswith("Entity 0: 'r1' (name=W. Wang), 'r4' (name=W. Wang), 'r9'")
    assert re.search(r"1 of 1 neighbors shared:\s+'r3'\s+\(name=A. Ansari\)", text)
    # Both parts of every similarity are there, and make it up.
    table = wang.table
    mixed = 0.5 * table["attribute"] + 0.5 * table["relational"]
    np.testing.assert_allclose(table["similarity"], mixed)
    for similarity in table["similarity"]:
        assert f"similarity {similarity:.2f}" in text


def test_must_links_and_the_bootstrap_are_told_apart(papers: CollectiveResolution) -> None:
    ansari = papers.explain(int(papers.labels_[2]))
    assert ansari.table["kind"].tolist() == ["must-link", "must-link"]
    assert "'r3' + 'r5': must-linked." in str(ansari)
    booted = CollectiveResolution().fit({"name": NAMES}, relations=PAPERS)
    assert "nearly identical, as are references around them" in str(booted.explain(row=2))
    assert "r1" not in str(booted.explain(row=2))


def test_a_single_reference_needs_no_merges(papers: CollectiveResolution) -> None:
    alone = papers.explain(row="r6")
    assert str(alone) == f"Entity {alone.entity}: 'r6' (name=L. Li)"
    assert repr(alone) == f"<EntityExplanation of entity {alone.entity}: 1 references, 0 merges>"


def test_every_merge_belongs_to_one_entity() -> None:
    X, relations, _ = make_references(60, 60, 120, random_state=0)
    model = CollectiveResolution(0.4).fit(X, relations=relations)
    counts = [len(model.explain(k).table["i"]) for k in range(model.labels_.max() + 1)]
    np.testing.assert_array_equal(counts, model.cluster_sizes_ - 1)


def test_doubtful_pairs_are_the_nearest_to_the_threshold() -> None:
    X, relations, _ = make_references(60, 60, 120, random_state=0)
    compare = {"x0": ColumnComparison("number", scale=2.0)}
    model = CollectiveResolution(0.48, bootstrap=0.8, linkage="average", compare=compare).fit(
        X, relations=relations
    )
    found = model.doubtful_pairs(40)
    gap = np.abs(found["similarity"] - 0.48)
    assert np.all(np.diff(gap) >= 0)
    assert found["joined"].any()
    assert not found["joined"].all()
    same = model.labels_[found["i"]] == model.labels_[found["j"]]
    np.testing.assert_array_equal(found["joined"], same)
    mixed = 0.5 * found["attribute"] + 0.5 * found["relational"]
    np.testing.assert_allclose(found["similarity"], mixed)
    # No pair of clusters that may still be merged, and no merge, is nearer than the last one.
    left = (~model.pairs_["joined"]) & (model.pairs_["similarity"] > 0)
    others = np.concatenate(
        [
            np.unique(model.pairs_["similarity"][left]),
            model.merges_["similarity"][model.merges_["kind"] == "similar"],
        ]
    )
    np.testing.assert_allclose(np.unique(np.sort(np.abs(others - 0.48))[:3]), np.unique(gap[:3]))
    assert len(model.doubtful_pairs(0)["i"]) == 0
    assert len(model.doubtful_pairs(10**6)["i"]) > 40


def test_settled_pairs_are_not_doubtful(papers: CollectiveResolution) -> None:
    found = papers.doubtful_pairs(100)
    pairs = {(int(i), int(j)) for i, j in zip(found["i"], found["j"], strict=True)}
    assert not pairs & {(2, 4), (2, 9), (4, 9)}  # must-linked
    known = Constraints(cannot_link=[(0, 7)], n_samples=10)
    apart = CollectiveResolution(bootstrap=None).fit(
        {"name": NAMES}, relations=PAPERS, constraints=known
    )
    found = apart.doubtful_pairs(100)
    assert (0, 7) not in {(int(i), int(j)) for i, j in zip(found["i"], found["j"], strict=True)}


def test_the_pair_that_would_decide_does() -> None:
    names = ["Bo Smith", "Ann Li", "Bo Smith", "Anna Li"]
    papers = [0, 0, 1, 1]
    model = CollectiveResolution(0.7, bootstrap=None).fit({"name": names}, relations=papers)
    assert model.labels_.tolist() == [0, 1, 2, 3]
    found = model.doubtful_pairs(1)
    assert (int(found["i"][0]), int(found["j"][0])) == (0, 2)
    reason = found["reason"][0]
    assert "they share 0 of 2 neighbors" in reason
    assert "were row 1 (name=Ann Li) and row 3 (name=Anna Li) the same" in reason
    (similarity,) = re.findall(r"similarity would be (\d\.\d\d)", reason)
    known = Constraints(must_link=[(1, 3)], n_samples=4)
    decided = CollectiveResolution(0.7, bootstrap=None)
    decided.fit({"name": names}, relations=papers, constraints=known)
    assert decided.labels_.tolist() == [0, 1, 0, 1]
    assert f"{decided.merges_['similarity'][-1]:.2f}" == similarity


def test_what_would_part_a_pair_does() -> None:
    names = ["Bo Smith", "Ann Li", "Bo Smith", "Ann Li"]
    papers = [0, 0, 1, 1]
    known = Constraints(must_link=[(1, 3)], n_samples=4)
    model = CollectiveResolution(0.7, bootstrap=None)
    model.fit({"name": names}, relations=papers, constraints=known)
    (reason,) = model.doubtful_pairs(5)["reason"]
    assert "were the references to row 1 (name=Ann Li) around the two different" in reason
    (similarity,) = re.findall(r"similarity would be (\d\.\d\d)", reason)
    apart = CollectiveResolution(0.7, bootstrap=None).fit({"name": names}, relations=papers)
    assert apart.labels_[0] != apart.labels_[2]
    assert f"{apart.pairs_['similarity'][0]:.2f}" == similarity


def test_without_relations_only_attributes_decide() -> None:
    model = CollectiveResolution(0.99).fit({"name": ["Wei Wang", "W. Wang"]})
    (reason,) = model.doubtful_pairs(5)["reason"]
    assert reason.endswith("with attributes of similarity 0.99 they would join.")
    assert "neighbors" not in reason


def test_bad_questions(papers: CollectiveResolution) -> None:
    with pytest.raises(SidelightError, match="Say which entity"):
        papers.explain()
    with pytest.raises(SidelightError, match="Say which entity"):
        papers.explain(1, row="r1")
    with pytest.raises(SidelightError, match="no entity 99"):
        papers.explain(99)
    with pytest.raises(SidelightError, match="nobody"):
        papers.explain(row="nobody")
    model = CollectiveResolution().fit({"name": NAMES})
    with pytest.raises(SidelightError, match="no reference 77"):
        model.explain(row=77)
