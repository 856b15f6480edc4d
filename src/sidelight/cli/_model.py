"""Models on disk: skops, which unlike pickle runs no code that a file brings along."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sidelight import __version__, catalog
from sidelight.exceptions import SidelightError
from sidelight.io import Table
from sidelight.io._table import check_readable

FORMAT = "sidelight-model-1"

#: What a model may be made of, besides NumPy and scikit-learn: estimators and their parameters.
OURS = tuple(f"sidelight.{part}." for part in (*catalog.FAMILIES, "graphs"))
HARMLESS = ("numpy.dtype", "scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix")


@dataclass
class Model:
    """What ``predict`` needs to know: the estimator and how rows were made for it."""

    estimator: Any
    scaler: Any  # StandardScaler or None
    method: str
    feature_names: list[str]
    id_column: str | None
    zero_based: bool | None

    def predict(self, data: Table) -> Any:
        """Cluster of every row of a table with the same columns."""
        X = data.X
        if data.zero_based is not None and X.shape[1] < len(self.feature_names):
            X = X.copy()  # the file mentions no feature beyond the last that occurs in it
            X.resize(X.shape[0], len(self.feature_names))
        return self.estimator.predict(X if self.scaler is None else self.scaler.transform(X))


def save_model(model: Model, path: Path) -> None:
    """Write a model; the caller renames it into place."""
    import skops.io

    content = {field.name: getattr(model, field.name) for field in fields(Model)}
    skops.io.dump({"format": FORMAT, "version": __version__, **content}, path)
    if _strange(set(skops.io.get_untrusted_types(file=path))):
        raise SidelightError(
            f"{model.method} keeps its rows for further conversation and cannot be saved as a "
            "model for new ones; in Python, pickle it."
        )


def load_model(path: Path) -> Model:
    """Read a model; a file that brings types of anyone else's is refused."""
    import zipfile

    import skops.io

    check_readable(path)
    try:
        found = set(skops.io.get_untrusted_types(file=path))
        strange = _strange(found)
        if strange:
            raise SidelightError(
                f"{path} was not loaded: it brings {', '.join(map(repr, strange[:3]))}, and only "
                "Sidelight, scikit-learn and NumPy are trusted in a model."
            )
        content = skops.io.load(path, trusted=sorted(found))
    except (zipfile.BadZipFile, KeyError, AttributeError, ImportError, TypeError) as error:
        raise _not_a_model(path) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _not_a_model(path)
    return Model(**{field.name: content[field.name] for field in fields(Model)})


def _strange(types: set[str]) -> list[str]:
    """Types that no model of ours is made of."""
    return sorted(name for name in types if not name.startswith(OURS) and name not in HARMLESS)


def _not_a_model(path: Path) -> SidelightError:
    return SidelightError(f"{path} is not a model that this version of `sidelight` has saved.")
