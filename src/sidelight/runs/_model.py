"""Models on disk (skops, which unlike pickle runs no code that a file brings along), new rows."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from sidelight import __version__, catalog
from sidelight.exceptions import SidelightError
from sidelight.io import Table, read_table
from sidelight.io._atomic import atomic_write
from sidelight.io._formats import column_names, table_format
from sidelight.io._table import check_readable

FORMAT = "sidelight-model-1"

#: What a model may be made of, besides NumPy and scikit-learn: estimators and their parameters.
OURS = tuple(f"sidelight.{part}." for part in (*catalog.FAMILIES, "graphs"))
HARMLESS = ("numpy.dtype", "scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix")


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted estimator with all that new rows need.

    Attributes
    ----------
    estimator : object
        The fitted estimator.
    scaler : StandardScaler or None
        Estimator that standardized the rows.
    method : str
        Name of the method in the catalog.
    feature_names : list of str
        Columns of the rows, in their order.
    id_column : str or None
        Column that named the rows.
    zero_based : bool or None
        For libsvm files, whether the first feature has the number 0.
    knowledge : dict of str to int
        How many statements of each kind the method used, as ``Constraints.counts`` names them.
    """

    estimator: Any
    scaler: Any
    method: str
    feature_names: list[str]
    id_column: str | None
    zero_based: bool | None
    knowledge: dict[str, int] = field(default_factory=dict)

    def read(self, path: str | os.PathLike[str], *, id_column: str | None = None) -> Table:
        """Read a table in the way the data of the model was read."""
        file = check_readable(path)
        if table_format(file) == "libsvm":
            data = read_table(file, zero_based=self.zero_based)
            if len(data.feature_names) > len(self.feature_names):
                raise SidelightError(
                    f"{file} has {len(data.feature_names)} features, but the model knows only "
                    f"{len(self.feature_names)}."
                )
            return data
        if id_column is None and self.id_column in column_names(file):
            id_column = self.id_column
        return read_table(
            file,
            id_column=id_column,
            columns=self.feature_names,
            allow_missing=self.estimator.__sidelight_tags__().missing,
        )

    def rows(self, data: Table) -> Any:
        """Return the rows of a table as the estimator takes them."""
        X = data.X
        if data.zero_based is not None and X.shape[1] < len(self.feature_names):
            X = X.copy()  # the file mentions no feature beyond the last that occurs in it
            X.resize(X.shape[0], len(self.feature_names))
        return X if self.scaler is None else self.scaler.transform(X)


def save_model(model: Model, path: str | os.PathLike[str]) -> Path:
    """Write a model; the file appears complete or not at all."""
    with atomic_write(path) as temporary:
        fill_model(model, temporary)
    return Path(path)


def fill_model(model: Model, path: Path) -> None:
    """Write to the path itself; the caller renames the file into its place."""
    import skops.io

    content = {one.name: getattr(model, one.name) for one in fields(Model)}
    skops.io.dump({"format": FORMAT, "version": __version__, **content}, path)
    if _strange(set(skops.io.get_untrusted_types(file=path))):
        raise SidelightError(
            f"{model.method} keeps its rows for further feedback and cannot be saved as a model "
            "for new ones; in Python, pickle it."
        )


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model; a file that holds types of another origin is refused.

    Parameters
    ----------
    path : path-like
        What :func:`save_model` or :meth:`Run.save` wrote.

    Returns
    -------
    Model
        The model.
    """
    import skops.io

    file = check_readable(path)
    try:
        found = set(skops.io.get_untrusted_types(file=file))
        strange = _strange(found)
        if strange:
            raise SidelightError(
                f"{file} was not loaded: it brings {', '.join(map(repr, strange[:3]))}, and only "
                "Sidelight, scikit-learn and NumPy are trusted in a model."
            )
        content = skops.io.load(file, trusted=sorted(found))
    except (zipfile.BadZipFile, KeyError, AttributeError, ImportError, TypeError) as error:
        raise _not_a_model(file) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _not_a_model(file)
    known = [one.name for one in fields(Model) if one.name in content]  # older files have fewer
    return Model(**{name: content[name] for name in known})


def _strange(types: set[str]) -> list[str]:
    """Types that no model of ours is made of."""
    return sorted(name for name in types if not name.startswith(OURS) and name not in HARMLESS)


def _not_a_model(path: Path) -> SidelightError:
    return SidelightError(f"{path} is not a model that this version of `sidelight` has saved.")
