"""Known splits as a fit has seen them, for new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted
from sidelight.constraints import KnownSplits
from sidelight.exceptions import SidelightError


@dataclass(frozen=True)
class SeenSplits:
    """Names, classes, cells and scales of the known splits of a fit.

    Attributes
    ----------
    names, number_names : tuple of str
        Names of all splits, and of those that are numbers.
    categorical : tuple of bool
        Whether a split is categorical.
    class_names : tuple of ndarray
        Classes of every categorical split, by code.
    cell_codes : ndarray of int, shape (n_cells, number of categorical splits)
        Classes of every cell of the product.
    centers, scales : ndarray of shape (number of numeric splits,)
        Mean and standard deviation of the numbers; scale 0 where they do not vary.
    """

    names: tuple[str, ...]
    number_names: tuple[str, ...]
    categorical: tuple[bool, ...]
    class_names: tuple[Array, ...]
    cell_codes: IntArray
    centers: FloatArray
    scales: FloatArray

    def read(self, known: Any, n_samples: int, X: Any) -> KnownSplits:
        """Read the splits of new rows, and check that they are those of the fit."""
        numbers = self.number_names or None
        splits = known if isinstance(known, KnownSplits) else KnownSplits(known, numbers=numbers)
        splits = splits.align(X)
        if splits.n_samples != n_samples:
            raise SidelightError(
                f"The known splits are about {counted(splits.n_samples, 'row')}, and there are "
                f"{counted(n_samples, 'row')} to predict; give one value of every split per row."
            )
        if splits.names != self.names or splits.categorical != self.categorical:
            raise SidelightError(
                f"The model was fitted with the known splits {self._described()}, and the new rows "
                f"come with {', '.join(splits.describe()) or 'none'}; give the same splits in the "
                "same order, or none."
            )
        return splits

    def _described(self) -> str:
        kinds = zip(self.names, self.categorical, strict=True)
        return ", ".join(f"{name!r}{'' if kind else ' (numbers)'}" for name, kind in kinds)

    def codes(self, splits: KnownSplits) -> IntArray:
        """Classes of new rows by the codes of the fit; -1 for one that the fit has not seen."""
        codes = np.empty_like(splits.codes)
        columns = zip(splits.codes.T, splits.class_names, self.class_names, strict=True)
        for place, (column, new, seen) in enumerate(columns):
            code = {name: number for number, name in enumerate(seen.tolist())}
            codes[:, place] = np.array([code.get(name, -1) for name in new.tolist()])[column]
        return codes

    def cells(self, splits: KnownSplits) -> IntArray:
        """Cell of every new row; -1 for a combination of classes that the fit has not seen."""
        codes = self.codes(splits)
        both = np.vstack((self.cell_codes, codes))
        _, which = np.unique(both, axis=0, return_inverse=True)
        which = which.reshape(-1)
        n_cells = len(self.cell_codes)
        cell = np.full(which.max() + 1, -1, dtype=np.int64)
        cell[which[:n_cells]] = np.arange(n_cells)
        return cell[which[n_cells:]]

    def design(self, splits: KnownSplits) -> FloatArray:
        """Columns of the regression for new rows, in the scales of the fit.

        A class that the fit has not seen counts as the first one.
        """
        blocks: list[FloatArray] = [np.empty((splits.n_samples, 0))]
        codes, names = iter(self.codes(splits).T), iter(self.class_names)
        numbers = iter(zip(splits.numbers.T, self.centers, self.scales, strict=True))
        for categorical in self.categorical:
            if categorical:
                blocks.append(next(codes)[:, None] == np.arange(1, len(next(names))))
                continue
            column, center, scale = next(numbers)
            if scale > 0:
                blocks.append((column[:, None] - center) / scale)
        return np.hstack(blocks).astype(np.float64)


def seen_splits(splits: KnownSplits, cells: IntArray | None) -> SeenSplits:
    """Keep of the splits of a fit what new rows need."""
    n_columns = splits.codes.shape[1]
    if cells is None or not n_columns:
        cell_codes = np.empty((0, n_columns), dtype=np.int64)
    else:
        cell_codes = splits.codes[np.unique(cells, return_index=True)[1]]
    centers = splits.numbers.mean(axis=0)
    scales = np.sqrt(np.mean((splits.numbers - centers) ** 2, axis=0))
    constant = scales <= 1e-12 * np.maximum(np.abs(splits.numbers).max(axis=0, initial=0), 1e-300)
    return SeenSplits(
        names=splits.names,
        number_names=splits.number_names,
        categorical=splits.categorical,
        class_names=splits.class_names,
        cell_codes=cell_codes,
        centers=centers,
        scales=np.where(constant, 0.0, scales),
    )
