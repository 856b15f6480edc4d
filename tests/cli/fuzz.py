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
from dataclasses import dataclass
from pathlib import Path

from tests.cli.fuzz_files import LABELED, MIXED, Files, make_files

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
#: Commands whose data is a graph, or has one beside it.
RELATED = ("correlate", "consensus", "regions", "resolve")
#: What other libraries and the interpreter say, to programmers.
RAW = re.compile(
    r"unexpected|mistake in Sidelight|Traceback|could not convert|unsupported operand|"
    r"not supported between|must be real number|NoneType|object is not|has no attribute|"
    r"invalid literal|positional argument|keyword argument|out of bounds|index out of range|"
    r"broadcast|cannot unpack|unhashable|not enough values|too many values|[Ss]ingular matrix|"
    r"math domain|division by zero|divide by zero|zero-size|Input X|contains NaN|infs or NaNs|"
    r"ufunc|cannot reshape|Found array|encountered in|setting an array|truth value|Errno|"
    r"object of type|JSON serializable|Expected 2D|too large to convert|<class|"
    r"dtype|malformed node|codec can't|NotImplemented|null byte|maximum recursion|assert|"
    r"Seed must be|RandomState instance|invalid index|integer overflow|cannot convert",
)


#: What only somebody who writes Python could know or do.
OF_THE_LIBRARY = re.compile(
    r"\b(?:n_clusters|n_components|n_features\w*|n_samples|n_teachers|random_state|sample_weight|"
    r"labels_|components_|estimator|ndarray|constraints=|ids=|fit\(|Constraints|id_column|drop=|"
    r"seed=|k=|RandomState)|(?<!')\b[Xy]\b(?!')|\bneeds n\b|(?<!-)\bk must\b"
)


class Hang(BaseException):
    """A case that did not end in time; not an ``Exception``, which the command line would catch."""


@dataclass
class Case:
    """A command line with what it is known to deserve."""

    arguments: list[str]
    must_fail: str = ""  # why exit code 0 would be wrong
    typed: str = ""  # what is typed, for ``ask``


@dataclass
class Ended:
    """How a command line ended."""

    code: int
    out: str
    err: str
    trouble: str = ""

    def verdict(self, case: Case) -> str:
        """Say what is wrong with it; nothing if all is well."""
        text = self.out + self.err
        if self.trouble:
            return self.trouble
        if self.code not in (0, 1, 2):
            return f"exit code {self.code}"
        if found := RAW.search(_told(self.out, self.err, case)):
            return f"raw text: {found.group()}"
        if found := OF_THE_LIBRARY.search(_told(self.out, self.err, case)):
            return f"word of the library: {found.group()}"
        errors = re.findall(r"^Error: .*|^\{\"error\".*", text, flags=re.MULTILINE)
        checks = case.arguments[0] in ("check", "check-anonymity")  # a result may be a problem
        if (self.code != 0 and not checks) and len(errors) != 1:
            return f"{len(errors)} errors for exit code {self.code}"
        if self.code == 0 and case.must_fail:
            return f"accepted: {case.must_fail}"
        return ""


def _told(out: str, err: str, case: Case) -> str:
    """What was said about problems, without what the user wrote."""
    lines = [line for line in (out + err).splitlines() if re.match(r"Error|Warning|{\"error", line)]
    text = re.sub(r"; it has [\w, ]+\.", ".", "\n".join(lines))  # what --set takes
    for given in sorted(case.arguments, key=len, reverse=True):
        for part in {given, *given.partition("=")} - {""}:
            text = text.replace(part, "_") if len(part) > 2 else text
    return text


# --- cases ----------------------------------------------------------------------------------------


def make_case(seed: int, number: int, files: Files) -> Case:
    """Make the case of this number."""
    choose = random.Random(f"{seed}-{number}")
    makers = [(_parameters, 9), (_data, 6), (_mixed, 5), (_options, 5), (_outputs, 2), (_others, 5)]
    makers += [(_maps, 4), (_classes, 5), (_related, 6), (_documents, 3), (_alternatives, 4)]
    makers += [(_two_sides, 4), (_published, 4)]
    maker = choose.choices([m for m, _ in makers], [w for _, w in makers])[0]
    case = maker(choose, files)
    if choose.random() < 0.15 and case.arguments:
        case.arguments.append(choose.choice(["--json", "--quiet", "--json"]))
    return case


def _base(choose: random.Random, table: str, method: catalog.Method | None = None) -> list[str]:
    """A command that would do, were it not for what is added."""
    method = method or choose.choice(catalog.methods())
    if method.kind.command in RELATED:
        return _related_base(choose, method, table)
    if method.kind.command == "categorize":
        return [*_documents_base(table, choose), "-m", method.name]
    if method.kind.command == "cocluster":
        return _two_sided_base(choose, method, table)
    if method.kind.command == "anonymize":
        return ["anonymize", table, "--quasi", choose.choice(_roles(table)), "-m", method.name]
    arguments = [method.kind.command, table, "-m", method.name]
    if method.size_parameter and (method.tags.needs_n_clusters or choose.random() < 0.7):
        size = "2" if method.kind.command == "select" else choose.choice(["2", "3"])
        arguments += [method.kind.option, size]
    if "class" not in _header(table):
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


def _related_base(choose: random.Random, method: catalog.Method, table: str) -> list[str]:
    """The same for methods of graphs, which have data of their own."""
    command = method.kind.command
    own = {"correlate": "scored.csv", "consensus": "votes.csv"}
    if table == "good.csv":
        table = own.get(command, table)
    arguments = [command, table, "-m", method.name]
    if command == "regions":
        edges = "graph.csv" if choose.random() < 0.8 else "pieces.csv"
        arguments += ["--edges", edges, "-k", choose.choice(["2", "3"])]
    if "class" in _header(table) and command != "correlate":
        arguments += ["--truth-column", "class"]
    if "must-link" in method.tags.knowledge and choose.random() < 0.3:
        arguments += ["-c", "known.csv"]
    return arguments


def _documents_base(table: str, choose: random.Random) -> list[str]:
    """The same for methods of documents; numbers are texts, too."""
    table = "documents.csv" if table == "good.csv" and choose.random() < 0.8 else table
    text = "text" if table == "documents.csv" else choose.choice(["a", "b", "a,b", "class", "x0"])
    return ["categorize", table, "--text-column", text, "--label-column", "class"]


def _documents(choose: random.Random, files: Files) -> Case:
    """Categories of documents with strange options and tables."""
    table = choose.choice(["good.csv", choose.choice([*files.tables, *files.damaged])])
    case = Case(_documents_base(table, choose))
    words = ["", "abc", "-1", "0", "1", "2", "0.5", "1.5", "nan", "inf", str(10**30), "é,,", "text"]
    refused = {"", "abc", "-1", "0", "1.5", "nan", "inf", "é,,", "text"}
    options = ["--min-df", "--max-df", "--keep-words", "--text-column", "--label-column"]
    options += ["--id-column", "--truth-column", "-o", "--report", "--save", "--set"]
    for name in choose.sample(options, choose.choice([1, 2])):
        good = {"-o": "out.csv", "--report": "out.html", "--save": "out.skops", "--id-column": "id"}
        value = choose.choice([choose.choice(words), good.get(name, "1")])
        if name == "--set":
            value = choose.choice(["min_documents=1", "shrink=1", "damping=log1p", "x=1", "a"])
        case.arguments += [name, value]
        if name == "--keep-words" and value in refused:
            case.must_fail = f"{name} {value}"
    return case


def _two_sided_base(choose: random.Random, method: catalog.Method, table: str) -> list[str]:
    """The same for methods of zeros and ones, which numbers have to become."""
    arguments = ["cocluster", table, "-m", method.name, "-k", choose.choice(["2", "3"])]
    if "class" not in _header(table):
        return arguments
    arguments += ["--above", choose.choice(["0.3", "0.6"])]
    if "must-link" in method.tags.knowledge and choose.random() < 0.3:
        arguments += ["-c", "known.csv"]
    return [*arguments, "--drop" if choose.random() < 0.5 else "--truth-column", "class"]


def _roles(table: str) -> list[str]:
    """Names of columns of a table, or of one that is often there."""
    names = [name for name in re.split("[,;]", _header(table)) if name] or ["a", "b"]
    return [names[-1], ",".join(names[1:3]), ",".join(names[-2:]), "a,b"]


def _header(table: str) -> str:
    names = ("good", "crlf", "mixed.", "bom", "customers.", "half")
    readable = table.endswith(".csv") and table.startswith(names)
    return Path(table).read_text(encoding="utf-8-sig").split("\n")[0] if readable else ""


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
        return value in numbers | infinite
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
        case.arguments += ["--label-column", "class"] if case.arguments[0] == "evaluate" else []
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


def _related(choose: random.Random, files: Files) -> Case:
    """Graphs of all kinds, with options that fit and that do not."""
    methods = [m for m in catalog.methods() if m.kind.command in RELATED]
    method = choose.choice(methods)
    tables = [*files.related, *files.tables, *files.damaged, *MIXED]
    table = "good.csv" if choose.random() < 0.7 else choose.choice(tables)
    arguments = _related_base(choose, method, table)
    words = ["", "abc", "-1", "0", "0.5", "nan", "inf", "1e400", "é", "id", "class", "a", "zz"]
    others = {
        "correlate": [
            ("--prior", choose.choice(words)),
            ("--duplicates", choose.choice(["mean", "sum", "max", "min", *words])),
            ("--nodes", choose.choice(["good.csv", *files.related, *files.damaged])),
            ("--nodes", "good.csv", "--source-column", choose.choice(["class", *words])),
            ("--nodes", "good.csv", "--truth-column", choose.choice(["class", *words])),
            ("--source-column", "class"),
        ],
        "consensus": [
            ("--columns", choose.choice(["u,v", "u", "u,zz", ",", "id,u"])),
            ("--truth-column", choose.choice(words)),
        ],
        "regions": [
            ("--edges", choose.choice([*files.related, *files.damaged])),
            ("--coordinates", choose.choice(["a,b", "a", "a,class", "a,b,c", ",", "zz,a", "a,a"])),
            ("-k", choose.choice(["2:3", "2,3", "1", "24", "30", "0", "abc", "3:2"])),
            ("--scale", choose.choice(["range", "abc"])),
        ],
        "resolve": [
            (
                "--compare",
                choose.choice(["a:number", "a:name", "a:number*2", "a:x", "a", "zz:name"]),
            ),
            (
                "--compare",
                choose.choice(["a:number*0", "a:number*x", ":name", "a:", "class:exact"]),
            ),
            (
                "--block",
                choose.choice(["a:near3", "a:within2", "b:prefix2", "zz", "a&b", "&", "a:x"]),
            ),
            ("--group-column", choose.choice(["class", "a", "id", "zz", ""])),
            ("--source-column", choose.choice(["class", "a", "id", "zz", ""])),
            ("--threshold", choose.choice(words)),
            ("--alpha", choose.choice(words)),
            ("--doubtful", choose.choice(["d.csv", "d.npy", "good.csv", ""])),
        ],
    }[method.kind.command]
    others += [
        ("-c", choose.choice([*files.known, *files.damaged])),
        ("--seed", choose.choice(["1", "-1", "abc"])),
        ("-o", choose.choice(["out.csv", "out.parquet", "good.csv", "scored.csv"]), "--force"),
    ]
    if method.kind.command != "consensus":
        others.append(("--report", "out.html", "--force"))
    for other in choose.sample(others, choose.choice([0, 1, 1, 2])):
        arguments += other
    return Case(arguments)


def _alternatives(choose: random.Random, files: Files) -> Case:
    """Splits to avoid of all kinds: columns, files, and what is neither."""
    table = "good.csv" if choose.random() < 0.6 else choose.choice([*files.tables, *MIXED])
    arguments = ["alternatives", table, "-k", choose.choice(["2", "2", "3", "1", "0", "30", "abc"])]
    if choose.random() < 0.4:
        arguments += ["-m", choose.choice(catalog.methods(kind="alternative")).name]
    columns = ["class"] * 6 + ["a", "id", "zz", "", "country", "rating", "é", "nowhere.csv", "."]
    others = [
        ("--avoid", choose.choice(columns)),
        ("--avoid", choose.choice(columns)),
        ("--avoid", choose.choice([*files.known, *files.damaged, *files.tables])),
        ("-n", choose.choice(["1", "1", "2", "3", "0", "-1", "abc", "2.5"])),
        ("--truth-column", choose.choice(["class", "a", "zz"])),
        ("--drop", choose.choice(["class", "a", "a,b,c", "zz"])),
        ("--columns", choose.choice(["a,b", "class", "a,class", "zz"])),
        ("--raw",),
        ("--set", choose.choice(["n_init=1", "base=kmeans", "n_local=2", "known_as=regression"])),
        ("-c", choose.choice([*files.known, "known.csv"])),
        ("-o", choose.choice(["out.csv", "out.parquet", "good.csv", "out.npy"]), "--force"),
        ("--report", "out.html", "--force"),
    ]
    for other in choose.sample(others, choose.choice([1, 2, 2, 3])):
        arguments += other
    return Case(arguments)


def _two_sides(choose: random.Random, files: Files) -> Case:
    """Tables with two sides of all kinds, with options that fit and that do not."""
    table = _write_sales() if choose.random() < 0.7 else choose.choice(files.tables + files.damaged)
    arguments = _two_sided_base(choose, choose.choice(catalog.methods(kind="coclusterer")), table)
    words = ["", "abc", "-1", "0", "1", "0.5", "2.5", "nan", "inf", "1e400", "é", "id", "when"]
    known = ["known.csv", "columns.csv", "cross.csv", *files.known, *files.damaged]
    others = [
        ("--above", choose.choice(words)),
        ("--long", choose.choice(["id,when", "id", "id,id", "id,zz", "tea,milk", ",", ""])),
        ("--row-order", choose.choice(["when", "tea", "id", "zz", ""])),
        ("--row-order", "when", "--max-row-gap", choose.choice(words)),
        ("--row-order", "when", "--min-row-gap", choose.choice(words)),
        ("--max-row-gap", "1"),
        ("--ordered-columns", "--max-column-gap", choose.choice(words)),
        ("--ordered-columns", "--min-column-gap", "3", "--max-column-gap", choose.choice(words)),
        ("--ordered-columns", "--circular", choose.choice(["columns", "rows", "both", *words])),
        ("-c", choose.choice(known)),
        ("--column-constraints", choose.choice(["columns.csv", *known])),
        ("--cross-constraints", choose.choice(["cross.csv", *known])),
        ("--min-rows", choose.choice(words)),
        ("--min-columns", choose.choice(words)),
        ("--overlap", choose.choice(words)),
        ("-k", choose.choice(["1", "12", "13", *words])),
        ("--set", choose.choice(["max_concepts=3", "on_blocked=fail", "binarize=0.5"])),
        (
            "--set",
            choose.choice(["n_column_clusters=2", "n_column_clusters=99", "variant=published"]),
        ),
        ("--drop", choose.choice(["when", "tea", "when,tea,milk,soap,bread", *words])),
        ("--columns", choose.choice(["tea,milk", "when", *words])),
        ("-o", choose.choice(["out.csv", "out.npy", table]), "--force"),
        ("--columns-output", choose.choice(["out2.csv", "out2.npy", table, ""]), "--force"),
        ("--report", "out.html", "--force"),
    ]
    if table == "sales.csv" and choose.random() < 0.8:
        arguments += ["--drop", "when"]
    for other in choose.sample(others, choose.choice([0, 1, 1, 2, 3])):
        arguments += other
    return Case(arguments)


def _published(choose: random.Random, files: Files) -> Case:
    """Tables to publish, and published ones, with roles that fit and that do not."""
    table = choose.choice(["good.csv", *MIXED, choose.choice([*files.tables, *files.damaged])])
    words = ["", "abc", "-1", "0", "1", "2", "3", "5", "0.5", "nan", "1e9", str(10**30), "é,,"]
    columns = [*_roles(table), "id", "class", "zz", ",", "a,a", "", "=", "a b"]
    models = ["distinct", "entropy", "recursive", "recursive-published", *words[:3]]
    others = [
        ("--sensitive", choose.choice(columns)),
        ("-k", choose.choice(words)),
        ("--sensitive", choose.choice(columns), "-l", choose.choice(words)),
        ("--sensitive", "class", "-l", "2", "-k", "2", "--diversity", choose.choice(models)),
        (
            "--sensitive",
            "class",
            "-l",
            "2",
            "--diversity",
            "recursive",
            "--c",
            choose.choice(words),
        ),
    ]
    arguments = [choose.choice(["anonymize"] * 3 + ["check-anonymity"]), table]
    arguments += ["--quasi", choose.choice(columns)]
    if arguments[0] == "anonymize":
        hierarchies = ["", "a", "a=", "=b", "a=known.csv", f"a={choose.choice(files.damaged)}"]
        others += [
            ("--keep", choose.choice(columns)),
            ("--identifiers", choose.choice(["id", *columns])),
            ("--hierarchy", choose.choice(hierarchies)),
            ("--suppress", choose.choice(words)),
            ("--set", choose.choice(["generalize=representatives", "generalize=abc", "k=3", "n"])),
            ("-o", choose.choice(["out.csv", "out.parquet", "good.csv", "null.csv", "out.npy"])),
            ("--report", "out.html", "--force", "-o", "out.csv"),
        ]
    for other in choose.sample(others, choose.choice([0, 1, 1, 2, 3])):
        arguments += other
    return Case(arguments)


def _write_sales() -> str:
    """Twelve rows of zeros and ones, in an order, and what is known about both sides."""
    lines = [
        f"p{row},{7 * row % 12},{row % 2},{1 - row % 2},{int(row < 6)},{int(row % 3 == 0)}"
        for row in range(12)
    ]
    names = "id,when,tea,milk,soap,bread"
    Path("sales.csv").write_text("\n".join([names, *lines]) + "\n", encoding="utf-8")
    Path("columns.csv").write_text("i,j,kind\ntea,milk,cannot-link\n", encoding="utf-8")
    Path("cross.csv").write_text("i,j,kind\np0,milk,cannot-link\n", encoding="utf-8")
    return "sales.csv"


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
        return Case(["transform", table, "--model", choose.choice(files.models)])
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
        return Case(["evaluate", labels, "--truth", table, "--label-column", column])
    if command == "sample":
        arguments = ["sample", table, "--label-column", choose.choice(["class"] * 5 + ["a", "zz"])]
        protocols = ["random", "level", "disjoint", "balanced", "chunklets", "teachers", "abc"]
        arguments += ["--protocol", choose.choice(protocols), "-o", "drawn.csv", "--force"]
        for name in choose.sample(
            ["-n", "--level", "--fraction", "--size", "--teachers", "--seed"], choose.choice([1, 2])
        ):
            arguments += [name, choose.choice(words)]
        return Case(arguments)
    strategies = ["explore-consolidate", "min-max", "npu", "cobras", "random", "abc"]
    strategies += ["ambiguous-min", "ambiguous-max", "ambiguous-com"]
    answers = choose.choice([f"{choose.random()}.jsonl", "good.csv", "pipe.csv", "loop.csv", ""])
    typed = [choose.choice(["s", "d", "k", "u", "h", "s p0 p1", "d 'p", "\x00", "", "x y z"])] * 5
    arguments = ["ask", table, "-k", choose.choice(["3", "2", *words]), "--answers", answers]
    arguments += ["--strategy", choose.choice(strategies), "--budget", choose.choice(["3", *words])]
    if choose.random() < 0.2:  # pairs of a list
        listed = choose.choice(["doubtful.csv", "doubtful.csv", *files.related, *files.damaged])
        arguments = ["ask", "good.csv", "--pairs", listed, "--answers", answers]
        arguments += ["--budget", choose.choice(["3", *words])]
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
