"""Comparing and blocking of names beside recordlinkage, py_stringmatching and plain loops.

Names of people, a third of them with initials only and a tenth with two letters swapped, several
for each of the entities.

- Jaro-Winkler: the same pairs; ``difference`` is the largest between the two sides. recordlinkage
  compares with jellyfish; its Jaro-Winkler is the same formula.
- Soft TF-IDF: the same pairs, names without initials (which only ours knows), in one direction
  from a loop over pairs with rapidfuzz, the formula of the paper word by word; and, where it can be
  imported, with py_stringmatching, whose weights are other ones.
- Blocking: pairs with the same last word; pairs whose last words are at most 5 different ones apart
  in sorted order. Both sides keep the same pairs.
- Large: seconds and megabytes of a whole fit of ``AttributeResolution`` with its default keys, and
  the share of the true pairs that the keys keep.
"""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.harness import Row, clock, compare, most_memory
from rapidfuzz.distance import JaroWinkler

from sidelight.relational import AttributeResolution, RelationalResolution
from sidelight.relational.resolution._blocking import candidate_pairs
from sidelight.relational.resolution._references import References, read_table
from sidelight.relational.resolution._similarities import ColumnComparison, Scorer

SYLLABLES = "an ber chi dor el fan gor hu il jo ka li mo nu or pa qui ro sa ti ul vo wa xi yo za"


def run(quick: bool) -> list[Row]:
    rows = []
    if find_spec("recordlinkage") is None:
        print("recordlinkage is not installed and left out.")
    else:
        rows += [_jaro_winkler(2_000 if quick else 100_000)]
        rows += _blocking(2_000 if quick else 100_000)
    rows += _soft_tfidf(500 if quick else 20_000)
    for name in ("AttributeResolution", "RelationalResolution"):
        for n in (5_000,) if quick else (10_000, 100_000, 1_000_000):
            rows.append(_whole_fit(n, name))
    return rows


def make_names(n: int, seed: int = 0, *, initials: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Names of references, and their entities: three references for each on average."""
    rng = np.random.default_rng(seed)
    syllables = np.array(SYLLABLES.split())

    def words(number: int, length: int) -> np.ndarray:
        return np.array(["".join(word) for word in rng.choice(syllables, (number, length))])

    first, last = words(3_000, 2), words(max(n // 3, 10), 4)
    n_entities = max(n // 3, 2)
    of_first = first[rng.integers(len(first), size=n_entities)]
    of_last = last[rng.integers(len(last), size=n_entities)]
    truth = rng.integers(n_entities, size=n)
    short = rng.random(n) < (1 / 3 if initials else 0.0)
    swapped = rng.random(n) < 0.1
    names = []
    for entity, initial, swap in zip(truth, short, swapped, strict=True):
        one, two = of_first[entity], of_last[entity]
        two = two[:-2] + two[-1] + two[-2] if swap else two
        names.append(f"{one[0]}. {two}" if initial else f"{one} {two}")
    return np.array(names, dtype=object), truth


def _prepared(names: np.ndarray, kind: str) -> tuple[References, Scorer]:
    references = read_table({"name": names})
    return references, Scorer(references, {"name": ColumnComparison(kind)})


def _near(names: np.ndarray, kind: str) -> tuple[Scorer, np.ndarray]:
    """Pairs that sorted neighborhood keeps, and what compares them."""
    references, scorer = _prepared(names, kind)
    pairs, _ = candidate_pairs(("name:lastnear5",), references, scorer, least=0.5, X=None)
    return scorer, pairs


def _jaro_winkler(n: int) -> Row:
    import recordlinkage

    names, _ = make_names(n)
    names = np.char.replace(names.astype(str), ".", "").astype(object)  # as our normal form has it
    _, pairs = _near(names, "text")
    frame = pd.DataFrame({"name": names})
    index = pd.MultiIndex.from_arrays(pairs.T)
    theirs = recordlinkage.Compare()
    theirs.string("name", "name", method="jarowinkler")

    def ours() -> np.ndarray:
        return _prepared(names, "text")[1].score(pairs)[:, 0]

    found = theirs.compute(index, frame)[0].to_numpy()
    return compare(
        f"Jaro-Winkler, {len(pairs):,} pairs of {n:,} names",
        ours,
        lambda: theirs.compute(index, frame),
        peer="recordlinkage",
        limit=1.0,
        difference=float(np.abs(ours() - found).max()),
    )


def _blocking(n: int) -> list[Row]:
    import recordlinkage

    names, _ = make_names(n)
    last = [name.split()[-1] for name in names]
    frame = pd.DataFrame({"name": names, "last": last})
    same = recordlinkage.Index()
    same.block("last")
    near = recordlinkage.Index()
    near.sortedneighbourhood("last", window=11)
    rows = []
    for case, key, theirs in (
        ("same last word", "last", same),
        ("5 different values apart", "last:near5", near),
    ):

        def ours(key: str = key) -> np.ndarray:
            references = read_table({"last": frame["last"]})
            scorer = Scorer(references, {"last": ColumnComparison("text")})
            return candidate_pairs((key,), references, scorer, least=0.5, X=None)[0]

        row = compare(
            f"blocking, {case}, {n:,} names",
            ours,
            lambda theirs=theirs: theirs.index(frame),
            peer="recordlinkage",
            pairs=len(ours()),
        )
        row["their pairs"] = len(theirs.index(frame))
        rows.append(row)
    return rows


def _soft_tfidf(n: int) -> list[Row]:
    names, _ = make_names(n, initials=False)
    _, pairs = _near(names, "name")

    def ours() -> np.ndarray:
        return _prepared(names, "name")[1].score(pairs)[:, 0]

    def loop() -> np.ndarray:
        return _soft_by_loop(names, pairs)

    case = f"soft TF-IDF, {len(pairs):,} pairs of {n:,} names"
    difference = float(np.abs(ours() - loop()).max())
    rows = [compare(case, ours, loop, peer="a loop with rapidfuzz", difference=difference)]
    try:
        import py_stringmatching as sm
    except ImportError:
        print("py_stringmatching cannot be imported (it needs NumPy 1) and is left out.")
        return rows
    corpus = [name.split() for name in names]
    theirs = sm.SoftTfIdf(corpus, sim_func=sm.JaroWinkler().get_raw_score, threshold=0.9)
    some = pairs[: max(len(pairs) // 100, 100)].tolist()  # its seconds grow with the corpus
    seconds = clock(lambda: [theirs.get_raw_score(corpus[i], corpus[j]) for i, j in some])
    row: Row = {"case": case, "peer": "py_stringmatching", "ours": clock(ours)}
    row["theirs"] = seconds / len(some) * len(pairs)
    row["ratio"] = row["ours"] / row["theirs"]
    return [*rows, row | {"note": f"theirs by {len(some):,} of the pairs"}]


def _soft_by_loop(names: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Mean of both directions, as the paper has it, with rapidfuzz for each pair of words."""
    split = [name.split() for name in names]
    df: dict[str, int] = {}
    for words in split:
        for word in set(words):
            df[word] = df.get(word, 0) + 1
    weights = []
    for words in split:
        raw = {word: math.log(2) * math.log(len(names) / df[word]) for word in words}
        length = math.sqrt(sum(value**2 for value in raw.values()))
        weights.append({word: value / length for word, value in raw.items()})

    def directed(S: dict[str, float], T: dict[str, float]) -> float:
        total = 0.0
        for word, weight in S.items():
            best, match = max((JaroWinkler.similarity(word, other), T[other]) for other in T)
            total += weight * match * best if best > 0.9 else 0.0
        return total

    found = [
        (directed(weights[i], weights[j]) + directed(weights[j], weights[i])) / 2
        for i, j in pairs.tolist()
    ]
    return np.minimum(found, 1.0)


def _whole_fit(n: int, name: str) -> Row:
    """Measure in a new process, whose peak memory is that of this fit."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        seconds, memory, pairs, kept = process.submit(_measured, n, name).result()
    return {
        "case": f"{name}, fit to {n:,} names",
        "seconds": seconds,
        "MB beyond the names": memory,
        "pairs": pairs,
        "true pairs kept": kept,
    }


def _measured(n: int, name: str) -> tuple[float, float, int, float]:
    models: dict[str, Any] = {
        "AttributeResolution": AttributeResolution,
        "RelationalResolution": RelationalResolution,
    }
    few, _ = make_names(3_000)
    models[name]().fit({"name": few}, relations=np.arange(3_000) // 3)  # compiles what it needs
    names, truth = make_names(n)
    papers = np.arange(n) // 3
    before = most_memory()
    model = models[name]()
    seconds = clock(lambda: model.fit({"name": names}, relations=papers))
    report = model.blocking_
    return seconds, most_memory() - before, report.n_pairs, report.completeness(truth)
