"""Good, strange and damaged files for the command lines of ``fuzz.py``."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import os
import random
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sidelight import jobs
from sidelight.jobs import ClassifyRequest, ClusterRequest, EmbedRequest


@dataclass
class Files:
    """Names of files in the current folder, by what they are good for."""

    tables: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    related: list[str] = field(default_factory=list)


def make_files() -> Files:
    """Fill the current folder with good, strange and damaged files."""
    noise = np.random.RandomState(0)
    files = Files()
    rows = np.vstack([noise.normal(4 * c, 1, (8, 3)) for c in range(3)])
    good = _csv(["id", "a", "b", "c", "class"], rows, "abc")
    Path("good.csv").write_text(good)
    np.save("good.npy", rows)
    for name, classes in LABELED.items():
        lines = [line.rpartition(",")[0] for line in good.splitlines()[1:]]
        column = [classes[i % len(classes)] for i in range(len(lines))]
        joined = [f"{line},{value}" for line, value in zip(lines, column, strict=True)]
        Path(name).write_text("\n".join(["id,a,b,c,class", *joined, ""]))
    Path("anchors.csv").write_text("id,u,v\np0,0,0\np9,1,2\np17,3,1\n")
    files.related = _related_files()
    subjects = {"a": "red wine vine", "b": "ship sail mast", "c": "jazz drum club"}
    texts = [f"p{i},{subjects['abc'[i % 3]]} word{i % 4},{'abc'[i % 3]}" for i in range(30)]
    Path("documents.csv").write_text("\n".join(["id,text,class", *texts, ""]))
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
    for name, columns in MIXED.items():
        strange[name] = _written(columns, ";" if name == "customers-german.csv" else ",")
    for name, text in strange.items():
        Path(name).write_text(text, newline="")
        files.tables.append(name)
    files.tables += LABELED
    pq.write_table(_arrow_table(), "customers.parquet")
    files.tables += ["customers.csv"] * 4 + ["customers.parquet"]
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


def _related_files() -> list[str]:
    """Scored pairs, edges, partitions and lists of pairs about the rows p0 to p23, good and bad."""
    chance = random.Random(1)
    pairs = sorted({tuple(sorted(chance.sample(range(24), 2))) for _ in range(60)})
    scored = [f"p{i},p{j},{chance.gauss(0, 2):.3f}" for i, j in pairs]
    path = [f"p{i},p{i + 1}" for i in range(23)]
    written = {
        "scored.csv": "\n".join(["i,j,score", *scored]),
        "graph.csv": "\n".join(["from,to", *path]),
        "votes.csv": "id,u,v,w\n" + "".join(f"p{i},{i % 3},{i // 8},x{i % 2}\n" for i in range(24)),
        "doubtful.csv": "i,j,similarity,attribute,relational,reason\np0,p1,0.5,0.5,0,why\n",
        "splink.csv": "unique_id_l,unique_id_r,match_probability\np0,p1,0.9\np1,p2,0.01\n",
        "self.csv": "i,j,score\np0,p0,-1\n",
        "both-signs.csv": "i,j,score\np0,p1,1\np1,p0,-1\n",
        "beyond.csv": "i,j,probability\np0,p1,1.5\n",
        "not-finite.csv": "i,j,score\np0,p1,inf\np1,p2,nan\n",
        "huge-scores.csv": "i,j,score\np0,p1,1e308\np1,p2,1e308\np0,p2,-1e308\n",
        "no-scores.csv": "i,j,score\np0,p1,\n",
        "strangers.csv": "i,j,score\np0,nobody,1\n",
        "pieces.csv": "i,j\np0,p1\np5,p6\n",
        "no-ids.csv": "a,b,c\n1,2,3\n",
        "only-header.csv": "i,j,score\n",
        "members.csv": "object,hyperedge\np0,h1\np1,h1\n",
    }
    for name, text in written.items():
        Path(name).write_text(text)
    return [*written]


def customers(n_rows: int = 40) -> dict[str, list[object]]:
    """Columns of a mixed table, as text; the ids are those of the other files."""
    chance = random.Random(0)
    days = [datetime.date(2019, 1, 1) + datetime.timedelta(37 * i) for i in range(n_rows)]
    words = ["late delivery again", "very good service today", "the box was broken", ""]
    return {
        "id": [f"p{i}" for i in range(n_rows)],
        "country": [chance.choice(["DE", "FR", "IT", ""]) for _ in range(n_rows)],
        "joined": [str(day) if i % 7 else "" for i, day in enumerate(days)],
        "income": [f"{chance.lognormvariate(10, 1):.2f}" if i % 5 else "" for i in range(n_rows)],
        "member": [chance.choice(["yes", "no"]) for _ in range(n_rows)],
        "rating": [chance.choice(["low", "medium", "high"]) for _ in range(n_rows)],
        "comment": [f"{chance.choice(words)} {i}" for i in range(n_rows)],
        "always": ["x"] * n_rows,
        "class": [chance.choice("abc") for _ in range(n_rows)],
    }


def _written(columns: dict[str, list[object]], mark: str = ",") -> str:
    rows = io.StringIO()
    writer = csv.writer(rows, delimiter=mark, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return rows.getvalue()


def _mixed_tables() -> dict[str, dict[str, list[object]]]:
    """Columns of tables as people have them, and of stranger ones."""
    mixed = customers()
    n_rows = len(mixed["id"])
    german = mixed | {
        "joined": [".".join(reversed(str(day).split("-"))) for day in mixed["joined"]],
        "income": [str(value).replace(".", ",") for value in mixed["income"]],
    }
    weird = {
        name: mixed[column]
        for name, column in {
            "id": "id",
            "a=b": "income",
            "p,q": "country",
            "[bold]z[/]": "member",
            "über 3\n4": "rating",
            'say "q"': "joined",
            "--drop": "income",
            " 9": "comment",
            "w" * 300: "country",
            "class": "class",
        }.items()
    }
    return {
        "customers.csv": mixed,
        "customers-german.csv": german,
        "customers-few.csv": customers(3),
        "customers-accents.csv": mixed | {"country": ["Côte"] * 20 + ["Île"] * 20},
        "weird-names.csv": weird,
        "unnamed.csv": {"": mixed["id"], "a": mixed["income"], " ": mixed["country"]},
        "texts-only.csv": {"country": mixed["country"], "rating": mixed["rating"]},
        "comments-only.csv": {"comment": mixed["comment"]},
        "dates-only.csv": {"joined": mixed["joined"]},
        "times.csv": {"at": [f"{i % 24:02d}:{i % 60:02d}" for i in range(n_rows)]},
        "gaps-only.csv": {"a": [""] * n_rows, "b": ["n/a", "?"] * (n_rows // 2)},
        "mostly-gaps.csv": {"a": ["1", *[""] * 39], "b": ["red", "blue", *[""] * 38]},
        "ids-twice.csv": mixed | {"id": ["p1", *mixed["id"][1:]]},
        "customers-twice.csv": {"customer_id": ["p1"] * 3, "a": [1, 2, 4]},
        "unreadable.csv": {"a": [*(i * i % 89 for i in range(99)), "soon"], "b": [1, 2, 5, 9] * 25},
        "years.csv": {"d": ["0001-01-01", "9999-12-31", "2020-02-30", "2020-02-28"] * 5},
        "infinite-text.csv": {"a": ["1", "inf", "-inf", "nan"] * 5, "b": [*range(20)]},
        "huge-text.csv": {"a": ["1e308", "-1e308", "1,5"] * 5, "b": [*range(15)]},
    }


#: Mixed tables in CSV, and their columns.
MIXED = _mixed_tables()


#: Tables whose last column labels some of the rows, in words that repeat.
LABELED = {
    "half.csv": ("a", "", "b", "", "c", "", "a"),
    "half-two.csv": ("a", "", "b", "", ""),
    "half-numbers.csv": ("1", "-1", "2", "", "3"),
    "half-signs.csv": ("1", "-1", ""),
    "half-one.csv": ("a", "", ""),
    "half-none.csv": ("",),
    "half-single.csv": ("a", *[""] * 20, "b", "", ""),
    "half-strange.csv": ("nan", "a", "", "None", "<NA>", "b", "é", "[bold]", "=1+1", ""),
    "half-many.csv": (*(f"c{i}" for i in range(12)), *[""] * 12),
    "half-floats.csv": ("0.5", "1.5", "", "2"),
}


def _arrow_table() -> pa.Table:
    """Columns of types that only Arrow has."""
    n_rows = 24
    at = [datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=9 * i) for i in range(n_rows)]
    return pa.table(
        {
            "id": [f"p{i}" for i in range(n_rows)],
            "at": pa.array(at, pa.timestamp("us", tz="UTC")),
            "day": [moment.date() for moment in at],
            "time": [moment.time() for moment in at],
            "took": [datetime.timedelta(minutes=i * i) for i in range(n_rows)],
            "price": pa.array([None, *range(1, n_rows)], pa.decimal128(9, 2)),
            "kind": pa.array([*"abc" * 8], pa.string()).dictionary_encode(),
            "raw": [bytes([i % 3]) for i in range(n_rows)],
            "flag": [None if i % 5 == 0 else i % 2 == 0 for i in range(n_rows)],
            "list": [[i] for i in range(n_rows)],
            "none": pa.nulls(n_rows),
            "small": pa.array([i % 7 for i in range(n_rows)], pa.uint8()),
            "large": pa.array([2**63 + i for i in range(n_rows)], pa.uint64()),
            "class": [*"abc" * 8],
        }
    )


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
        "mixed-ragged.csv": b"a,b\nred,2020-01-01\nblue\n",
        "mixed-quote.csv": b'id,note\np0,"it is\np1,fine\np2,\n',
        "mixed-nul.csv": b"id,a\np0,x\x00y\np1,z\n",
        "mixed-bytes.csv": b"id,a\np0,\xff\xfe\np1,\x81\np2,caf\xe9\n",
        "mixed-cut.csv": _written(customers()).encode()[:-30],
        "mixed-junk.csv": b"id,note\n" + b"p0," + junk.replace(b"\n", b"") + b"\np1,x\n",
        "same.csv": b"id,a,b\n" + b"".join(b"p%d,x,2020-01-01\n" % i for i in range(9)),
        "no-column.csv": b"id\np0\np1\np2\n",
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
    strange = {
        "list.parquet": [[1, 2], [3]],
        "date.parquet": [datetime.date(2020, 1, 1)] * 2,
        "record.parquet": [{"a": 1}, {"a": 2}],
        "infinite.parquet": [float("inf"), 1.0],
        "nul.parquet": ["a\x00b", ""],
    }
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
    tables = [*strange, "norows.parquet", "null.parquet"]
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
    asked = EmbedRequest("good.csv", method="rca", constraints="known.csv", truth="class", raw=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jobs.run(ClusterRequest("good.csv", k=3, truth="class", raw=True)).save("kmeans.skops")
        jobs.run(asked).save("rca.skops")
        mixed = ClusterRequest("customers.csv", k=3, truth="class")
        jobs.run(mixed).save("mixed.skops")
        flat = EmbedRequest("customers.csv", k=2, method="constrained-pca", truth="class")
        jobs.run(flat).save("map.skops")
        classes = ClassifyRequest("half.csv", labels="class", raw=True)
        for method in ("harmonic", "tsvm"):
            jobs.run(replace(classes, method=method)).save(f"{method}.skops")
    content = Path("kmeans.skops").read_bytes()
    Path("cut.skops").write_bytes(content[:-30])
    Path("damaged.skops").write_bytes(content[:300] + b"\x00" * 50 + content[350:])
    Path("junk.skops").write_bytes(b"PK\x03\x04 and no more")
    np.savez("other.npz", a=[1])
    os.rename("other.npz", "other.skops")
    return (
        ["kmeans.skops"] * 3
        + ["rca.skops", "map.skops"] * 2
        + ["mixed.skops"] * 4
        + ["harmonic.skops", "tsvm.skops"] * 2
        + [*("cut.skops", "damaged.skops", "junk.skops", "other.skops", "good.csv", "absent.skops")]
    )


def header(table: str) -> str:
    """First line of a table that can be read; nothing for the others."""
    names = ("good", "crlf", "mixed.", "bom", "customers.", "half")
    readable = table.endswith(".csv") and table.startswith(names)
    return Path(table).read_text(encoding="utf-8-sig").split("\n")[0] if readable else ""
