"""Command lines made at random, from nonsense and damaged files, and what is wrong with an answer.

A few hundred of them run in the suite (``test_fuzz.py``); more by hand::

    python -m tests.cli.fuzz --cases 10000 --seed 1

A case depends on the seed and its number only. It fails if it hangs, if it ends in anything but an
exit code with one sentence, if the sentence is a disguised traceback or the text of another
library, or if it ends well although a parameter was given nonsense.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import gzip
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
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sidelight import catalog, runs
from sidelight._fit.parameters import declared
from sidelight.cli._app import app
from sidelight.runs import Request

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
        if (self.code != 0 and case.arguments[0] != "check") and len(errors) != 1:
            return f"{len(errors)} errors for exit code {self.code}"
        if self.code == 0 and case.must_fail:
            return f"accepted: {case.must_fail}"
        return ""


def _told(out: str, err: str, case: Case) -> str:
    """What was said about problems, without what the user wrote."""
    lines = [line for line in (out + err).splitlines() if re.match(r"Error|Warning|{\"error", line)]
    text = "\n".join(lines)
    for given in sorted(case.arguments, key=len, reverse=True):
        for part in {given, *given.partition("=")} - {""}:
            text = text.replace(part, "_") if len(part) > 2 else text
    return text


# --- files ----------------------------------------------------------------------------------------


@dataclass
class Files:
    """Names of files in the current folder, by what they are good for."""

    tables: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)


def make_files() -> Files:
    """Fill the current folder with good, strange and damaged files."""
    noise = np.random.RandomState(0)
    files = Files()
    rows = np.vstack([noise.normal(4 * c, 1, (8, 3)) for c in range(3)])
    good = _csv(["id", "a", "b", "c", "class"], rows, "abc")
    Path("good.csv").write_text(good)
    np.save("good.npy", rows)
    table = pa.table({"id": [f"p{i}" for i in range(24)], "a": rows[:, 0], "b": rows[:, 1]})
    pq.write_table(table, "good.parquet")
    Path("good.csv.gz").write_bytes(gzip.compress(good.encode()))
    lines = [f"{i % 3} 1:{a:.3f} 2:{b:.3f}\n" for i, (a, b, _) in enumerate(rows)]
    Path("good.libsvm").write_text("".join(lines))
    files.tables += ["good.csv"] * 6 + ["good.npy", "good.parquet", "good.csv.gz", "good.libsvm"]
    strange = {
        "bom.csv": "\ufeff" + good,
        "crlf.csv": good.replace("\n", "\r\n"),
        "mixed.csv": good.replace("\n", "\r\n", 5),
        "cr.csv": good.replace("\n", "\r"),
        "constant.csv": "id,a,b\n" + "".join(f"p{i},1,2\n" for i in range(9)),
        "one-row.csv": "id,a,b\np0,1,2\n",
        "one-column.csv": "a\n" + "".join(f"{i * i}\n" for i in range(9)),
        "huge.csv": "a,b\n" + "".join(f"{s}1e308,{i}\n" for i, s in enumerate("+-+-+-")),
        "large.csv": "a,b\n" + "".join(f"{s}1e200,{i}\n" for i, s in enumerate("+-+-+-")),
        "tiny.csv": "a,b\n" + "".join(f"{i}e-320,{i}e-300\n" for i in range(9)),
        "duplicates.csv": "a,a\n1,2\n3,4\n",
        "identical.csv": "a,b\n" + "".join(f"{i},{i}\n" for i in range(9)),
        "semicolon.csv": good.replace(",", ";"),
        "wide.csv": ",".join(f"x{j}" for j in range(600)) + "\n" + f"{',1' * 600}\n"[1:] * 4,
        "bool.csv": "id,a,b\n" + "".join(f"p{i},{i % 2 == 0},{i}\n" for i in range(9)),
        "overflow.csv": "a,b\n1e999,1\n2,3\n4,5\n",
        "large-int.csv": "a,b\n99999999999999999999999,1\n2,3\n4,5\n",
    }
    for name, text in strange.items():
        Path(name).write_text(text, newline="")
        files.tables.append(name)
    half = noise.normal(size=(9, 2)).astype(np.float16)
    for name, array in {
        "half.npy": half,
        "big-endian.npy": rows.astype(">f8"),
        "bool.npy": rows > 0,
        "int.npy": rows.astype(int),
        "fortran.npy": np.asfortranarray(rows),
        "long.npy": rows.astype(np.longdouble),
    }.items():
        np.save(name, array)
        files.tables.append(name)
    files.damaged = _damaged_files(good, rows)
    files.known = _known_files()
    files.models = _models()
    return files


def _csv(names: list[str], rows: np.ndarray, classes: str) -> str:
    lines = [
        f"p{i},{','.join(f'{value:.4f}' for value in row)},{classes[i % len(classes)]}"
        for i, row in enumerate(rows)
    ]
    return "\n".join([",".join(names), *lines, ""])


def _damaged_files(good: str, rows: np.ndarray) -> list[str]:
    zipped = gzip.compress(good.encode())
    array, table = Path("good.npy").read_bytes(), Path("good.parquet").read_bytes()
    junk = random.Random(0).randbytes(500)
    flipped = bytearray(zipped)
    flipped[len(flipped) // 2] ^= 0xFF
    contents = {
        "cut.csv.gz": zipped[:-20],
        "head.csv.gz": zipped[:8],
        "flipped.csv.gz": bytes(flipped),
        "not.csv.gz": good.encode(),
        "junk.csv.gz": b"\x1f\x8b" + junk,
        "tail.csv.gz": zipped + b"junk behind",
        "cut.npy": array[:-9],
        "head.npy": array[:40],
        "magic.npy": array[:6],
        "header.npy": array.replace(b"shape", b"shame"),
        "shape.npy": array.replace(b"(24, 3)", b"(-4, 3)"),
        "vast.npy": array.replace(b"(24, 3), } ", b"(2**62, 9)}"),
        "more.npy": array.replace(b"(24, 3)", b"(99, 9)"),
        "version.npy": array[:6] + b"\x09\x00" + array[8:],
        "order.npy": array.replace(b"<f8", b"<q9"),
        "text.npy": array.replace(b"{'descr", b"{{descr"),
        "junk.npy": junk,
        "pickle.npy": array.replace(b"<f8", b"|O8"),
        "cut.parquet": table[:-9],
        "head.parquet": table[:30],
        "junk.parquet": b"PAR1" + junk + b"PAR1",
        "middle.parquet": table[:60] + junk[:40] + table[100:],
        "junk.csv": junk,
        "nul.csv": good.encode().replace(b"a,b", b"a\x00,b", 1),
        "nuls.csv": b"\x00" * 1000,
        "nul-value.csv": good.encode().replace(b"p3,", b"p3,\x00", 1),
        "latin.csv": "name,a\nJos\xe9,1\nAnn,2\n".encode("latin-1"),
        "utf16.csv": good.encode("utf-16"),
        "long-field.csv": b"id,a\np0," + b"9" * 20_000_000 + b"\np1,2\n",
        "long-text.csv": b'id,a\n"' + b"x" * 2_000_000 + b'",1\np1,2\n',
        "long-name.csv": b"id," + b"a" * 200_000 + b"\np0,1\np1,2\n",
        "quote.csv": b'id,a\np0,"1\np1,2\np3,4\n',
        "header.csv": b"id,a,b\n",
        "blank.csv": b"\n\n\n",
        "spaces.csv": b"   \n   \n",
        "commas.csv": b",,,\n,,,\n",
        "ragged.csv": b"a,b\n1,2,3\n4\n",
        "words.csv": b"a,b\nx,y\nz,w\n",
        "missing.csv": b"id,a,b\np,1,\nq,,2\n",
        "infinite.csv": b"a,b\ninf,1\n-inf,2\n3,4\n",
        "empty.csv": b"",
        "empty.npy": b"",
        "empty.parquet": b"",
        "empty.csv.gz": b"",
        "nothing.csv.gz": gzip.compress(b""),
        "bad.libsvm": b"1 1:2 x:y\n",
        "order.libsvm": b"1 5:2 3:1\n2 1:1\n",
        "vast.libsvm": b"1 99999999999:1\n2 1:1\n",
        "large.libsvm": b"1 2000000000:1\n2 1:1\n",
        "negative.libsvm": b"1 -5:2\n2 1:1\n",
        "junk.libsvm": junk,
        "nan.libsvm": b"1 1:nan\n2 1:1\n",
        "empty.libsvm": b"\n",
        "labels.libsvm": b"a 1:1\nb 1:2\n",
        "unknown.xlsx": junk,
        "nosuffix": good.encode(),
    }
    for name, content in contents.items():
        Path(name).write_bytes(content)
    np.save("cube.npy", np.zeros((2, 2, 2)))
    np.save("scalar.npy", np.float64(3))
    np.save("none.npy", np.zeros((0, 3)))
    np.save("complex.npy", rows * 1j)
    np.save("words.npy", np.array([["a", "b"]]))
    np.save("nan.npy", np.full((4, 2), np.nan))
    np.savez("several.npz", a=rows)
    os.rename("several.npz", "several.npy")
    strange = {"list.parquet": [[1, 2], [3]], "date.parquet": [datetime.date(2020, 1, 1)] * 2}
    for name, values in strange.items():
        pq.write_table(pa.table({"id": ["x", "y"], "v": values}), name)
    pq.write_table(pa.table({"id": pa.array([], pa.string())}), "norows.parquet")
    pq.write_table(pa.table({"v": pa.array([1, None, 3])}), "null.parquet")
    os.mkdir("folder.csv")
    os.symlink("loop.csv", "loop.csv")
    os.symlink("nowhere.csv", "dangling.csv")
    os.mkfifo("pipe.csv")
    os.mkfifo("pipe.npy")
    for suffix in ("csv", "npy", "parquet", "csv.gz", "libsvm"):
        os.symlink("/dev/zero", f"zero.{suffix}")
    os.symlink("/dev/null", "null.csv")
    arrays = ["cube", "scalar", "none", "complex", "words", "nan", "several", "zero"]
    links = ["folder.csv", "loop.csv", "dangling.csv", "pipe.csv", "pipe.npy", "null.csv"]
    links += ["zero.csv", "zero.parquet", "zero.csv.gz", "zero.libsvm", "absent.csv", "", "/", "\n"]
    tables = ["list.parquet", "date.parquet", "norows.parquet", "null.parquet"]
    return [*contents, *(f"{name}.npy" for name in arrays), *links, *tables]


def _known_files() -> list[str]:
    must = "p0,p3,must-link,1\np4,p7,must-link,1\np0,p1,cannot-link,1\np1,p2,cannot-link,2\n"
    contents = {
        "known.csv": "i,j,kind,weight\n" + must,
        "labels-known.csv": "i,j,kind,weight\np0,a,label,\np1,b,label,\np2,c,label,\n",
        "contradiction.csv": "i,j,kind\np0,p1,must-link\np0,p1,cannot-link\n",
        "unknown.csv": "i,j,kind\nzz,p1,must-link\n",
        "itself.csv": "i,j,kind\np1,p1,cannot-link\n",
        "kind.csv": "i,j,kind\np1,p2,perhaps\n",
        "weight.csv": "i,j,kind,weight\np1,p2,must-link,abc\n",
        "weights.csv": "i,j,kind,weight\np1,p2,must-link,-1\np2,p3,must-link,nan\n",
        "weight-huge.csv": "i,j,kind,weight\np1,p2,must-link,1e308\np2,p3,cannot-link,1e308\n",
        "columns.csv": "a,b\np1,p2\n",
        "pairs.csv": "p0,p3\np1,p4\n",
        "three.csv": "p0,p3,p5\n",
        "known.json": '[{"i": "p0", "j": "p3", "kind": "must-link"}]',
        "list.json": '{"i": 1}',
        "bad.json": '[{"i": "p0", ',
        "deep.json": "[" * 5000,
        "nested.json": '[{"i": ["p0"], "j": {"a": 1}, "kind": null}]',
        "number.json": '[{"i": 1e999, "j": NaN, "kind": "must-link", "weight": "x"}]',
        "null.json": "null",
        "positions.csv": "i,j,kind\n0,1,must-link\n2,99999999999999999999,must-link\n",
    }
    for name, text in contents.items():
        Path(name).write_text(text)
    return ["known.csv"] * 10 + ["labels-known.csv"] * 3 + list(contents)


def _models() -> list[str]:
    asked = Request("good.csv", method="rca", constraints="known.csv", truth="class")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs.run(Request("good.csv", k=3, truth="class")).save("kmeans.skops")
        runs.run(asked).save("rca.skops")
    content = Path("kmeans.skops").read_bytes()
    Path("cut.skops").write_bytes(content[:-30])
    Path("damaged.skops").write_bytes(content[:300] + b"\x00" * 50 + content[350:])
    Path("junk.skops").write_bytes(b"PK\x03\x04 and no more")
    np.savez("other.npz", a=[1])
    os.rename("other.npz", "other.skops")
    return (
        ["kmeans.skops"] * 3
        + ["rca.skops"] * 2
        + [*("cut.skops", "damaged.skops", "junk.skops", "other.skops", "good.csv", "absent.skops")]
    )


# --- cases ----------------------------------------------------------------------------------------


def make_case(seed: int, number: int, files: Files) -> Case:
    """Make the case of this number."""
    choose = random.Random(f"{seed}-{number}")
    makers = [(_parameters, 9), (_data, 6), (_options, 5), (_outputs, 2), (_others, 4)]
    maker = choose.choices([m for m, _ in makers], [w for _, w in makers])[0]
    case = maker(choose, files)
    if choose.random() < 0.15 and case.arguments:
        case.arguments.append(choose.choice(["--json", "--quiet", "--json"]))
    return case


def _base(choose: random.Random, table: str, method: catalog.Method | None = None) -> list[str]:
    """A command that would do, were it not for what is added."""
    method = method or choose.choice(catalog.methods())
    arguments = [method.kind.command, table, "-m", method.name]
    if method.size_parameter and (method.tags.needs_n_clusters or choose.random() < 0.7):
        size = "2" if method.kind.command == "select" else choose.choice(["2", "3"])
        arguments += [method.kind.option, size]
    if "class" not in _header(table):
        return arguments
    kinds = method.tags.knowledge
    if kinds and choose.random() < 0.9:
        labels = "labels" in kinds and ("must-link" not in kinds or choose.random() < 0.3)
        if labels:
            return [*arguments, "--label-column", "class"]
        arguments += ["-c", "known.csv"]
    return [*arguments, "--drop" if choose.random() < 0.5 else "--truth-column", "class"]


def _header(table: str) -> str:
    readable = table.endswith(".csv") and table.startswith(("good", "crlf", "mixed", "bom"))
    return Path(table).read_text(encoding="utf-8-sig").split("\n")[0] if readable else ""


def is_refused(type_text: str, value: str) -> bool:
    """Whether the type line of the docs rules a value out; judged by its text alone."""
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
    if choose.random() < 0.2:
        case.arguments.append("--standardize")
    if choose.random() < 0.2:
        case.arguments += ["-c", choose.choice(files.known)]
    if not strange and choose.random() < 0.1:
        other = ["check", table, "-c", "known.csv"], ["evaluate", table, "--truth", "good.csv"]
        case.arguments = choose.choice(other)
        case.arguments += ["--label-column", "class"] if case.arguments[0] == "evaluate" else []
    return case


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


def _others(choose: random.Random, files: Files) -> Case:
    """The commands that are not about one method."""
    words = ["", "abc", "-1", "0", "1", "3", "2.5", "nan", "inf", "1e308", "1e9", str(10**30)]
    tables = [*files.tables, *files.damaged]
    command = choose.choice(["predict", "map", "sample", "evaluate", "check", "ask", "methods"])
    table = choose.choice(tables) if choose.random() < 0.4 else "good.csv"
    if command == "predict":
        return Case(["predict", choose.choice(files.models), table])
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
    answers = choose.choice([f"{choose.random()}.jsonl", "good.csv", "pipe.csv", "loop.csv", ""])
    typed = [choose.choice(["s", "d", "k", "u", "h", "s p0 p1", "d 'p", "\x00", "", "x y z"])] * 5
    arguments = ["ask", table, "-k", choose.choice(["3", "2", *words]), "--answers", answers]
    arguments += ["--strategy", choose.choice(strategies), "--budget", choose.choice(["3", *words])]
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
