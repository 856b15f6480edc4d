"""``sidelight classify``: from a few filled-in fields to the classes of all rows."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sidelight.active import Answers
from sidelight.jobs._table import _classes
from sidelight.preparation import TablePreparer
from sidelight.semi_supervised import HarmonicClassifier, PairwiseLogisticRegression

N = 60
NAMES = np.array(["ash", "birch", "cedar"])
Y = np.arange(N) % 3
LABELED = np.arange(N) % 5 == 0


def trees() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    places = rng.normal(size=(N, 3)) + 2.5 * np.eye(3)[Y]
    return pd.DataFrame(
        {
            "id": [f"t{i}" for i in range(N)],
            **{name: places[:, j] for j, name in enumerate(("height", "girth", "crown"))},
            "bark": np.array(["rough", "smooth"])[(Y + rng.integers(2, size=N)) % 2],
            "species": np.where(LABELED, NAMES[Y], ""),
            "truth": NAMES[Y],
        }
    )


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A table in the current folder, which is empty else."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    frame = trees()
    frame.to_csv("trees.csv", index=False)
    return frame


KNOWN = ("classify", "trees.csv", "--label-column", "species")
HARMONIC = (*KNOWN, "--drop", "truth", "-m", "harmonic")


def fitted(data):
    rows = TablePreparer().fit_transform(data.set_index("id").drop(columns=["species", "truth"]))
    return rows, HarmonicClassifier().fit(rows, data["species"].to_numpy())


def test_classes_are_those_of_the_estimator(data, run):
    ended = run(*HARMONIC, "-o", "classes.csv")
    assert ended.code == 0, ended.err
    _, model = fitted(data)
    written = pd.read_csv("classes.csv")
    columns = ["id", "class", "p_ash", "p_birch", "p_cedar", "given"]
    assert written.columns.tolist() == columns
    assert written["id"].tolist() == data["id"].tolist()
    assert written["class"].tolist() == model.transduction_.tolist()
    np.testing.assert_allclose(written.iloc[:, 2:5], model.label_distributions_, atol=1e-12)
    assert written["given"].tolist() == np.where(LABELED, "yes", "no").tolist()
    assert "HarmonicClassifier on trees.csv: 60 rows, 4 features" in ended.out
    assert "Labels alone" in ended.out
    assert "Least certain" in ended.out
    again = run(*HARMONIC, "-o", "classes.csv")  # our own output is replaced, and it is said
    assert (again.code, "Replaced what was in classes.csv." in again.err) == (0, True)


def test_json(data, run):
    facts = run(*KNOWN, "--truth-column", "truth", "-m", "harmonic", "--json").json
    rows, model = fitted(data)
    assert (facts["command"], facts["method"]) == ("classify", "harmonic")
    assert facts["row_classes"] == model.transduction_.tolist()
    assert facts["columns"] == ["p_ash", "p_birch", "p_cedar"]
    np.testing.assert_allclose(facts["probabilities"], model.label_distributions_)
    assert facts["classes"]["ash"] == {
        "labels": int((LABELED & (Y == 0)).sum()),
        "rows": int((model.transduction_ == "ash").sum()),
    }
    contrast = facts["contrast"]
    right = (model.transduction_ == NAMES[Y])[~LABELED]
    assert contrast["by_truth"]["accuracy"] == right.mean()
    alone = HarmonicClassifier().fit(rows[LABELED], NAMES[Y][LABELED]).predict(rows)
    changed = (alone != model.transduction_)[~LABELED]
    assert (contrast["n_changed"], contrast["n_open"]) == (changed.sum(), (~LABELED).sum())
    assert contrast["cross_validated"]["n_rows"] == LABELED.sum()
    assert len(facts["least_certain"]) == _classes.LEAST_CERTAIN
    assert facts["n_given"] == LABELED.sum()


def test_labels_among_the_constraints(data, put, run):
    lines = [f"{row.id},{row.truth},label" for row in data[LABELED].itertuples()]
    put("known.csv", "\n".join(["i,j,kind", *lines]))
    common = ("--drop", "species,truth", "-m", "harmonic", "--json")
    facts = run("classify", "trees.csv", "-c", "known.csv", *common).json
    assert facts["row_classes"] == run(*HARMONIC, "--json").json["row_classes"]


@pytest.mark.filterwarnings("default")
def test_pairs_choose_another_method_by_default(data, put, run):
    facts = run(*KNOWN, "--drop", "truth", "--json").json
    assert (facts["method"], facts["chosen"]) == ("auto", "logistic")
    assert facts["candidates"][0]["candidate"] == "logistic"
    put("same.csv", "t1,t4\nt0,t5\n")  # the last two have labels of different classes
    put("apart.csv", "t1,t2\n")
    pairs = ("--must-link", "same.csv", "--cannot-link", "apart.csv", "--drop", "truth")
    ended = run(*KNOWN, *pairs)
    assert ended.code == 0, ended.err
    assert "The constraints contradict themselves" in ended.err
    assert "found by pairwise-logistic-regression, which learns from pairs" in ended.err
    assert "Known: 2 must-links, 1 cannot-link, 12 known labels" in ended.out
    assert "must-link 't0' - 't5' is violated: they are ash and cedar." in ended.out
    put("same.csv", "t1,t4\n")
    facts = run(*KNOWN, *pairs, "--json").json
    assert facts["contrast"]["without"] == "the unlabeled rows and the pairs"


def test_preparation_weights_and_raw(data, run):
    facts = run(*HARMONIC, "--weight", "height=3", "--scale", "range", "--json").json
    assert [row["column"] for row in facts["preparation"]] == ["height", "girth", "crown", "bark"]
    raw = run(*KNOWN, "--columns", "height,girth", "--raw", "-m", "harmonic", "--json").json
    model = HarmonicClassifier().fit(data[["height", "girth"]], data["species"])
    assert raw["row_classes"] == model.transduction_.tolist()


def test_new_rows_by_a_saved_model(data, run):
    for method in ("harmonic", "tsvm"):
        saved = f"{method}.skops"
        assert run(*KNOWN, "--drop", "truth", "-m", method, "--save", saved).code == 0
        data.sample(frac=1, random_state=0).to_csv("new.csv", index=False)
        ended = run("predict", saved, "new.csv", "-o", f"{method}.csv")
        assert ended.code == 0, ended.err
        assert "Class" in ended.out
        written = pd.read_csv(f"{method}.csv")
        prefix = "p_" if method == "harmonic" else "score_"
        assert written.columns.tolist() == ["id", "class", *(f"{prefix}{n}" for n in NAMES)]
        np.testing.assert_array_equal(
            written["class"], NAMES[written.iloc[:, 2:].to_numpy().argmax(axis=1)]
        )
        facts = run("predict", saved, "new.csv", "--json").json
        assert facts["row_classes"] == written["class"].tolist()
        assert sum(facts["sizes"].values()) == N
        # The label column of the new table is set aside; only the other is news.
        assert facts["notes"] == ["Not used, since the model was fitted without: 'truth'."]
    explained = run("explain", "tsvm.skops", "new.csv")
    assert explained.code == 0
    assert "Class ash: " in explained.out
    assert "are the classes that the classifier gives" in explained.err
    mine = Path("mine.csv")
    mine.write_text("id,age\na,1\n")  # no file that a model made
    refused = run("predict", "tsvm.skops", "new.csv", "-o", "mine.csv")
    assert (refused.code, "--force" in refused.err) == (2, True)


def test_base_learners(data, run):
    common = (*KNOWN, "--drop", "truth")
    facts = run(*common, "-m", "semiboost", "--base", "tree", "--json").json
    assert facts["parameters"]["estimator"] == "tree"
    refused = run(*common, "-m", "harmonic", "--base", "tree")
    assert refused.code == 2
    assert "these do: assemble, " in refused.err
    assert "there is no learner 'oak'" in run(*common, "--base", "oak").err


def test_spreadsheets(data, run):
    data["species"] = data["species"].replace("ash", "=ash")
    data.to_csv("trees.csv", index=False)
    assert run(*HARMONIC, "-o", "classes.csv", "--spreadsheet-safe").code == 0
    assert "'=ash" in Path("classes.csv").read_text()
    assert run(*HARMONIC, "-o", "classes.parquet").code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-m", "harmonic"), "HarmonicClassifier has nothing to learn from: name the column"),
        (("--label-column", "specie"), "trees.csv has no column 'specie'; did you mean 'species'"),
        (("--label-column", "height"), "the column 'height' of trees.csv are fractions"),
        (("--label-column", "id"), "Every row has a class of its own in the column 'id'"),
        (("--label-column", "species", "--columns", "height,species"), "cannot be a feature and"),
        (("--label-column", "species", "-m", "kmeans"), "kmeans gives a cluster for every row"),
        (("--label-column", "species", "-c", "unknown.csv"), "the id 'zz' does not occur"),
        (("-c", "two.csv"), "'t0' has the label 'ash' here and 'birch' elsewhere"),
        (("-c", "pairs.csv"), "Pairs alone say which rows go together"),
        (("--label-column", "species", "-o", "trees.csv"), "it is read here and would be lost"),
        (("--label-column", "species", "-o", "classes.npy"), "not in classes.npy"),
    ],
)
def test_bad_input(data, put, run, arguments, words):
    put("unknown.csv", "i,j,kind\nt0,zz,must-link\n")
    put("two.csv", "i,j,kind\nt0,ash,label\nt0,birch,label\n")
    put("pairs.csv", "i,j,kind\nt0,t1,must-link\n")
    ended = run("classify", "trees.csv", *arguments)
    assert ended.code in (1, 2)
    assert words in ended.err
    assert ended.err.count("Error: ") == 1


def test_strange_label_columns(data, run):
    def written(column):
        data.assign(species=column).to_csv("trees.csv", index=False)
        return run(*HARMONIC, "--json")

    one = written(np.where(LABELED, "ash", ""))
    assert (one.code, "all labeled rows are of one class, 'ash'" in one.out) == (1, True)
    none = written(np.full(N, ""))
    assert (none.code, "No row is labeled: the column 'species'" in none.out) == (1, True)
    signs = written(np.where(Y == 0, -1, 1))  # classes ±1: -1 is unlabeled, and only one is left
    assert (signs.code, "An empty field or -1 means unlabeled" in signs.out) == (1, True)
    numbers = written(np.where(LABELED, Y, -1)).json
    assert set(numbers["row_classes"]) == {0, 1, 2}
    everything = written(NAMES[Y]).json
    assert everything["contrast"]["answer"] == "none"
    assert "The class of all 60 rows is given" in everything["notes"][-1]
    single = np.full(N, "", dtype=object)
    single[[0, 1, 2, 3]] = [*NAMES, "ash"]
    few = written(single).json
    assert few["contrast"]["cross_validated"]["n_rows"] == 2
    assert "says nothing about 'birch' and 'cedar'" in few["contrast"]["remarks"][0]
    double = data.assign(id=["t0", *data["id"][:-1]])
    double.to_csv("trees.csv", index=False)
    assert "names rows twice: 't0'" in run(*HARMONIC).err


@pytest.mark.filterwarnings("default")
def test_contradictions_are_told_and_not_fatal(data, put, run):
    put("known.csv", "i,j,kind\nt0,t5,must-link\nt1,t2,must-link\nt1,t2,cannot-link\n")
    ended = run(*KNOWN, "--drop", "truth", "-c", "known.csv")
    assert ended.code == 0, ended.err
    assert "The constraints contradict themselves" in ended.err
    assert "is violated: " in ended.out


def test_a_report(data, run):
    ended = run(*KNOWN, "--truth-column", "truth", "-m", "semiboost", "--report", "r.html")
    assert ended.code == 0, ended.err
    page = Path("r.html").read_text(encoding="utf-8")
    assert "What the unlabeled rows changed" in page
    assert "sidelight classify trees.csv --label-column species --method semiboost" in page


def test_methods(run):
    listed = run("methods").out
    assert "Classifiers: sidelight classify DATA --label-column C -m NAME" in listed
    told = run("methods", "tsvm").out
    assert "sidelight classify DATA --label-column C -m tsvm --set PARAMETER=VALUE" in told
    assert "estimator (--base) : " in run("methods", "semiboost").out
    assert "sidelight cluster DATA -k N -m kmeans" in run("methods", "kmeans").out


# --- questions --------------------------------------------------------------------------------

ASK = ("ask", "trees.csv", "--label-column", "species", "--drop", "truth")


@pytest.fixture
def piped(run, monkeypatch, data):
    """Run the dialogue with lines from a pipe."""

    def piped(lines, *arguments):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return run(*ASK, *arguments)

    return piped


@pytest.mark.parametrize("strategy", [None, "ambiguous-max", "ambiguous-com", "min-max", "random"])
def test_questions_for_a_classifier(data, piped, strategy):
    method = ("-m", "pairwise-logistic-regression")
    chosen = () if strategy is None else ("--strategy", strategy)
    ended = piped("sdk", *method, *chosen, "--questions", "3", "-o", "classes.csv", "--json")
    assert ended.code == 0, ended.err
    facts = json.loads(ended.out)
    assert (facts["command"], facts["answers"]["asked"]) == ("ask", 3)
    written = pd.read_csv("classes.csv")
    rows, _ = fitted(data)
    with Answers.open("trees.answers.jsonl", data["id"].tolist()) as answers:
        known = answers.constraints
    assert known.n_pairs == 2
    model = PairwiseLogisticRegression(random_state=0)
    model.fit(rows, data["species"].to_numpy(), constraints=known)
    assert written["class"].tolist() == model.transduction_.tolist()


def test_a_strategy_in_doubt_brings_its_method(data, piped):
    ended = piped("s", "--strategy", "ambiguous-min", "--questions", "1")
    assert ended.code == 0, ended.err
    assert "PairwiseLogisticRegression on trees.csv" in ended.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-m", "kmeans", "--strategy", "ambiguous-min"), "asks where a classifier of pairs is in"),
        (("-m", "tsvm", "--strategy", "ambiguous-min"), "-m pairwise-logistic-regression or"),
        (("-m", "pairwise-svc", "--strategy", "npu"), "npu clusters the rows on the way, and"),
        (("-m", "pairwise-svc", "-k", "3"), "PairwiseSVC has no number to choose by -k"),
        (("-m", "pairwise-svc", "--strategy", "abc"), "There is no strategy 'abc'; there are"),
        (("-m", "pairwise-svc", "-o", "classes.html"), "classes.html"),
    ],
)
def test_questions_that_do_not_fit(piped, arguments, words):
    ended = piped("s", *arguments)
    assert ended.code in (1, 2)
    assert words in ended.err


def test_a_classifier_needs_labels_before_the_first_question(data, run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("s\n"))
    ended = run("ask", "trees.csv", "--drop", "truth,species", "-m", "pairwise-svc")
    assert ended.code == 1
    assert "needs labels, which answers about pairs do not give" in ended.err
    assert not Path("trees.answers.jsonl").exists()
