"""Tables of very many columns: read as others are, in few steps, and told of in few words."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sidelight.exceptions import SidelightError
from sidelight.io import read_table
from sidelight.io.formats import _csv
from sidelight.jobs import ClusterRequest, prepare


def write_columns(path: Path, columns: dict[str, list[str]]) -> Path:
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("odd", [{"flag": ["", "true", "False"]}, {"spaced": ["1", " 2 ", "1e3"]}])
def test_many_columns_are_read_as_few_are(
    odd: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_columns(
        tmp_path / "t.csv",
        {
            "name": ["ann", "bob", "cy"],
            "late": ["", "", "2.5"],
            **odd,
            "excel": ["#N/A", "1", "2"],
            "whole": ["1", "2", "2"],
            "quoted": ['"1.5"', '"2"', "3"],
        },
    )
    few = read_table(file, allow_missing=True)
    monkeypatch.setattr(_csv, "WIDE", 1)
    many = read_table(file, allow_missing=True)
    assert many.row_ids.tolist() == ["ann", "bob", "cy"]
    assert many.feature_names == few.feature_names
    np.testing.assert_array_equal(many.X, few.X)


@pytest.mark.parametrize("kind", [["red", "blue"], ["2026-01-02", "2026-01-03"]])
def test_text_among_many_columns_is_named(
    kind: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_csv, "WIDE", 1)
    file = write_columns(tmp_path / "t.csv", {"a": ["1", "2"], "kind": kind})
    with pytest.raises(SidelightError, match=f"'kind' is '{kind[0]}' in row 0"):
        read_table(file)
    np.testing.assert_array_equal(read_table(file, drop=["kind"]).X, [[1.0], [2.0]])


def test_columns_are_not_guessed_and_a_header_may_be_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("guessing takes longer than reading")

    monkeypatch.setattr("pyarrow.csv.open_csv", fail)
    names = [f"{i}{'x' * 1100}" for i in range(_csv.WIDE)]  # more than a block of Arrow's
    columns = {"name": ["ann", "bob"], **{name: ["1", "2.5"] for name in names}}
    table = read_table(write_columns(tmp_path / "t.csv", columns))
    assert table.id_column == "name"
    np.testing.assert_array_equal(table.X, np.repeat([[1.0], [2.5]], len(names), axis=1))


def test_notes_do_not_grow_with_the_columns(tmp_path: Path) -> None:
    def notes(n: int) -> tuple[str, ...]:
        ids = {f"x{i}_id": ["1", "1", "2", "3"] for i in range(n)}
        counters = {f"c{i}": ["3", "1", "2", "4"] for i in range(n)}
        halves = {f"h{i}": ["0.5", "1.5", "2.5", "3.5"] for i in range(n)}
        return read_table(write_columns(tmp_path / "t.csv", {**ids, **counters, **halves})).notes

    assert len(notes(2)) == 4
    assert len(notes(20)) == len(notes(200)) == 11
    assert notes(200)[-1].startswith("390 more columns look")
    in_memory = pd.DataFrame({f"x{i}_id": [1.0, 1.0, 2.0] for i in range(50)})
    found = prepare(ClusterRequest(in_memory, k=2, raw=True)).notes
    assert len(found) == 6
    assert found[-1].startswith("45 more columns look")


@pytest.mark.parametrize("seed", range(5))
def test_counters_are_the_columns_that_hold_every_number_once(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 6))
    values = rng.integers(0, n, size=(n, 60)) + rng.choice([0, 0.5, -7], size=60)
    names = [f"c{i}" for i in range(60)]
    text = {name: [str(v) for v in values[:, i]] for i, name in enumerate(names)}
    truth = [
        name
        for i, name in enumerate(names)
        if values[0, i] % 1 == 0 and np.ptp(values[:, i]) == n - 1 == len(set(values[:, i])) - 1
    ]
    table = read_table(write_columns(tmp_path / "t.csv", text))
    assert sum("numbers the rows" in note for note in table.notes) == min(5, len(truth))
    assert all(repr(name) in note for name, note in zip(truth, table.notes, strict=False))
