"""Rows are found by id: a data frame in another order never gets the knowledge of other rows."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

from sidelight import Constraints, cluster, mixture
from sidelight.active import ActiveClusterer, Answers, MinMax
from sidelight.cluster import COPKMeans, FeedbackClustering, KMeans, PCKMeans, SeededKMeans
from sidelight.evaluation import (
    ConstraintSearchCV,
    constrained_scores,
    constraint_satisfaction,
    partition_scores,
)
from sidelight.exceptions import ConstraintWarning, SidelightError, UnknownIds
from sidelight.feature_selection import ConstraintScore
from sidelight.jobs import ClusterRequest, run
from sidelight.metric import RCA
from sidelight.report import render_report

KINDS = {
    "words": lambda n: [f"c{row}" for row in range(n)],
    "numbers": lambda n: list(range(1000, 1000 + n)),
    "positions": lambda n: list(range(n)),
    "days": lambda n: pd.date_range("2020-01-01", periods=n),
    "pairs": lambda n: pd.MultiIndex.from_tuples([("a", row) for row in range(n)]),
}


def iris(kind, seed=0):
    """Rows by id, what is known about them by id, and the same rows in another order."""
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X[:, :2], columns=["length", "width"], index=KINDS[kind](len(X)))
    known = Constraints.sample(y, 100, random_state=seed, ids=frame.index)
    return frame, y, known, frame.sample(frac=1, random_state=seed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_in_another_order_gives_the_same_constraints(kind):
    frame, _, known, other = iris(kind)
    model = COPKMeans(n_clusters=3, random_state=0).fit(other, constraints=known)
    by_id = pd.Series(model.labels_, index=other.index)
    for i, j in known.must_link:
        assert by_id[frame.index[i]] == by_id[frame.index[j]]
    for i, j in known.cannot_link:
        assert by_id[frame.index[i]] != by_id[frame.index[j]]
    assert model.n_violations_ == 0
    assert known.violations(by_id).n == 0
    assert known.align(other).violations(model.labels_).n == 0
    assert constraint_satisfaction(known, by_id) == 1
    aligned = known.align(other)
    by_hand = COPKMeans(n_clusters=3, random_state=0).fit(other.to_numpy(), constraints=aligned)
    np.testing.assert_array_equal(model.labels_, by_hand.labels_)


@pytest.mark.parametrize("kind", KINDS)
def test_aligned_constraints_state_the_same_about_the_same_ids(kind):
    frame, y, known, other = iris(kind)
    labeled = known | Constraints(labels=np.where(y == 0, 5, -1), ids=frame.index)
    there = labeled.align(other)
    assert there.ids.tolist() == other.index.to_list()
    assert labeled.align(frame) is labeled
    assert there.align(frame) == labeled
    named = {frozenset(map(repr, known.ids[pair])) for pair in known.must_link}
    assert {frozenset(map(repr, there.ids[pair])) for pair in there.must_link} == named
    classes = dict(zip(labeled.ids.tolist(), labeled.labels.tolist(), strict=True))
    assert [classes[name] for name in there.ids.tolist()] == there.labels.tolist()


@pytest.mark.parametrize(
    "estimator",
    [
        PCKMeans(3, n_init=1, random_state=0),
        cluster.MPCKMeans(3, n_init=1, random_state=0),
        cluster.ConstrainedAgglomeration(3),
        cluster.SizeConstrainedKMeans(3, n_init=1, random_state=0),
        mixture.ChunkletMixture(3, random_state=0),
        RCA(),
        ConstraintScore(1),
        ActiveClusterer(PCKMeans(3, n_init=1, random_state=0), budget=0),
        ConstraintSearchCV(PCKMeans(n_init=1, random_state=0), {"n_clusters": [3]}, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_every_door_takes_rows_by_their_index(estimator):
    _, _, known, other = iris("words")
    more = {"oracle": lambda i, j: None} if isinstance(estimator, ActiveClusterer) else {}

    def fitted(rows, constraints):
        model = estimator.fit(rows, constraints=constraints, **more)
        found = model.labels_ if hasattr(model, "labels_") else model.transform(rows)
        score = getattr(model, "best_score_", 0.0)
        return np.array(found, copy=True), score

    for by_index, by_hand in zip(
        fitted(other, known), fitted(other.to_numpy(), known.align(other)), strict=True
    ):
        np.testing.assert_array_equal(by_index, by_hand)


def test_partial_labels_and_groups_come_by_id():
    frame = pd.DataFrame({"x": [0.0, 9.0, 0.1, 9.1]}, index=list("abcd"))
    labels = pd.Series({"d": "high", "a": "low"})
    for given in (labels, labels.to_dict(), {"a": "low", "d": "high", "b": None}):
        for known in (
            Constraints(labels=given, ids=frame.index),
            Constraints(groups=given, ids=list("abcd")),
        ):
            codes = known.groups if known.labels is None else known.labels
            assert codes.tolist() == [1, -1, -1, 0]
    assert Constraints(labels={3: "high", 0: "low"}, n_samples=4).labels.tolist() == [1, -1, -1, 0]
    adopted = Constraints.from_labels(labels)
    assert adopted.ids.tolist() == ["d", "a"]
    model = SeededKMeans(2).fit(frame.loc[["a", "d"]], constraints=adopted)
    assert model.classes_[model.labels_].tolist() == ["low", "high"]
    with pytest.raises(UnknownIds, match="labels names 'e', which does not occur among the 4 ids"):
        Constraints(labels={"e": 1}, ids=frame.index)
    with pytest.raises(UnknownIds, match="names 7, which does not occur among the 4 rows"):
        Constraints(labels={7: 1}, n_samples=4)
    with pytest.raises(UnknownIds, match="'e'"):
        Constraints(labels=pd.Series({"a": 1, "e": 2}), ids=frame.index)
    with pytest.raises(SidelightError, match="The number of rows is needed"):
        Constraints(labels={0: 1})


def test_columns_of_one_frame_go_together():
    frame = pd.DataFrame({"name": list("abc"), "kind": ["x", None, "y"]}, index=[7, 9, 2])
    known = Constraints([("a", "b")], labels=frame["kind"], ids=frame["name"])
    assert known.labels.tolist() == [0, -1, 1]
    with pytest.raises(SidelightError, match=r"Pass ids=labels\.index"):
        Constraints([(0, 1)], labels=frame["kind"])


def test_rows_without_an_index_come_by_position():
    frame, _, known, _ = iris("words")
    expected = PCKMeans(3, random_state=0).fit(frame, constraints=known).labels_
    for rows in (
        frame.to_numpy(),
        frame.reset_index(drop=True),
        pl.DataFrame(frame.reset_index(drop=True)),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConstraintWarning)
            found = PCKMeans(3, random_state=0).fit(rows, constraints=known)
        np.testing.assert_array_equal(found.labels_, expected)
    with pytest.raises(SidelightError, match="about 150 rows but X has 149"):
        PCKMeans(3).fit(frame.to_numpy()[1:], constraints=known)
    with pytest.raises(SidelightError, match="about 150 rows but X has 149"):
        PCKMeans(3).fit(pl.DataFrame(frame.to_numpy()[1:]), constraints=known)


def test_numbers_of_rows_in_another_order_are_ids_with_a_hint():
    frame, y, _, other = iris("positions")
    known = Constraints.sample(y[other.index], 60, random_state=1, ids=other.index)
    with pytest.warns(ConstraintWarning, match="in another order: they are taken as its index"):
        model = COPKMeans(3, random_state=0).fit(frame, constraints=known)
    assert known.violations(pd.Series(model.labels_, index=frame.index).loc[other.index]).n == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.rename(index={"c3": "zoe"}), "'zoe'.* is not among the ids"),
        (lambda f: f.iloc[1:], "'c0' .*is not in its index"),
        (lambda f: pd.concat([f.iloc[1:], f.iloc[[5]]]), "names 'c5' 2 times"),
        (lambda f: f.set_axis(range(5, 155)), "5, 6, 7 and others"),
        (lambda f: f.rename(index={"c3": None}), "is missing in some rows"),
    ],
)
def test_ids_and_index_that_do_not_agree_are_refused(change, words):
    frame, _, known, _ = iris("words")
    with pytest.raises(SidelightError, match=words):
        PCKMeans(3).fit(change(frame), constraints=known)


def test_positions_in_a_frame_of_shuffled_numbers_get_a_hint():
    frame, y, _, other = iris("positions")
    known = Constraints.sample(y, 20, random_state=0)
    with pytest.warns(ConstraintWarning, match="ids=X.index"):
        PCKMeans(3, random_state=0).fit(other, constraints=known)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConstraintWarning)
        PCKMeans(3, random_state=0).fit(frame, constraints=known)
        PCKMeans(3, random_state=0).fit(other.set_axis(range(900, 1050)), constraints=known)


def test_values_of_rows_need_the_index_of_the_rows():
    frame, y, _, other = iris("words")
    partly = pd.Series(np.where(np.arange(150) % 3, -1, y), index=frame.index)
    weight = pd.Series(np.linspace(1, 2, 150), index=frame.index)
    model = SeededKMeans(3, random_state=0)
    expected = model.fit(frame, partly, sample_weight=weight).labels_.copy()
    for fit in (
        lambda: model.fit(other, partly),
        lambda: model.fit(other, sample_weight=weight),
        lambda: mixture.GaussianMixture(3, random_state=0).fit(other, sample_weight=weight),
        lambda: model.fit(frame, partly).score(other, sample_weight=weight),
        lambda: partition_scores(partly, partly.loc[other.index]),
        lambda: ConstraintSearchCV(model, {"n_clusters": [3]}).fit(other, partly),
        lambda: run(ClusterRequest(other, k=3, labels=partly, raw=True)),
    ):
        with pytest.raises(SidelightError, match=r"different indexes .*to_numpy"):
            fit()
    np.testing.assert_array_equal(
        model.fit(frame, partly.to_numpy(), sample_weight=weight.to_numpy()).labels_, expected
    )
    # What has no ids of its own comes by position.
    np.testing.assert_array_equal(
        model.fit(frame, partly.reset_index(drop=True), sample_weight=weight).labels_, expected
    )
    shuffled = partly.reset_index(drop=True).sample(frac=1, random_state=0)
    with pytest.raises(SidelightError, match="different indexes"):
        model.fit(frame.reset_index(drop=True), shuffled)


def test_splits_of_a_frame_go_with_splits_of_the_constraints():
    frame, y, _, _ = iris("positions")
    classes = pd.Series(y, index=frame.index)
    rows, _, labels, _ = train_test_split(frame, classes, random_state=0)
    known = Constraints.sample(labels, 60, random_state=0)
    assert known.ids.tolist() == rows.index.to_list()
    in_order = rows.sort_index()
    model = COPKMeans(3, random_state=0).fit(in_order, constraints=known)
    found = pd.Series(model.labels_, index=in_order.index).loc[rows.index]
    assert known.violations(found.to_numpy()).n == 0
    whole = Constraints.sample(y, 90, random_state=0, ids=frame.index)
    part = whole[rows.index.to_numpy()]
    assert COPKMeans(3, random_state=0).fit(rows, constraints=part).n_violations_ == 0


def test_measures_of_constraints_take_rows_by_index():
    frame, _, known, other = iris("words")
    assert known.quality(other) == known.quality(frame)
    merged, expected = known.reduce(other), known.align(other).reduce(other.to_numpy())
    np.testing.assert_array_equal(merged.means, expected.means)


def test_scores_over_free_rows_find_them_by_index():
    frame, y, known, other = iris("words")
    truth, found = (pd.Series(values, index=frame.index) for values in (y, y // 2))
    expected = constrained_scores(y, y // 2, known)
    there = constrained_scores(truth.loc[other.index], found.loc[other.index], known)
    assert {k: dict(v) for k, v in there.items()} == {
        k: pytest.approx(dict(v)) for k, v in expected.items()
    }


def test_answers_are_about_the_rows_in_their_order():
    frame, _, _, other = iris("words")
    assert MinMax().start(frame, Answers(ids=frame.index), k=3, random_state=0).next_pair()
    with pytest.raises(SidelightError, match=r"Answers\(ids=X.index\)"):
        MinMax().start(other, Answers(ids=frame.index), k=3, random_state=0)


def test_feedback_names_documents_by_the_index_of_the_frame():
    counts = pd.DataFrame(np.eye(6) * 5 + 1, index=list("uvwxyz"))
    model = FeedbackClustering(2, random_state=0).fit(counts)
    model.add_feedback("together", ["u", "z"]).refit()
    assert model.labels_[0] == model.labels_[5]
    with pytest.raises(UnknownIds, match="'q'"):
        model.add_feedback("together", ["u", "q"])


def test_runs_and_reports_take_rows_by_index():
    frame, y, known, other = iris("words")
    truth = pd.Series(y, index=frame.index).loc[other.index]
    found = run(
        ClusterRequest(other, k=3, method="copkmeans", constraints=known, truth=truth, raw=True)
    )
    assert found.violations.n == 0
    assert found.knowledge.ids.tolist() == other.index.to_list()
    assert known.violations(pd.Series(found.labels, index=found.data.ids)).n == 0
    without = run(
        ClusterRequest(other, k=3, constraints=Constraints([(0, 1)], n_samples=150), raw=True)
    )
    assert without.knowledge.must_link.tolist() == [[0, 1]]
    assert without.knowledge.ids.tolist() == other.index.to_list()
    numbered = run(ClusterRequest(other.assign(order_id=range(150)), k=3, raw=True))
    assert any("'order_id' is used as a feature" in note for note in numbered.notes)
    named = run(ClusterRequest(frame.to_numpy(), k=3, constraints=known, raw=True))
    assert named.data.ids.tolist() == frame.index.to_list()
    model = COPKMeans(3, random_state=0).fit(other, constraints=known)
    html = render_report(estimator=model, X=other, constraints=known, labels_true=truth)
    assert "all satisfied" in html
    with pytest.raises(SidelightError, match="different indexes"):
        render_report(estimator=model, X=other, labels_true=pd.Series(y, index=frame.index))
    assert "c17" in render_report(estimator=KMeans(3, random_state=0).fit(other), X=other)


def test_a_file_of_rows_takes_constraints_in_another_order(tmp_path):
    frame, _, known, other = iris("words")
    other.to_csv(tmp_path / "rows.csv", index_label="id")
    found = run(
        ClusterRequest(tmp_path / "rows.csv", k=3, method="copkmeans", constraints=known, raw=True)
    )
    assert found.violations.n == 0
    assert known.violations(pd.Series(found.labels, index=found.data.ids)).n == 0
    with pytest.raises(SidelightError, match="could be positions or ids"):
        run(
            ClusterRequest(
                tmp_path / "rows.csv",
                k=3,
                constraints=Constraints([(0, 1)], n_samples=150),
                raw=True,
            )
        )
    frame.iloc[1:].to_csv(tmp_path / "fewer.csv", index_label="id")
    with pytest.raises(SidelightError, match="'c0'"):
        run(ClusterRequest(tmp_path / "fewer.csv", k=3, constraints=known, raw=True))
