"""Matrices without names of columns: NumPy and libsvm files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight.exceptions import SidelightError
from sidelight.io._columns import first_line, is_number

if TYPE_CHECKING:
    import pyarrow as pa

MAX_FEATURES = 1 << 24  # each has a name, also where it occurs in no row
OWN_LABEL = "label"  # what the value in front of a libsvm line is called


@dataclass
class ArrayRaw:
    """A matrix whose columns are called ``x0``, ``x1`` ..., and for libsvm the labels in front."""

    values: Any  # ndarray or csr_matrix
    labels: npt.NDArray[Any] | None = None
    zero_based: bool | None = None
    has_names: bool = False
    notes: tuple[str, ...] = ()

    @property
    def own_label(self) -> str | None:
        """Name of the labels, where there are any."""
        return None if self.labels is None else OWN_LABEL

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        features = [f"x{i}" for i in range(self.values.shape[1])]
        return features if self.labels is None else [*features, OWN_LABEL]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])

    def column(self, name: str) -> pa.ChunkedArray:
        """One column."""
        import pyarrow as pa

        if name == self.own_label:
            return pa.chunked_array([self.labels])
        column = self.values[:, int(name[1:])]
        if sparse.issparse(column):
            column = column.toarray().ravel()
        return pa.chunked_array([_native(column)])

    def matrix(
        self, features: Sequence[str], ids: npt.NDArray[Any] | None, path: Path
    ) -> npt.NDArray[Any] | sparse.csr_matrix:
        """The feature columns; without a copy when they are all of the columns."""
        positions = [int(name[1:]) for name in features]
        X = self.values
        if positions != list(range(X.shape[1])):
            X = X[:, positions]
        if X.dtype not in (np.float32, np.float64):
            X = _native(X).astype(np.float32 if X.dtype == np.float16 else np.float64, copy=False)
        return X


def _native(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers in native byte order and of a width that Arrow supports."""
    kind = np.dtype(np.float64) if values.dtype.itemsize > 8 else values.dtype.newbyteorder("=")
    with np.errstate(over="ignore"):  # what is infinite then is found later, with its place
        return np.ascontiguousarray(values, dtype=kind)


def read_npy(path: Path) -> ArrayRaw:
    """Map a NumPy file into memory."""
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # its header is Python text, and goes wrong in as many ways
        raise _not_npy(path) from error
    if not isinstance(values, np.ndarray):  # a zip file of several arrays
        values.close()
        raise _not_npy(path)
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise SidelightError(
            f"{path} must hold a table of numbers (rows, columns), but holds shape {values.shape} "
            f"of {values.dtype}."
        )
    if 0 in values.shape:
        raise SidelightError(f"{path} has no rows or no columns: its shape is {values.shape}.")
    return ArrayRaw(values)


def _not_npy(path: Path) -> SidelightError:
    return SidelightError(f"{path} is not a NumPy .npy file of numbers, or it is damaged.")


def read_libsvm(path: Path, *, zero_based: bool | None = None) -> ArrayRaw:
    """Read a libsvm file as a sparse matrix; features count from 1 unless feature 0 occurs."""
    from sklearn.datasets import load_svmlight_file

    try:
        X, labels = load_svmlight_file(str(path), zero_based=True)
    except OverflowError as error:
        raise _too_many_features(path) from error
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        _raise_bad_libsvm_line(path)
        raise SidelightError(f"{path} cannot be read as libsvm: {first_line(error)}.") from error
    if 0 in X.shape:
        raise SidelightError(f"{path} has no rows or no features.")
    if X.shape[1] > MAX_FEATURES:
        raise _too_many_features(path)
    has_zero = bool(len(X.indices)) and int(X.indices.min()) == 0
    if zero_based is None:
        zero_based = has_zero
    elif has_zero and not zero_based:
        raise SidelightError(f"{path} counts its features from 0, but from 1 was expected.")
    return ArrayRaw(X if zero_based else X[:, 1:], labels=labels, zero_based=zero_based)


def _too_many_features(path: Path) -> SidelightError:
    return SidelightError(
        f"{path} names a feature beyond number {MAX_FEATURES:,}, and so many cannot be told apart "
        "here; number them from 1, without gaps."
    )


def _raise_bad_libsvm_line(path: Path) -> None:
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            fields = line.split("#")[0].split()
            for position, field in enumerate(fields):
                index, colon, value = field.partition(":")
                good = is_number(field) if position == 0 else bool(colon) and is_number(value)
                if not good or (position > 0 and not index.isdigit() and index != "qid"):
                    raise SidelightError(
                        f"Line {number} of {path} is not libsvm: {field!r} should be "
                        + ("a number." if position == 0 else "number:value.")
                    )
