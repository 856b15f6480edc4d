"""Wrong command lines are answered in words of the command line, not of the library."""

import io
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from tests.cli.fuzz_case import OF_THE_LIBRARY

from sidelight import _words, catalog
from sidelight.cluster import KMeans
from sidelight.exceptions import InvalidParameter


def _table(names, rows):
    return ",".join(names) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small files for all the commands, and two models."""
    folder = tmp_path_factory.mktemp("words")
    values = [(f"r{i}", i // 4 * 9 + i % 3, i * 7 % 5) for i in range(12)]
    classed = [(*row, "ab"[i // 6], "x", "") for i, row in enumerate(values)]
    files = {
        "rows.csv": _table(("id", "a", "b"), values),
        "classes.csv": _table(("id", "a", "b", "class", "one", "none"), classed),
        "noid.csv": _table("ab", [(f"{a}.5", b) for _, a, b in values]),
        "same.csv": _table("ab", [(1.5, 2)] * 6),
        "single.csv": _table("ab", [(1.5, 2)]),
        "gap.csv": _table("ab", [(1, 2), ("", 3), (4, 5)]),
        "both.csv": _table(("member", "a"), [((i + 1) % 6 + 1, f"{i}.5") for i in range(6)]),
        "known.csv": "i,j,kind\nr0,r1,must-link\nr0,r9,cannot-link\n",
        "together.csv": "i,j,kind\nr0,r1,must-link\n",
        "far.csv": "i,j,kind\n0,99,must-link\n",
        "numbers.csv": "i,j,kind\n1,2,must-link\n",
        "pairs.csv": "0,99\n",
        "labels.csv": "id,cluster\nr0,0\nr99,1\n",
        "none.csv": "id,cluster\nr0,0\nr1,1\n",
        "rows.libsvm": "1 1:2 3:1\n0 2:1\n1 1:1 3:2\n0 2:2\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    np.save(folder / "narrow.npy", np.zeros((3, 1)))
    return folder


#: A command line, and what the answer has to say.
WRONG = """
cluster rows.csv -k 0 | -k must be a whole number of at least 1, got 0.
cluster rows.csv -k -3 | -k must be a whole number of at least 1, got -3.
cluster rows.csv -k 99 | -k 99 is more than the 12 rows there are
cluster rows.csv -k 99 -m gaussian-mixture | -k 99 is more than the 12 rows there are
cluster rows.csv -k 99 -m spectral-clustering | -k 99 is more than the 12 rows
cluster rows.csv -k 99 -m constrained-agglomeration | 99
cluster rows.csv -k 99 -m mml-mixture | -k 99 is more than
cluster rows.csv -k 0 -m mml-mixture | -k must be a whole number of at least 1, got 0.
cluster rows.csv -k 0 -m gaussian-mixture | -k must be
cluster rows.csv -k 0 -m spectral-clustering | -k must be
cluster rows.csv | -k 3, for example
cluster rows.csv -k 2 --set n_clusters=3 | use -k for n_clusters
cluster rows.csv -k 2 --set random_state=3 | use --seed for random_state
cluster rows.csv -k 2 --set verbose=3 | --quiet
cluster rows.csv -k 2 --set max_iter=0 | --set max_iter must be a whole number of at least 1, got 0.
cluster rows.csv -k 2 -m gaussian-mixture --set sigma=0 | has no parameter 'sigma'
cluster rows.csv -k 2 -m gaussian-mixture --set max_iter=1 --set tol=0 | --set max_iter=1
cluster rows.csv -k 4 -m spectral-clustering --set graph=landmarks --set n_landmarks=2 | -k 4
cluster rows.csv -k 2 -m mml-mixture --set min_components=5 | min_components=5 must not exceed -k 2
cluster rows.csv -k 2 -m balanced-kmeans --set sample_size=1 | --set sample_size must be
cluster rows.csv -k 2 -m nonparametric-mixture --set bandwidth=constraints | give a few must-links
cluster rows.csv -k 2 -c far.csv | the id '0'
cluster noid.csv -k 2 -c known.csv | --id-column NAME
cluster noid.csv -k 2 -c far.csv | --id-column NAME
cluster noid.csv -k 2 --must-link pairs.csv | names '99'
cluster both.csv -k 2 -c numbers.csv | --id-column member
cluster gap.csv -k 2 --raw | --drop a.
cluster same.csv -k 3 | 'a', always the same (1.5); 'b', always the same (2); say what a column ho
cluster same.csv -k 3 --raw | found smaller than -k (3)
cluster same.csv -k 3 -m spectral-clustering --raw | found smaller than -k (3)
cluster same.csv -k 3 -m nonparametric-mixture --raw | Only 1 of 3 components
cluster single.csv -k 1 | One row does not tell what its columns hold; give more rows.
cluster rows.csv -k 2 --as a=colour | or ordered:low<medium<high; got a='colour'.
cluster rows.csv -k 2 --as a=date | Column 'a' should hold dates
cluster rows.csv -k 2 --as zz=date | There is no column 'zz'
cluster rows.csv -k 2 --as a=ordered:0<1 | 4 more, which its order (0 < 1) does not name
cluster classes.csv -k 2 --as class=ordered | say it: class=ordered:
cluster rows.csv -k 2 --weight a=x | --weight a=x: a weight is a number.
cluster rows.csv -k 2 --weight a=-2 | must be a number of at least 0, got -2
cluster rows.csv -k 2 --scale huge | --scale must be one of standard, robust, range, none, got
cluster rows.csv -k 2 --scale range --raw | --scale has no use with --raw
cluster rows.csv -k 2 -m spherical-kmeans --weight a=2 | --as, --weight and --scale have no use
cluster rows.libsvm -k 2 --weight x0=2 | --as and --weight have no use
cluster rows.libsvm -k 2 --scale huge | --scale must be one of standard, robust, range, none, got
cluster classes.csv -k 1 --label-column class --drop one,none -m seeded-kmeans | only -k 1
cluster classes.csv -k 1 --label-column class --drop one,none -m gaussian-mixture | only -k 1
cluster classes.csv --label-column class --drop one,none | the labels know 2 classes
embed rows.csv -m rca -d 9 -c known.csv | -d 9 must be between 1 and the number of features, 2.
embed rows.csv -m rca -d 0 -c known.csv | -d must be a whole number of at least 1, got 0.
embed rows.csv -m dca -c together.csv | DCA needs cannot-links
embed rows.csv -m itml -c known.csv --set max_iter=1 | --set max_iter=1
embed rows.csv -m pola -d 2 -c known.csv | no number to choose by -d
embed rows.csv -m cannot-link-metric -c together.csv | give some
embed rows.csv -m constrained-pca -d 9 | -d 9 is reduced to 2
embed rows.csv -m constrained-pca --set n_components=9 | use -d for n_components
embed same.csv -m constrained-pca -d 1 --raw | All rows are the same
select rows.csv -m constraint-score -n 9 -c known.csv | -n 9 must be between 1 and
select rows.csv -m constraint-score -n 0 -c known.csv | -n must be a whole number of at least 1
select rows.csv -m constraint-score -c together.csv | --label-column
select rows.csv -m forward-constraint-selector | --label-column
select rows.csv -m fisher-score | --label-column NAME
select classes.csv -m fisher-score --label-column one --drop class,none | only 1 class
select single.csv -m laplacian-score -n 1 --raw | no two of the rows
check rows.csv -c known.csv -k 0 | -k must be at least 1, got 0.
check rows.csv -c known.csv -k 99 | 99
check noid.csv -c known.csv | --id-column NAME
check rows.csv | --constraints
ask rows.csv -k 0 | -k must be
ask rows.csv -k 99 --questions 0 | -k 99 is more than the 12 rows
ask rows.csv -k 2 --strategy cobras -m gaussian-mixture | -m kmeans
sample classes.csv --label-column class -o s.csv | needs --number.
sample classes.csv --label-column class -o s.csv --number -3 | --number must be
sample classes.csv --label-column class -o s.csv --protocol level | needs --level.
sample classes.csv --label-column class -o s.csv --protocol level --level -1 | --level must be
sample classes.csv --label-column class -o s.csv --protocol chunklets | needs --fraction.
sample classes.csv --label-column class -o s.csv --protocol chunklets --fraction 5 --size 2 | --fra
sample classes.csv --label-column class -o s.csv --protocol chunklets --fraction 1 --size 1 | --size
sample classes.csv --label-column class -o s.csv --protocol teachers | needs --teachers.
sample classes.csv --label-column class -o s.csv --protocol teachers --teachers 2 | needs --size.
sample classes.csv --label-column class -o s.csv --protocol what --number 3 | --protocol must be
sample classes.csv --label-column none -o s.csv --number 3 | no class
evaluate labels.csv --truth classes.csv --truth-column class | --id-column
evaluate none.csv --truth classes.csv --truth-column none | 'none'
predict model.skops narrow.npy | no columns 'a', 'b', which the model was fitted to
"""
CASES = [tuple(line.split(" | ")) for line in WRONG.strip().splitlines()]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("line", "expected"), CASES, ids=[line for line, _ in CASES])
def test_a_wrong_command_line_is_answered_by_its_options(folder, run, monkeypatch, line, expected):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    if line.startswith("predict") and not Path("map.skops").exists():
        assert run("cluster", "rows.csv", "-k", 2, "--save", "model.skops").code == 0
        fit = ("embed", "rows.csv", "-m", "constrained-pca", "-d", 1)
        assert run(*fit, "--save", "map.skops").code == 0
    for old in Path().glob("rows.answers.*"):
        old.unlink()
    ended = run(*shlex.split(line))
    told = ended.err + (ended.out if line.startswith("check") else "")
    assert expected in told
    typed = {part for word in shlex.split(line) for part in (word, word.partition("=")[0])}
    for word in sorted(typed, key=len, reverse=True):
        told = re.sub(rf"(?<![\w-]){re.escape(word)}(?!\w)", "", told)
    assert not OF_THE_LIBRARY.findall(told)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("size", [0, 99])
@pytest.mark.parametrize("command", ["cluster", "embed", "select"])
def test_no_method_calls_its_number_by_another_name_than_the_option(
    folder, run, monkeypatch, command, size
):
    monkeypatch.chdir(folder)
    wrong = {}
    for method in catalog.methods():
        if method.kind.command == command and method.size_parameter:
            option = method.kind.option
            ended = run(command, "rows.csv", "-m", method.name, option, size, "-c", "known.csv")
            named = f"{option} must be" in ended.err if size == 0 else True
            if OF_THE_LIBRARY.search(ended.err) or not named:
                wrong[method.name] = ended.err
    assert not wrong


def test_python_keeps_its_own_words():
    """Also behind a command in the same process."""
    with pytest.raises(InvalidParameter, match=r"^n_clusters must be a whole number"):
        KMeans(n_clusters=0).fit([[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"^n_samples=2 should be >= n_clusters=3; "):
        KMeans(n_clusters=3).fit([[0.0], [1.0]])
    with _words.set_by({"n_clusters": "-k"}):  # which is of no effect away from a terminal
        assert _words.setting("n_clusters", 3) == "n_clusters=3"
    with _words.at_the_terminal():
        assert _words.setting("n_clusters", 3) == "--set n_clusters=3"
        with _words.set_by({"n_clusters": "-k"}):
            assert _words.setting("n_clusters", 3) == "-k 3"
        assert _words.setting("random_state") == "--seed"
    assert _words.worded("python", "terminal") == "python"
