"""Runs of classifiers: the classes of the estimator, and an honest account of what they rest on."""

import warnings

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy.stats import beta, binom
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import sidelight
from sidelight import Constraints, catalog, jobs
from sidelight._fit.parameters import declared
from sidelight.evaluation.inner import SupervisedBaseline, plain_classifier, repeated_predictions
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import write_table
from sidelight.io._labels import has_classes
from sidelight.jobs import ClassifyRequest, ClassRun, CompareRequest, apply_model
from sidelight.jobs.classify._contrast import Contrast
from sidelight.jobs.classify._judged import Judged, Share

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], 30)
X = np.abs(RNG.normal(size=(90, 4)) + 2.5 * np.eye(3, 4)[Y])
NEW = np.abs(X[:12] + RNG.normal(scale=0.1, size=(12, 4)))
NAMES = np.array(["ash", "birch", "cedar"])
LABELED = np.arange(90) % 6 == 0
WORDS = np.where(LABELED, NAMES[Y], "")
LEARNERS = ("stump", "tree", "forest", "logistic", "svm", "rbf-svm", "naive-bayes", "neighbors")


def table(tmp_path, rows, name="rows.csv", **columns):
    write_table(tmp_path / name, rows, list("abcd"), others=columns)
    return tmp_path / name


def fit(method="harmonic", rows=X, labels=WORDS, *, raw=True, **others):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return jobs.run(ClassifyRequest(rows, method=method, labels=labels, raw=raw, **others))


@pytest.mark.parametrize("method", catalog.methods(kind="classifier"), ids=lambda m: m.name)
def test_every_classifier_is_the_same_after_a_detour_through_a_file(method, tmp_path):
    data = table(tmp_path, X, species=WORDS)
    new = table(tmp_path, NEW, "new.csv")
    found = fit(method.name, data, "species")
    model = jobs.load_model(found.save(tmp_path / "model.skops"))
    applied = apply_model(model, new)
    np.testing.assert_array_equal(applied.labels, found.estimator.predict(NEW))
    named = np.asarray(applied.decisions.names, object)[applied.codes]
    np.testing.assert_array_equal(named, applied.labels)
    np.testing.assert_array_equal(applied.decisions.values.argmax(axis=1), applied.codes)
    np.testing.assert_array_equal(found.labels, found.estimator.transduction_)
    np.testing.assert_array_equal(found.given, LABELED)
    if applied.decisions.are_probabilities:
        np.testing.assert_allclose(applied.decisions.values.sum(axis=1), 1.0, rtol=1e-6)


@pytest.mark.parametrize("base", LEARNERS)
def test_every_base_learner_is_saved(base, tmp_path):
    settings = {"n_estimators": 2}
    found = fit("semiboost", base=base, settings=settings)
    assert found.estimator.estimator == base
    model = jobs.load_model(found.save(tmp_path / "model.skops"))
    np.testing.assert_array_equal(model.estimator.predict(NEW), found.estimator.predict(NEW))


def test_the_label_column_is_no_feature_and_names_no_rows(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.insert(0, "species", WORDS)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for raw in (True, False):
        found = fit("harmonic", tmp_path / "rows.csv", "species", raw=raw)
        assert found.features_in == list("abcd")
        model = jobs.load_model(found.save(tmp_path / "model.skops"))
        # Of few rows the first column is text without repetition, which else names the rows.
        some = frame.iloc[[0, 36]].assign(species=["ash", "birch"])
        some.to_csv(tmp_path / "new.csv", index=False)
        applied = apply_model(model, tmp_path / "new.csv")
        assert applied.data.ids is None
        assert applied.notes == ()
        np.testing.assert_array_equal(
            applied.labels, found.estimator.predict(model.rows(applied.data))
        )


def test_files_of_classes(tmp_path):
    found = fit()
    file = found.write(classes=tmp_path / "classes.csv")["classes"]
    written = pd.read_csv(file)
    assert written.columns.tolist() == [
        *("id", "class", "p_ash", "p_birch", "p_cedar"),
        "given",
    ]
    assert has_classes(written.columns)
    assert written["class"].tolist() == found.estimator.transduction_.tolist()
    assert (written["given"] == "yes").tolist() == LABELED.tolist()
    np.testing.assert_allclose(written.iloc[:, 2:5], found.estimator.label_distributions_)
    again = found.write(classes=tmp_path / "classes.parquet")["classes"]
    assert pq.read_table(again)["class"].to_pylist() == written["class"].tolist()
    with pytest.raises(SidelightError, match="finds no clusters; write its classes"):
        found.write(labels=tmp_path / "labels.csv")
    assert not has_classes(["id", "class"])
    assert not has_classes(["id", "class", "p_a", "score_b"])
    assert not has_classes(["id", "cluster", "p_a"])


def test_decision_values_of_methods_without_probabilities(tmp_path):
    two = np.where(Y == 2, -1, np.where(LABELED, Y, -1))
    found = fit("tsvm", labels=two)
    written = pd.read_csv(found.write(classes=tmp_path / "classes.csv")["classes"])
    assert written.columns.tolist() == ["id", "class", "score_0", "score_1", "given"]
    values = found.estimator.decision_function(X)
    np.testing.assert_allclose(written["score_1"], values)
    np.testing.assert_allclose(written["score_0"], -values)
    assert written["class"].dtype == np.int64


@pytest.mark.parametrize(("labels", "empty"), [(WORDS, ""), (np.where(LABELED, Y, -1), None)])
def test_rejected_rows_have_an_empty_class(labels, empty, tmp_path):
    found = fit("pairwise-logistic-regression", labels=labels, settings={"reject": 1e6})
    assert found.n_unknown == (~LABELED).sum()
    assert found.row_classes[~LABELED].tolist() == [empty] * found.n_unknown
    written = pd.read_csv(found.write(classes=tmp_path / "c.csv")["classes"], dtype=str)
    assert written["class"].isna().tolist() == (~LABELED).tolist()
    kept = pq.read_table(found.write(classes=tmp_path / "c.parquet")["classes"])["class"]
    assert kept.to_pylist() == found.row_classes.tolist()
    assert sum(found.sizes.values()) == LABELED.sum()
    assert found.contrast.cross_validated.accuracy.n_right == 0


def test_given_classes_follow_must_links_and_groups():
    groups = np.full(90, -1)
    groups[[6, 7, 8]] = 0
    known = Constraints([(0, 1)], n_samples=90, groups=groups)
    # Methods that learn from pairs themselves take them for soft: nothing follows for certain.
    for method, more in (("harmonic", [1, 7, 8]), ("pairwise-logistic-regression", [])):
        found = fit(method, constraints=known)
        assert np.flatnonzero(found.given & ~LABELED).tolist() == more
        assert found.labels_given == {"ash": 5, "birch": 5, "cedar": 5}


def test_the_same_method_on_the_labels_alone():
    found = fit()
    contrast = found.contrast
    alone = clone(found.estimator).fit(X[LABELED], WORDS[LABELED])
    expected = alone.predict(X)
    np.testing.assert_array_equal(NAMES[contrast.alone], expected)
    changed = np.flatnonzero(~LABELED & (expected != found.estimator.transduction_))
    np.testing.assert_array_equal(contrast.changed, changed)
    assert contrast.n_open == (~LABELED).sum()
    judged = contrast.cross_validated
    np.testing.assert_array_equal(judged.rows, np.flatnonzero(LABELED))
    again = repeated_predictions(
        {
            "run": found.estimator,
            "alone": SupervisedBaseline(found.estimator),
            "plain": SupervisedBaseline(plain_classifier(X)),
        },
        X,
        Constraints(labels=WORDS),
        n_splits=5,
        n_repeats=5,
        random_state=0,
    )
    np.testing.assert_array_equal(judged.found, again.predicted["run"])
    for name in ("alone", "plain"):
        np.testing.assert_array_equal(judged.baselines[name], again.predicted[name])
    assert judged.factor == pytest.approx(1 / 5 + 5 / 4)
    assert contrast.by_truth is None
    assert contrast.what == "the unlabeled rows"


def test_judged_by_the_truth():
    truth = NAMES[Y].astype(object)
    truth[1] = ""
    truth[2] = "oak"  # no label names it
    found = fit(truth=truth)
    judged = found.contrast.by_truth
    rows = np.flatnonzero(~LABELED & (truth != ""))
    np.testing.assert_array_equal(judged.rows, rows)
    right = found.estimator.transduction_[rows] == truth[rows]
    assert judged.accuracy == Share(int(right.sum()), len(rows))
    alone = clone(found.estimator).fit(X[LABELED], WORDS[LABELED]).predict(X)[rows] == truth[rows]
    assert judged.accuracies["alone"] == Share(int(alone.sum()), len(rows))
    logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[LABELED], WORDS[LABELED])
    plain = logistic.predict(X)[rows] == truth[rows]
    assert judged.accuracies["plain"].n_right == pytest.approx(plain.sum(), abs=1)
    better = alone if judged.rival == "alone" else plain
    assert better.sum() == max(alone.sum(), plain.sum())
    assert (judged.n_better, judged.n_worse) == ((right & ~better).sum(), (~right & better).sum())


def test_intervals_and_chances_of_rows_that_were_held_out_once_are_exact():
    share = Share(7, 10)
    low, high = share.interval
    assert low == pytest.approx(beta.ppf(0.025, 7, 4))
    assert high == pytest.approx(beta.ppf(0.975, 8, 3))
    known = np.zeros(20, int)
    found, alone = np.zeros(20, int), np.zeros(20, int)
    found[:2], alone[2:11] = 1, 1  # two rows only the labels alone find, nine only the run
    judged = Judged(np.arange(20), known, found, {"alone": alone})
    assert (judged.n_better, judged.n_worse) == (9, 2)
    assert judged.chance == pytest.approx(2 * binom.cdf(2, 11, 0.5))
    assert Judged(np.arange(20), known, found, {"alone": found}).chance == 1.0
    assert Judged(np.arange(20), known, found).answer == "unclear"


def test_folds_that_share_labels_count_for_fewer_rows():
    """29 rows in five folds, five times, are worth 20 rows that were held out once."""
    wide, narrow = Share(26.1, 29, 1.45).interval, Share(26.1, 29).interval
    assert wide == pytest.approx((beta.ppf(0.025, 18, 3), beta.ppf(0.975, 19, 2)))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    known, right = np.zeros(20, int), np.zeros((2, 20), int)
    other = right.copy()
    other[:, :6] = 1
    once = Judged(np.arange(20), known, right, {"plain": other})
    shared = Judged(np.arange(20), known, right, {"plain": other}, factor=1.5)
    assert once.chance == pytest.approx(2 * 0.5**6)
    assert shared.chance == pytest.approx(2 * 0.5**4)
    assert (once.answer, shared.answer) == ("helped", "unclear")
    chosen = Judged(np.arange(20), known, right, {"plain": other}, n_compared=3)
    assert chosen.chance == pytest.approx(6 * 0.5**6)
    assert Share(20, 20, 1.45).interval[0] < Share(20, 20).interval[0] < 1


def verdict_of(n_better, n_worse, *, rival="alone", by_truth=False, only_labels=False):
    """What is said where the run finds some rows that the better baseline does not, and so on."""
    known, found, better = (np.zeros(20, int) for _ in range(3))
    better[:n_better] = 1
    found[20 - n_worse :] = 1
    baselines = {"alone": better, "plain": np.ones(20, int)}
    if rival == "plain":
        baselines = {"alone": np.ones(20, int), "plain": better}
    judged = Judged(np.arange(20), known, found, baselines)
    return Contrast(
        "the pairs",
        better,
        np.arange(0),
        20,
        cross_validated=None if by_truth else judged,
        by_truth=judged if by_truth else None,
        remarks=(),
        uses_labels_only=only_labels,
    )


@pytest.mark.parametrize(
    ("n_better", "n_worse", "asked", "answer", "words"),
    [
        (9, 1, {}, "helped", "The pairs helped. Of 20 labeled rows, cross-validation finds"),
        (1, 9, {}, "hurt", "The pairs hurt. Of 20 labeled rows, cross-validation finds"),
        (9, 1, {"rival": "plain"}, "helped", "The pairs helped."),
        (1, 9, {"rival": "plain"}, "hurt", "The pairs did not help: plain logistic regression"),
        (
            2,
            1,
            {},
            "unclear",
            "No difference to the labels alone could be shown with so few labels",
        ),
        (2, 1, {"by_truth": True}, "unclear", "could be shown: too few rows differ. Of 20 rows"),
        (0, 0, {}, "unclear", "The pairs made no difference that shows."),
        (
            12,
            0,
            {"by_truth": True},
            "helped",
            "Of 20 rows whose class was not given, 20 are right;",
        ),
        (9, 0, {"only_labels": True}, "unclear", "The pairs are not used: no classifier that"),
    ],
)
def test_the_verdict(n_better, n_worse, asked, answer, words):
    contrast = verdict_of(n_better, n_worse, **asked)
    assert words in contrast.verdict
    assert contrast.answer == answer


def test_help_is_better_than_the_better_of_both_baselines():
    """The same method without unlabeled rows may be weak: logistic regression is beside it."""
    known = np.zeros(100, int)
    run, alone, plain = known.copy(), known.copy(), known.copy()
    run[:8], alone[:20], plain[:3] = 1, 1, 1  # 92, 80 and 97 are right
    assert Judged(np.arange(100), known, run, {"alone": alone}).answer == "helped"
    both = Judged(np.arange(100), known, run, {"alone": alone, "plain": plain})
    assert both.rival == "plain"
    assert both.answer != "helped"
    assert both.facts()["compared_with"] == "plain"
    # The better of two baselines was picked on the same rows: to be behind it counts twice.
    assert both.chance == pytest.approx(4 * binom.cdf(0, 5, 0.5))


def test_breast_cancer_by_stumps_is_not_sold_as_help():
    """Boosted stumps gain by unlabeled rows, and logistic regression is better than both."""
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.where(np.random.default_rng(0).permutation(len(y)) < 29, y, -1)
    found = fit("semiboost", X, labels, truth=y, raw=False, seed=0)
    judged = found.contrast.by_truth
    assert (
        judged.accuracies["plain"].value > judged.accuracy.value > judged.accuracies["alone"].value
    )
    assert found.contrast.answer != "helped"
    assert "by plain logistic regression of the labels" in found.contrast.verdict


def test_what_is_left_out_is_named():
    known = Constraints([(1, 2)], n_samples=90)
    assert fit("pairwise-svc", constraints=known).contrast.what == (
        "the unlabeled rows and the pairs"
    )
    everything = fit("pairwise-svc", labels=NAMES[Y], constraints=known)
    assert everything.contrast.what == "the pairs"
    alone = fit("tsvm", labels=NAMES[Y])
    assert alone.contrast.what == ""
    assert alone.contrast.alone is None
    assert list(alone.contrast.cross_validated.baselines) == ["plain"]
    assert "supervised learning. Of 90 labeled rows" in alone.contrast.verdict
    assert "The class of all 90 rows is given" in alone.notes[-1]


def test_too_few_labels_for_cross_validation():
    single = np.full(90, "", dtype=object)
    single[[0, 30, 60]] = NAMES
    contrast = fit(labels=single).contrast
    assert contrast.cross_validated is None
    assert contrast.answer == "unclear"
    assert "No cross-validation. No label can be held out" in contrast.remarks[0]
    assert contrast.verdict == "Whether the unlabeled rows helped cannot be told."
    single[[1, 31]] = NAMES[:2]
    contrast = fit(labels=single).contrast
    np.testing.assert_array_equal(contrast.cross_validated.rows, [0, 1, 30, 31])
    assert "says nothing about 'cedar'" in contrast.remarks[0]


def test_a_method_that_cannot_learn_from_the_labels_alone_says_so(monkeypatch):
    found = fit()
    real = type(found.estimator).fit

    def refuse(self, X, y=None, *, constraints=None):
        if len(X) < 90:
            raise SidelightError("Too few rows.")
        return real(self, X, y, constraints=constraints)

    monkeypatch.setattr(type(found.estimator), "fit", refuse)
    contrast = found.contrast
    assert contrast.alone is None
    assert contrast.remarks[0].endswith("by this method: Too few rows.")
    assert list(contrast.cross_validated.baselines) == ["plain"]
    assert contrast.facts()["n_changed"] is None


def test_similarities_that_are_given():
    S = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 4)
    found = fit("harmonic", rows=S, settings={"graph": "precomputed"})
    contrast = found.contrast
    rows = np.flatnonzero(LABELED)
    alone = clone(found.estimator).fit(S[np.ix_(rows, rows)], WORDS[rows]).predict(S[:, rows])
    np.testing.assert_array_equal(NAMES[contrast.alone], alone)
    assert contrast.cross_validated.accuracy.value > 0.5
    with pytest.raises(InvalidRequest, match="similarities are taken as they are"):
        fit("harmonic", rows=S, settings={"graph": "precomputed"}, raw=False)


def test_least_certain_rows():
    found = fit(constraints=Constraints(ids=[f"r{i}" for i in range(90)]))
    values = np.sort(found.estimator.label_distributions_, axis=1)
    margins = np.where(LABELED, np.inf, values[:, -1] - values[:, -2])
    doubts = found.least_certain(found.open_rows)
    assert [doubt["row"] for doubt in doubts] == np.argsort(margins, kind="stable")[:5].tolist()
    first = doubts[0]
    assert first["id"] == f"r{first['row']}"
    assert first["class"] == found.estimator.transduction_[first["row"]]
    np.testing.assert_array_equal(
        list(first["values"].values()), found.estimator.label_distributions_[first["row"]]
    )


def test_methods_by_default():
    found = fit(None)
    assert (found.method.name, isinstance(found, ClassRun)) == ("auto", True)
    assert "found by auto, which is plain logistic regression unless" in found.notes[0]
    assert fit(None, base="tree").method.name == "semi-boost"
    found = fit(None, constraints=Constraints([(1, 2)], n_samples=90))
    assert found.method.name == "pairwise-logistic-regression"
    assert "learns from pairs as well as from labels" in found.notes[0]
    groups = np.where(np.arange(90) < 2, 0, -1)
    assert "learns from groups" in fit(None, constraints=Constraints(groups=groups)).notes[0]


def test_base_learners():
    assert "estimator" in declared(catalog.get("semiboost").cls)
    tree = DecisionTreeClassifier(max_depth=2)
    found = fit("semiboost", base=tree, settings={"n_estimators": 2})
    assert found.estimator.estimator is tree
    with pytest.raises(InvalidRequest, match=r"TSVM wraps no other learner.*these do: assemble"):
        fit("tsvm", base="tree")
    with pytest.raises(InvalidRequest, match="no learner 'oak' to wrap; there are stump, tree"):
        fit("semiboost", base="oak")
    with pytest.raises(InvalidRequest, match="use base= for estimator"):
        fit("semiboost", settings={"estimator": "tree"})


def test_a_request_of_classes_is_a_command(tmp_path):
    request = ClassifyRequest("rows.csv", method="semiboost", labels="species", base="tree")
    assert request.command_line() == (
        "sidelight classify rows.csv --label-column species --method semiboost --base tree"
    )
    data = table(tmp_path, X, species=WORDS, truth=NAMES[Y])
    found = fit("tsvm", data, "species", truth="truth", raw=False)
    assert found.request.command_line() == (
        f"sidelight classify {data} --label-column species --method tsvm --truth-column truth"
    )


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (np.full(90, ""), "No row is labeled: the column 'species' of .* is empty, or -1,"),
        (np.full(90, -1), "No row is labeled: the column 'species'"),
        (X[:, 0], "are fractions, such as"),
        ([f"r{i}" for i in range(90)], "Every row has a class of its own in the column 'species'"),
        (np.where(LABELED, "ash", ""), "all labeled rows are of one class, 'ash'"),
    ],
)
def test_columns_that_nothing_can_be_learned_from(column, words, tmp_path):
    data = table(tmp_path, X, species=column)
    with pytest.raises(SidelightError, match=words):
        fit("harmonic", data, "species", id_column=None)


def test_a_quantity_is_no_class_unless_it_is_said_to_be(tmp_path):
    masses = 2700 + 25 * np.arange(90) % 1700
    data = table(tmp_path, X, mass=masses)
    words = r"The column 'mass' of .* holds 6\d different numbers, from 2700 to \d+, which look"
    with pytest.raises(SidelightError, match=words) as refused:
        fit("harmonic", data, "mass")
    assert "kinds={'mass': 'category'}" in str(refused.value)
    with pytest.raises(SidelightError, match="write them as words, such as 'class 2700'"):
        fit("harmonic", labels=masses)
    found = fit("harmonic", labels=np.char.add("class ", masses.astype(str)))
    assert len(found.sizes) == len(np.unique(masses))
    kinds = {"mass": "category"}
    found = fit("harmonic", data, "mass", kinds=kinds, raw=False)
    assert len(found.sizes) == len(np.unique(masses))
    assert "--as mass=category" in found.request.command_line()
    with pytest.raises(InvalidRequest, match="can only be taken as category"):
        fit("harmonic", data, "mass", kinds={"mass": "number"})


@pytest.mark.parametrize(
    ("n_classes", "n_labels", "refused"),
    [(10, 10, 0), (11, 21, 1), (11, 22, 0), (20, 90, 0), (21, 90, 1)],
)
def test_few_numbers_are_classes(n_classes, n_labels, refused):
    labels = np.where(np.arange(90) < n_labels, np.arange(90) % n_classes, -1)
    request = ClassifyRequest(X, labels=labels, method="harmonic", raw=True)
    if not refused:
        assert jobs.prepare(request).notes is not None
        return
    with pytest.raises(SidelightError, match=f"The labels are {n_classes} different numbers"):
        jobs.prepare(request)


def test_the_number_of_machines_is_told_before_they_are_trained():
    words = np.array([f"class {number}" for number in range(45)])[np.arange(90) % 45]
    prepared = jobs.prepare(ClassifyRequest(X, labels=words, method="semiboost", raw=True))
    assert "a machine for every pair of the 45 classes, 990 in all" in prepared.notes[0]
    few = jobs.prepare(ClassifyRequest(X, labels=WORDS, method="semiboost", raw=True))
    assert not any("machine" in note for note in few.notes)


def test_explanations_of_classes():
    found = fit()
    explained = sidelight.explain(found)
    assert [profile.name for profile in explained.clusters] == NAMES.tolist()
    assert [profile.size for profile in explained.clusters] == list(found.sizes.values())
    assert any("are the classes" in note for note in explained.notes)


def test_only_clusters_are_compared():
    with pytest.raises(InvalidRequest, match="tsvm gives a class for every row, and only clusters"):
        jobs.run(CompareRequest(X, k=[2, 3], methods=["tsvm"], raw=True))
    with pytest.raises(InvalidRequest, match="classify has no k=; it has"):
        jobs.run("classify", data=X, method="tsvm", k=3)


def test_a_saved_model_suggests_no_pairs(tmp_path):
    """It does not keep what was known about the rows of its fit, and says so."""
    X = np.arange(12.0).reshape(6, 2)
    request = ClassifyRequest(
        X, labels=[0, 0, -1, -1, 1, 1], method="pairwise-logistic-regression", raw=True
    )
    found = jobs.run(request)
    pairs, _ = found.estimator.suggest_pairs(X, n_pairs=2)
    assert len(pairs) == 2
    loaded = jobs.load_model(found.save(tmp_path / "model.skops")).estimator
    with pytest.raises(SidelightError, match="fit it again"):
        loaded.suggest_pairs(X)
