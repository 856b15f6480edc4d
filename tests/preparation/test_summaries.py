"""What is known of blocks: exact up to a limit, within a stated error beyond it."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sidelight.io.inner import SpellingTally, read_dates, read_numbers
from sidelight.preparation.streams import _forest, _levels, _quantiles
from sidelight.preparation.streams._forest import Segment, summarize
from sidelight.preparation.streams._levels import LevelCounts, hashes_of
from sidelight.preparation.streams._moments import NumberMoments
from sidelight.preparation.streams._quantiles import Quantiles

N = 300_000
ORDERS: dict[str, Callable[[Any], Any]] = {
    "drawn": lambda rng: rng.normal(size=N),
    "ascending": lambda rng: np.sort(rng.normal(size=N)),
    "descending": lambda rng: np.sort(rng.normal(size=N))[::-1],
    "outside in": lambda rng: np.sort(rng.normal(size=N))[np.argsort(np.arange(N) % (N // 2))],
    "equal blocks": lambda rng: np.repeat(rng.normal(size=N // 1000), 1000),
    "half equal": lambda rng: np.where(rng.random(N) < 0.5, 7.0, rng.normal(size=N)),
    "heavy tail": lambda rng: rng.standard_cauchy(N) ** 3,
    "gaps": lambda rng: np.where(rng.random(N) < 0.3, np.nan, rng.exponential(size=N)),
}


def rank_error(values: Any, found: float, share: float) -> float:
    """How far the ranks of a value are from the rank that is asked for."""
    ordered = np.sort(values[~np.isnan(values)])
    first, last = np.searchsorted(ordered, found, "left"), np.searchsorted(ordered, found, "right")
    wanted = share * (len(ordered) - 1)
    return max(0.0, first - 1 - wanted, wanted - last) / len(ordered)


@pytest.mark.parametrize("order", ORDERS)
def test_quantiles_are_within_their_error_in_any_order(order: str) -> None:
    values = np.ascontiguousarray(ORDERS[order](np.random.default_rng(0)))
    found = summarize(lambda rows: Quantiles.of(values[rows]), N)
    assert len(found.values) <= _quantiles.MAX_VALUES
    assert found.weights.sum() == np.count_nonzero(~np.isnan(values))
    bound = (3 + 0.5 * np.log2(N / _quantiles.MAX_VALUES)) / (2 * _quantiles.KEPT)
    shares = np.linspace(0.0, 1.0, 101).tolist()
    errors = [
        rank_error(values, at, share) for at, share in zip(found.at(shares), shares, strict=True)
    ]
    assert max(errors) <= bound


def test_quantiles_of_few_values_are_exact_however_many_rows() -> None:
    values = np.random.default_rng(1).integers(0, 1000, N).astype(float)
    found = summarize(lambda rows: Quantiles.of(values[rows]), N)
    shares = np.linspace(0, 1, 37)
    assert found.is_exact
    assert found.at(shares.tolist()) == np.quantile(values, shares).tolist()


@settings(max_examples=50, deadline=None)
@given(values=st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=40), data=st.data())
def test_quantiles_of_few_rows_are_those_of_numpy(values: list[float], data: Any) -> None:
    cut = data.draw(st.integers(0, len(values)))
    whole = np.array(values)
    found = Quantiles.of(whole[:cut]).join(Quantiles.of(whole[cut:]))
    shares = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0]
    np.testing.assert_array_equal(found.at(shares), np.quantile(whole, shares))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 99), n=st.integers(1, 300), offset=st.sampled_from([0.0, 1e12, -1e15]))
def test_moments_lose_no_digits_far_from_zero(seed: int, n: int, offset: float) -> None:
    rng = np.random.default_rng(seed)
    values = offset + rng.integers(-1000, 1000, n) / 8.0
    places = np.sort(rng.integers(0, n, 3))
    found = NumberMoments()
    for piece in np.split(values, places):
        found = found.join(NumberMoments.of(piece))
    apart = values - offset  # exact
    assert (found.n, found.low, found.high) == (n, values.min(), values.max())
    np.testing.assert_allclose(found.mean - offset, apart.mean(), atol=1e-15 * abs(offset) + 1e-12)
    # The means of the pieces are rounded to the digits of the offset.
    np.testing.assert_allclose(found.deviation, apart.std(), atol=2e-15 * abs(offset) + 1e-12)


def text_counts(values: Any) -> LevelCounts:
    column = pa.array(values)
    return summarize(lambda rows: LevelCounts.of(column[rows]), len(column))


def test_levels_up_to_the_limit_are_counted_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_forest, "BLOCK_ROWS", 8)
    values = np.random.default_rng(0).choice(["b", "a", "c", "zz", ""], 100).tolist()
    found = text_counts([*values, None])
    expected = Counter(values)
    assert dict(zip(found.values.to_pylist(), found.counts.tolist(), strict=True)) == expected
    assert found.values.to_pylist() == list(dict.fromkeys(values))
    assert (found.n_rows, found.lost, found.n_different) == (101, 0, 5)


@pytest.mark.parametrize("arrange", ["drawn", "sorted", "frequent last"])
def test_frequent_levels_of_very_many_are_within_their_error(
    arrange: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_levels, "MAX_LEVELS", 500)
    rng = np.random.default_rng(0)
    frequent = np.repeat([f"f{i}" for i in range(20)], 1000 * np.arange(1, 21))
    rare = np.array([f"r{i}" for i in range(40_000)])
    values = np.concatenate([rare, frequent, np.repeat("NA", 3)])
    if arrange == "drawn":
        values = rng.permutation(values)
    if arrange == "sorted":
        values = np.sort(values)
    found = text_counts(values)
    counts = dict(zip(found.values.to_pylist(), found.counts.tolist(), strict=True))
    assert 0 < found.lost <= len(values) / 500
    for level, count in Counter(values.tolist()).items():
        assert count - found.lost <= counts.get(level, 0) <= count
    assert counts["NA"] == 3  # gaps are counted exactly
    n_different = 40_021
    assert abs(found.n_different - n_different) < 4 * n_different / np.sqrt(_levels.HASHES)


def test_hashes_of_texts_depend_on_the_texts_alone() -> None:
    words = [f"cust-{i}" for i in range(50_000)] + ["", "ä", "a" * 200]
    hashes = hashes_of(pa.array(words))
    assert len(np.unique(hashes)) == len(words)
    assert abs((hashes >> np.uint64(63)).mean() - 0.5) < 0.01
    some = pa.array(["before", *words[7:90]], pa.large_string()).slice(1)
    np.testing.assert_array_equal(hashes_of(some), hashes[7:90])


TEXTS = st.one_of(
    st.from_regex(r"\A-?[0-9]{1,4}([.,][0-9]{1,3}){0,2}( €)?\Z"),
    st.from_regex(r"\A[0-3]?[0-9][./-][0-3]?[0-9][./-](19|20)?[0-9]{2}\Z"),
    st.from_regex(r"\A(19|20)[0-9]{2}-[01][0-9]-[0-3][0-9]( [0-2][0-9]:[0-5][0-9](\+02:00)?)?\Z"),
    st.from_regex(r"\A[0-2]?[0-9]:[0-5][0-9]( pm)?\Z"),
    st.sampled_from(["NA", "", "n/a", "soon", "007", "a much longer text than any date or number"]),
    st.none(),
)


@settings(max_examples=150, deadline=None)
@given(
    kinds=st.lists(TEXTS, min_size=1, max_size=4),
    data=st.data(),
)
@example(kinds=["01/02/2020", "2020-01-30"], data=None)
def test_a_tally_reads_texts_as_the_whole_column(kinds: list[str | None], data: Any) -> None:
    texts, cut = kinds * 60, 7
    if data is not None:
        texts = [
            value
            for value in kinds
            for _ in range(data.draw(st.sampled_from([1, 2, 60, 200]), label="rows"))
        ]
        cut = data.draw(st.integers(0, len(texts)))
    pieces = [
        pa.chunked_array([pa.array(some, pa.string())]) for some in (texts[:cut], texts[cut:])
    ]
    tally = SpellingTally.of(pieces[0]).join(SpellingTally.of(pieces[1]))
    whole = pa.chunked_array([pa.array(texts, pa.string())])
    numbers, read = tally.numbers(), read_numbers(whole)
    assert (numbers and numbers[1:]) == (read and (read.convention, read.note))
    dates, days = tally.dates(), read_dates(whole)
    assert (dates and tuple(dates)) == (days and (days.kind, days.format, days.note))
    if days is not None:  # pieces are read as the whole is
        some = read_dates(pieces[1], format=days.format, kind=days.kind)
        assert some is not None
        np.testing.assert_array_equal(some.seconds, days.seconds[cut:])
    if read is not None:
        part = read_numbers(pieces[1], convention=read.convention, some=True)
        assert part is not None
        np.testing.assert_array_equal(part.values, read.values[cut:])


class Joined(tuple[Any, ...]):
    """Which rows were joined, and in which order."""

    def join(self, other: Joined) -> Joined:
        return Joined((self, other))


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 120), data=st.data())
def test_the_tree_does_not_depend_on_the_cut(n: int, data: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_forest, "BLOCK_ROWS", 4)
        table = pa.table({"row": np.arange(n)})
        cuts = data.draw(st.lists(st.integers(0, n), max_size=6))
        ends = [0, *sorted(cuts), n]
        segments = []
        for start, stop in itertools.pairwise(ends):
            segment = Segment(start, rows_of_block)
            for batch in table.slice(start, stop - start).to_batches(max_chunksize=3):
                segment.add(batch)
            segments.append(pickle.loads(pickle.dumps(segment)))
        whole = Segment(0, rows_of_block)
        for segment in segments:
            whole.join(segment)
        blocks = [Joined(range(a, min(a + 4, n))) for a in range(0, n, 4)]
        assert whole.stop == n
        assert whole.result() == tree(blocks)


def rows_of_block(table: pa.Table, start: int) -> Joined:
    assert table.column("row")[0].as_py() == start
    return Joined(table.column("row").to_pylist())


def tree(blocks: list[Joined]) -> Joined:
    """The largest power of two of blocks on the left, the others likewise on the right."""
    if len(blocks) == 1:
        return blocks[0]
    half = 2 ** ((len(blocks) - 1).bit_length() - 1)
    return tree(blocks[:half]).join(tree(blocks[half:]))
