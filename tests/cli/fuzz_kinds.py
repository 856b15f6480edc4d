"""Random command lines about data that is more than one table of rows, for ``fuzz.py``.

Graphs, documents, known splits, tables with two sides, tables to publish.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

from tests.cli.fuzz_case import Case
from tests.cli.fuzz_files import MIXED, Files, header

from sidelight import catalog

#: Commands whose data is a graph, or has one beside it.
RELATED = ("correlate", "consensus", "regions", "resolve")


def related_base(choose: random.Random, method: catalog.Method, table: str) -> list[str]:
    """A command about a graph that would do; such methods have data of their own."""
    command = method.kind.command
    own = {"correlate": "scored.csv", "consensus": "votes.csv"}
    if table == "good.csv":
        table = own.get(command, table)
    arguments = [command, table, "-m", method.name]
    if command == "regions":
        edges = "graph.csv" if choose.random() < 0.8 else "pieces.csv"
        arguments += ["--edges", edges, "-k", choose.choice(["2", "3"])]
    if "class" in header(table) and command != "correlate":
        arguments += ["--truth-column", "class"]
    if "must-link" in method.tags.knowledge and choose.random() < 0.3:
        arguments += ["-c", "known.csv"]
    return arguments


def related(choose: random.Random, files: Files) -> Case:
    """Graphs of all kinds, with options that fit and that do not."""
    methods = [m for m in catalog.methods() if m.kind.command in RELATED]
    method = choose.choice(methods)
    tables = [*files.related, *files.tables, *files.damaged, *MIXED]
    table = "good.csv" if choose.random() < 0.7 else choose.choice(tables)
    arguments = related_base(choose, method, table)
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
            ("--relational-share", choose.choice(words)),
            ("--doubtful", choose.choice(["d.csv", "d.npy", "good.csv", ""])),
        ],
    }[method.kind.command]
    others += [
        ("-c", choose.choice([*files.known, *files.damaged])),
        ("--seed", choose.choice(["1", "-1", "abc"])),
        ("-o", choose.choice(["out.csv", "out.parquet", "good.csv", "scored.csv"]), "--force"),
        ("--report", "out.html", "--force"),
    ]
    for other in choose.sample(others, choose.choice([0, 1, 1, 2])):
        arguments += other
    return Case(arguments)


def documents_base(table: str, choose: random.Random) -> list[str]:
    """A command about documents that would do; numbers are texts, too."""
    table = "documents.csv" if table == "good.csv" and choose.random() < 0.8 else table
    text = "text" if table == "documents.csv" else choose.choice(["a", "b", "a,b", "class", "x0"])
    return ["categorize", table, "--text-column", text, "--label-column", "class"]


def documents(choose: random.Random, files: Files) -> Case:
    """Categories of documents with strange options and tables."""
    table = choose.choice(["good.csv", choose.choice([*files.tables, *files.damaged])])
    case = Case(documents_base(table, choose))
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


def alternatives(choose: random.Random, files: Files) -> Case:
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
        ("--number", choose.choice(["1", "1", "2", "3", "0", "-1", "abc", "2.5"])),
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


def two_sided_base(choose: random.Random, method: catalog.Method, table: str) -> list[str]:
    """A command about zeros and ones that would do; numbers have to become such."""
    arguments = ["cocluster", table, "-m", method.name, "-k", choose.choice(["2", "3"])]
    if "class" not in header(table):
        return arguments
    arguments += ["--above", choose.choice(["0.3", "0.6"])]
    if "must-link" in method.tags.knowledge and choose.random() < 0.3:
        arguments += ["-c", "known.csv"]
    return [*arguments, "--drop" if choose.random() < 0.5 else "--truth-column", "class"]


def two_sides(choose: random.Random, files: Files) -> Case:
    """Tables with two sides of all kinds, with options that fit and that do not."""
    table = _write_sales() if choose.random() < 0.7 else choose.choice(files.tables + files.damaged)
    arguments = two_sided_base(choose, choose.choice(catalog.methods(kind="coclusterer")), table)
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


def roles(table: str) -> list[str]:
    """Names of columns of a table, or of one that is often there."""
    names = [name for name in re.split("[,;]", header(table)) if name] or ["a", "b"]
    return [names[-1], ",".join(names[1:3]), ",".join(names[-2:]), "a,b"]


def published(choose: random.Random, files: Files) -> Case:
    """Tables to publish, and published ones, with roles that fit and that do not."""
    table = choose.choice(["good.csv", *MIXED, choose.choice([*files.tables, *files.damaged])])
    words = ["", "abc", "-1", "0", "1", "2", "3", "5", "0.5", "nan", "1e9", str(10**30), "é,,"]
    columns = [*roles(table), "id", "class", "zz", ",", "a,a", "", "=", "a b"]
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
            "--recursive-c",
            choose.choice(words),
        ),
    ]
    checks = choose.random() < 0.25
    arguments = ["anonymize", table, "--quasi", choose.choice(columns)]
    arguments += ["--check"] if checks else []
    if not checks:
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
