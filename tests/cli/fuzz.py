"""Command lines made at random, from nonsense and damaged files, and what is wrong with an answer.

Most tables are prepared, as by default; some are mixed ones of texts, dates and gaps. A few hundred
of the command lines run in the suite (``test_fuzz.py``); more by hand::

    python -m tests.cli.fuzz --cases 10000 --seed 1

A case depends on the seed and its number only. It fails if it hangs, if it ends in anything but an
exit code with one sentence, if the sentence is a disguised traceback or the text of another
library, or if it ends well although a parameter was given nonsense.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import re
import shlex
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from tests.cli.fuzz_case import Case, Ended
from tests.cli.fuzz_files import LABELED, MIXED, Files, header, make_files
from tests.cli.fuzz_kinds import (
    RELATED,
    alternatives,
    documents,
    documents_base,
    published,
    related,
    related_base,
    roles,
    two_sided_base,
    two_sides,
)

from sidelight import catalog
from sidelight._fit.parameters import declared
from sidelight.cli._app import app

SECONDS = 180  # a case that takes longer hangs; compiling on a busy machine takes a minute

#: Never a value of any parameter.
NONSENSE = (
    *("abc", "", '""', "''", "'x'", "[]", "[[]]", "{}", "{1}", "...", "1j", "b'x'", "(1,", "nan"),
    *("lambda: 0", "__import__('os')", "\x00", "é", "[nan]", "['a', 'b']", "[None]", "- 1 -"),
)
#: A value of some parameters.
PERHAPS = (
    *("null", "none", "true", "false", "-1", "0", "1", "2.5", "inf", "-inf", "1e308", "1e-320"),
    *("[-1, 2]", "[[1, 2], [3]]", "[[[1]]]", "[inf, 1]", "[True, False]", "[[1, 2, 3], [4, 5, 6]]"),
    *("1e400", str(10**30), "[1, 2]", "(1, 2)", "[0.5, 0.5]", "[[0, 0], [1, 1]]", "0.5", "3"),
)
#: What columns hold, in words that ``--as`` takes and that it does not.
KINDS = (
    *("number", "log", "yes-no", "category", "ordered", "date", "time", "text", "aside", "TEXT"),
    *("ordered:low<medium<high", "ordered:a<b<c", " category "),
)
NO_KINDS = ("", "abc", "numbers", "category:a<b", "ordered<a", ":", "1", "é", "number=1", "None")
NO_WEIGHTS = ("", "abc", "-1", "nan", "inf", "-inf", "1e999", "1,5", "two", "None", "[1]")
NO_SCALES = ("", "abc", "Standard", "standard,range", "1", "None", "é")


class Hang(BaseException):
    """A case that did not end in time; not an ``Exception``, which the command line would catch."""


# --- cases ----------------------------------------------------------------------------------------


def make_case(seed: int, number: int, files: Files) -> Case:
    """Make the case of this number."""
    choose = random.Random(f"{seed}-{number}")
    makers = [(_parameters, 9), (_data, 6), (_mixed, 5), (_options, 5), (_outputs, 2), (_others, 5)]
    makers += [(_maps, 4), (_classes, 5), (related, 6), (documents, 3), (alternatives, 4)]
    makers += [(two_sides, 4), (published, 4)]
    maker = choose.choices([m for m, _ in makers], [w for _, w in makers])[0]
    case = maker(choose, files)
    if choose.random() < 0.15 and case.arguments:
        case.arguments.append(choose.choice(["--json", "--quiet", "--json"]))
    return case


def _base(choose: random.Random, table: str, method: catalog.Method | None = None) -> list[str]:
    """A command that would do, were it not for what is added."""
    method = method or choose.choice(catalog.methods())
    if method.kind.command in RELATED:
        return related_base(choose, method, table)
    if method.kind.command == "categorize":
        return [*documents_base(table, choose), "-m", method.name]
    if method.kind.command == "cocluster":
        return two_sided_base(choose, method, table)
    if method.kind.command == "anonymize":
        return ["anonymize", table, "--quasi", choose.choice(roles(table)), "-m", method.name]
    arguments = [method.kind.command, table, "-m", method.name]
    if method.size_parameter and (method.tags.needs_n_clusters or choose.random() < 0.7):
        size = "2" if method.kind.command == "select" else choose.choice(["2", "3"])
        arguments += [method.kind.option, size]
    if "class" not in header(table):
        return arguments
    kinds = method.tags.knowledge
    if method.tags.kind == "classifier":
        return [*arguments, "--label-column", "class"]
    if kinds and choose.random() < 0.9:
        labels = "labels" in kinds and ("must-link" not in kinds or choose.random() < 0.3)
        if labels:
            return [*arguments, "--label-column", "class"]
        arguments += ["-c", "known.csv"]
    return [*arguments, "--drop" if choose.random() < 0.5 else "--truth-column", "class"]


def is_refused(type_text: str, value: str) -> bool:
    """Whether the type line of the docs rules a value out; judged by its text alone."""
    if "sequence of object" in type_text and value.startswith("["):
        return False  # of what is for the fit to say
    if "array" in type_text or "sequence" in type_text or "tuple" in type_text:
        return value in NONSENSE
    if value in NONSENSE:
        return not (value == "{}" and "dict" in type_text)
    if value.startswith(("[", "(")):
        return True
    numbers = {"-1", "0", "1", "2.5", "0.5", "3", "1e308", "1e-320", str(10**30)}
    infinite = {"inf", "-inf", "1e400"}
    if value in ("true", "false"):
        return "bool" not in type_text
    if value in ("none", "null"):
        return "None" not in type_text
    if "float" not in type_text and "int" not in type_text:
        listed = re.findall(r"\d+", type_text) if re.fullmatch(r"[\d, ]+", type_text) else []
        return value in numbers | infinite and value not in listed
    if value in infinite:
        bounded = "float >" not in type_text or "finite" in type_text or value == "-inf"
        return bounded and not re.search(r"float( or|$)", type_text)
    if value == "1e308":
        return True
    if value in ("2.5", "0.5", "1e-320"):
        return "float" not in type_text
    return value == "-1" and bool(re.search(r">|\[0|\(0", type_text)) and "int or" not in type_text


def _parameters(choose: random.Random, files: Files) -> Case:
    """Nonsense for the parameters of a method."""
    method = choose.choice(catalog.methods())
    case = Case(_base(choose, "good.csv" if choose.random() < 0.9 else "good.npy", method))
    parameters = declared(method.cls)
    reserved = {"random_state", "verbose", method.size_parameter}
    free = [name for name in parameters if name not in reserved]
    for name in choose.sample(free, min(len(free), choose.choice([1, 1, 1, 2]))):
        value = choose.choice(NONSENSE if choose.random() < 0.5 else PERHAPS)
        kind = parameters[name].type_text
        if value == str(10**30) and name in ("n_init", "n_trials", "n_sweeps", "n_epochs"):
            value = "abc"  # such a number of them is no nonsense, only very long
        if is_refused(kind, value.strip()):
            case.must_fail = f"{name}={value} ({kind})"
        case.arguments += ["--set", f"{name}={value}"]
    return case


def _data(choose: random.Random, files: Files) -> Case:
    """Strange and damaged tables."""
    strange = choose.random() < 0.4
    table = choose.choice(files.tables if strange else files.damaged)
    case = Case(_base(choose, table))
    if choose.random() < 0.4:
        _prepare(case, choose, table)
    if choose.random() < 0.2:
        case.arguments += ["-c", choose.choice(files.known)]
    if not strange and choose.random() < 0.1:
        other = ["check", table, "-c", "known.csv"], ["evaluate", table, "--truth", "good.csv"]
        case.arguments = choose.choice(other)
        case.arguments += ["--truth-column", "class"] if case.arguments[0] == "evaluate" else []
    return case


def _mixed(choose: random.Random, files: Files) -> Case:
    """Mixed tables, with good and bad words on how to prepare them."""
    table = choose.choice([*MIXED])
    case = Case(_base(choose, table))
    for _ in range(choose.choice([0, 1, 1, 2])):
        _prepare(case, choose, table)
    return case


def _prepare(case: Case, choose: random.Random, table: str) -> None:
    """Add an option about the preparation of columns."""
    names = ["zz", "", "a=b", "p,q", "-"]
    if table in MIXED:
        names += [*MIXED[table]] * 9
    column, good = choose.choice(names), choose.random() < 0.5
    options = ["--as", "--weight", "--scale", "--raw"]
    option = choose.choice([one for one in options if one not in case.arguments])
    if option == "--raw":
        case.arguments.append("--raw")
    elif option == "--scale":
        scale = choose.choice(["standard", "robust", "range", "none"] if good else NO_SCALES)
        case.arguments += ["--scale", scale]
    elif option == "--weight":
        weight = choose.choice(["0", "1", "2", "0.5", "1e3", "1e-9"] if good else NO_WEIGHTS)
        case.arguments += ["--weight", f"{column}={weight}"]
    else:
        case.arguments += ["--as", f"{column}={choose.choice(KINDS if good else NO_KINDS)}"]
    if option != "--raw" and (not good or "--raw" in case.arguments):
        case.must_fail = " ".join(case.arguments[-2:])
    if option == "--raw" and {"--as", "--weight", "--scale"} & {*case.arguments}:
        case.must_fail = "--raw beside options that prepare"


def _options(choose: random.Random, files: Files) -> Case:
    """Options with values of another kind."""
    case = Case(_base(choose, choose.choice(files.tables[:10])))
    words = ["", "abc", "-1", "0", "1", "2.5", "1e9", str(10**30), "nan", "a", "id", "class", "é,,"]
    options = {
        "-k": words,
        "--seed": words,
        "--drop": words,
        "--columns": words,
        "--id-column": words,
        "--label-column": words,
        "--truth-column": words,
        "-m": [*words, "kmean", "KMEANS", "pc-kmeans"],
        "-c": [*files.known, *files.damaged],
        "--must-link": [*files.known, *files.damaged],
        "--cannot-link": [*files.known, *files.damaged],
        "--as": [*words, "=", "a=", "=number", "a=number", "a=abc", "b=ordered:", "class=text"],
        "--weight": [*words, "=", "a=", "=1", "a=1", "a=abc", "a=-1", "class=2", "a=b=2"],
        "--scale": [*words, "robust", "range", "none"],
        "--set": ["=", "a", "=3", " = ", "tol", "tol=", "tol==", "n_clusters=3", "random_state=1"],
        "--frobnicate": words,
    }
    for name in choose.sample(list(options), choose.choice([1, 1, 2])):
        case.arguments += [name, choose.choice(options[name])]
    return case


def _outputs(choose: random.Random, files: Files) -> Case:
    """Outputs in bad places."""
    case = Case(_base(choose, "good.csv"))
    places = ["out.csv", "out.html", "out.skops", "out.npy", "out.parquet", "out", "", ".", "/"]
    places += ["loop.csv", "dangling.csv", "folder.csv", "good.csv", "kmeans.skops"]
    places += ["known.csv"] if "known.csv" in case.arguments else []
    places += ["nowhere/out.csv", "good.csv/out.csv", "x" * 300 + ".csv", "/proc/out.csv", "../"]
    places += ["out.csv.gz", "out.tsv", "out.libsvm", "/dev/full", "null.csv", "out.json", "\n.csv"]
    for name in choose.sample(["-o", "--report", "--save"], choose.choice([1, 2, 3])):
        place = choose.choice(places)
        if place in ("good.csv", "known.csv"):
            case.must_fail = f"output {place}"
        case.arguments += [name, place]
    if choose.random() < 0.3:
        case.arguments.append("--force")
    return case


def _maps(choose: random.Random, files: Files) -> Case:
    """Maps with what only they are asked for, of tables and of streams."""
    table = choose.choice([*files.tables, *MIXED, *files.damaged])
    if choose.random() < 0.5:
        return _stream(choose, table)
    if choose.random() < 0.5:
        table = "good.csv"
    method = choose.choice(catalog.methods(kind="embedding"))
    case = Case(_base(choose, table, method))
    names = ["a", "b", "class", "zz", "", "a,b", "a,b,c", "id", "income", "country"]
    for option in choose.sample(["--ignore", "--color", "--anchors"], choose.choice([1, 1, 2])):
        anchors = ["anchors.csv", "good.csv", "known.csv", "nowhere.csv", *files.damaged]
        case.arguments += [option, choose.choice(anchors if option == "--anchors" else names)]
    return case


def _classes(choose: random.Random, files: Files) -> Case:
    """Classifiers with all kinds of labels, learners to wrap and knowledge beside."""
    table = "half.csv" if choose.random() < 0.6 else choose.choice([*LABELED, *files.tables])
    arguments = ["classify", table]
    if choose.random() < 0.7:
        arguments += ["-m", choose.choice(catalog.methods(kind="classifier")).name]
    columns = ["class"] * 30 + ["a", "id", "zz", "", "country", "rating", "b"]
    if choose.random() < 0.9:
        arguments += ["--label-column", choose.choice(columns)]
    others = [
        ("-c", choose.choice([*files.known, *files.damaged])),
        ("-c", "known.csv"),
        ("-c", choose.choice(["known.csv", "labels-known.csv", "contradiction.csv"])),
        ("--must-link", choose.choice([*files.known, "pairs.csv"])),
        ("--base", choose.choice(["tree", "logistic", "svm", "oak", "", "neighbors"])),
        ("--set", choose.choice(["reject=0.5", "reject=1e9", "estimator=tree", "C=0", "kernel=x"])),
        ("--set", choose.choice(["graph=precomputed", "kernel=precomputed", "n_neighbors=99"])),
        ("--truth-column", choose.choice(["class", "c", "a", "zz", ""])),
        ("--drop", choose.choice(["class", "a", "a,b,c", "zz"])),
        ("--columns", choose.choice(["a", "a,b", "class", "zz", ""])),
        ("-k", "3"),
        ("--raw",),
        ("--seed", choose.choice(["1", "-1", "abc"])),
        ("-o", choose.choice(["out.csv", "out.parquet", "half.csv", "out.npy"]), "--force"),
        ("--save", "out.skops", "--force"),
        ("--report", "out.html", "--force"),
    ]
    for other in choose.sample(others, choose.choice([0, 0, 1, 1, 2])):
        arguments += other
    return Case(arguments, "output half.csv" if "half.csv" in arguments[2:] else "")


def _stream(choose: random.Random, table: str) -> Case:
    """Rows of any file, or typed, as a stream."""
    typed = choose.random() < 0.5 or table.startswith("pipe")  # a stream waits for its writer
    arguments = ["embed", "--stream", "-" if typed else table]
    arguments += ["--start", choose.choice(["2", "5", "12", "0", "-1", "abc", "1000"])]
    others = [("--set", "n_neighbors=3"), ("--color", "class"), ("--columns", "a,b"), ("--raw",)]
    others += [("--set", "window=6"), ("-d", "1"), ("-d", "0"), ("--final", "out.csv", "--force")]
    others += [("--scale", "range"), ("-c", "known.csv"), ("-m", "kmeans"), ("-o", "out.parquet")]
    for other in choose.sample(others, choose.choice([0, 1, 1, 2])):
        arguments += other
    return Case(arguments, typed=_typed_rows(choose) if typed else "")


def _typed_rows(choose: random.Random) -> str:
    """Lines that are rows, for the most part."""
    lines = Path("good.csv").read_text(encoding="utf-8").splitlines()
    strange = [
        "",
        "p,1",
        "p,x,2,3,a",
        '"',
        "{}",
        "[1, 2]",
        "\x00",
        "é,é,é,é,é",
        ",,,,",
        "nan,inf,1,2,3",
    ]
    for _ in range(choose.choice([0, 1, 1, 2])):
        lines.insert(choose.randrange(len(lines) + 1), choose.choice(strange))
    return "\n".join(lines[: choose.choice([0, 1, 2, 8, len(lines), len(lines)])])


def _others(choose: random.Random, files: Files) -> Case:
    """The commands that are not about one method."""
    words = ["", "abc", "-1", "0", "1", "3", "2.5", "nan", "inf", "1e308", "1e9", str(10**30)]
    tables = [*files.tables, *files.damaged]
    commands = ["predict", "explain", "map", "sample", "evaluate", "check", "ask", "methods"]
    command = choose.choice(commands)
    table = choose.choice(tables) if choose.random() < 0.4 else "good.csv"
    if command in ("predict", "explain", "map") and choose.random() < 0.5:
        table = choose.choice([name for name in tables if "customers" in name or "mixed" in name])
    if command in ("predict", "explain"):
        return Case([command, choose.choice(files.models), table])
    if command == "map":
        return Case(
            ["predict", choose.choice(files.models), table, "-o", "predicted.csv", "--force"]
        )
    if command == "methods":
        return Case(["methods", choose.choice(["kmeans", *words]), "--knowledge", *words[:1]])
    if command == "check":
        arguments = ["check", table, "-c", choose.choice([*files.known, *files.damaged])]
        return Case(
            [*arguments, "-k", choose.choice(words)] if choose.random() < 0.5 else arguments
        )
    if command == "evaluate":
        Path("good-labels.csv").write_text("id,cluster\np0,1\np1,0\np2,1\n")
        labels = choose.choice(["good-labels.csv"] * 20 + tables)
        column = choose.choice(["class", "class", "a", "zz", ""])
        return Case(["evaluate", labels, "--truth", table, "--truth-column", column])
    if command == "sample":
        arguments = ["sample", table, "--label-column", choose.choice(["class"] * 5 + ["a", "zz"])]
        protocols = ["random", "level", "disjoint", "balanced", "chunklets", "teachers", "abc"]
        arguments += ["--protocol", choose.choice(protocols), "-o", "drawn.csv", "--force"]
        for name in choose.sample(
            ["--number", "--level", "--fraction", "--size", "--teachers", "--seed"],
            choose.choice([1, 2]),
        ):
            arguments += [name, choose.choice(words)]
        return Case(arguments)
    strategies = ["explore-consolidate", "min-max", "npu", "cobras", "random", "abc"]
    strategies += ["ambiguous-min", "ambiguous-max", "ambiguous-com"]
    answers = choose.choice([f"{choose.random()}.jsonl", "good.csv", "pipe.csv", "loop.csv", ""])
    typed = [choose.choice(["s", "d", "k", "u", "h", "s p0 p1", "d 'p", "\x00", "", "x y z"])] * 5
    arguments = ["ask", table, "-k", choose.choice(["3", "2", *words]), "--answers", answers]
    arguments += [
        "--strategy",
        choose.choice(strategies),
        "--questions",
        choose.choice(["3", *words]),
    ]
    if choose.random() < 0.2:  # pairs of a list
        listed = choose.choice(["doubtful.csv", "doubtful.csv", *files.related, *files.damaged])
        arguments = ["ask", "good.csv", "--pairs", listed, "--answers", answers]
        arguments += ["--questions", choose.choice(["3", *words])]
    elif choose.random() < 0.4:  # a classifier, which has no number of clusters
        arguments[1:4] = [choose.choice(["half.csv", "half.csv", table])]
        methods = ["pairwise-svc", "pairwise-logistic-regression", "harmonic", "kmeans"]
        arguments += ["-m", choose.choice(methods), "--label-column", choose.choice(["class", "a"])]
    return Case([*arguments, "--force"], typed="\n".join(typed))


# --- running --------------------------------------------------------------------------------------


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Raise in the main thread when a case takes too long, also out of a wait for a pipe."""

    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run_case(case: Case) -> Ended:
    """Run a command line in this process."""
    out, err, code, trouble = io.StringIO(), io.StringIO(), -1, ""
    stdin, sys.stdin = sys.stdin, io.StringIO(case.typed)
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
            _limited(),
        ):
            warnings.simplefilter("default")
            app([argument.replace("\x00", "") for argument in case.arguments])
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else -1
    except Hang:
        trouble = "hangs"
    except BaseException as error:
        trouble = f"raises {type(error).__name__}: {error}"
    finally:
        sys.stdin = stdin
    return Ended(code, out.getvalue(), err.getvalue(), trouble)


def main() -> None:
    """Run cases and print those that fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    given = parser.parse_args()
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        files = make_files()
        for number in range(given.first, given.first + given.cases):
            case = make_case(given.seed, number, files)
            start = time.monotonic()
            ended = run_case(case)
            wrong = ended.verdict(case)
            counts[wrong.partition(":")[0]] = counts.get(wrong.partition(":")[0], 0) + 1
            if wrong:
                said = " ".join((ended.out + ended.err).split())[-400:]
                print(f"{number} {wrong}\n  {shlex.join(case.arguments)}\n  {said}", flush=True)
            if (seconds := time.monotonic() - start) > 10:
                print(f"{number} {seconds:.0f} s: {shlex.join(case.arguments)}", flush=True)
        os.chdir("/")
    print({name or "fine": number for name, number in sorted(counts.items())})


if __name__ == "__main__":
    main()
