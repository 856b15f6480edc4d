"""Checks of every estimator, whatever its kind."""

from __future__ import annotations

import functools
import inspect
import pickle
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from tests.common import not_in_memory
from tests.common.applies import applies_to, has
from tests.common.docstrings import entries_by_section
from tests.common.models import data_for, fitted, fitted_again, make
from tests.common.ownership import buffers_of, shared
from tests.common.partitions import cut

from sidelight import Constraints
from sidelight.catalog import Method
from sidelight.engine import as_rows
from sidelight.engine.partitioned._local import LocalEngine
from sidelight.engine.partitioned._rows import PartitionedRows
from sidelight.engine.partitioned._values import RowValues
from sidelight.exceptions import SidelightError

DOCS = Path(__file__).parent.parent.parent / "docs"
USES = ("predict", "transform", "predict_proba", "decision_function", "score_samples", "score")


def results(model: object, X: object) -> dict[str, np.ndarray]:
    """What a fitted model says about rows, by the name of the method that says it."""
    uses = [name for name in USES if hasattr(model, name)]
    if hasattr(model, "transduction_"):  # the score of a classifier needs the true classes
        uses.remove("score")
    return {name: np.asarray(getattr(model, name)(X)) for name in uses}


def dense(result: np.ndarray) -> np.ndarray:
    """Features of sparse rows are sparse rows."""
    return result.item().toarray() if result.dtype == object and not result.shape else result


def dense_rows(found: object) -> object:
    return found.toarray() if sparse.issparse(found) else found


def assert_same(one: object, other: object, X: object) -> None:
    """Assert that two fitted models say the same, to the last bit, and of the same labels."""
    if hasattr(one, "labels_"):
        np.testing.assert_array_equal(other.labels_, one.labels_)  # type: ignore[attr-defined]
    first, second = results(one, X), results(other, X)
    assert first.keys() == second.keys()
    assert first or hasattr(one, "labels_")
    for name, value in first.items():
        np.testing.assert_array_equal(second[name], value)


@applies_to(has("predict", "transform"))
def check_answers_about_rows_from_elsewhere(method: Method) -> None:
    """Answers about a source, block by block, and about partitions, beside them, are the same."""
    model, data = fitted(method), data_for(method)
    for X in (data.X, sparse.csr_array(data.X))[: 1 + method.tags.sparse]:
        truth = (data.y,) if hasattr(model, "transduction_") else ()
        for name in [name for name in USES if hasattr(model, name)]:
            given = truth if name == "score" else ()
            here = dense_rows(getattr(model, name)(X, *given))
            for rows in (as_rows(X), PartitionedRows(LocalEngine(cut(X, 3)))):
                there = getattr(model, name)(rows, *given)
                if not sparse.issparse(there) and name != "score":
                    assert isinstance(there, RowValues) is rows.is_partitioned
                there = np.asarray(dense_rows(there))
                assert there.dtype == np.asarray(here).dtype
                if there.dtype.kind == "f":
                    np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-9)
                else:
                    np.testing.assert_array_equal(there, here)


def check_clone(method: Method) -> None:
    model = make(method)
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(fitted(method)), "n_features_in_")


def check_pickle(method: Method) -> None:
    model = fitted(method)
    assert_same(model, pickle.loads(pickle.dumps(model)), data_for(method).X)


def check_constraints_by_position_hint_at_their_name(method: Method) -> None:
    data = data_for(method)
    known = Constraints([(0, 1)], n_samples=len(data.X))
    with pytest.raises(TypeError, match=r"constraints=known"):
        make(method).fit(data.X, known)


def check_use_changes_nothing(method: Method) -> None:
    """Predictions, features and summaries leave a fitted model as it was."""
    model = fitted(method)
    before = pickle.dumps(vars(model))
    results(model, data_for(method).X)
    model.summary()
    assert pickle.dumps(vars(model)) == before


def check_fit_leaves_its_input_alone(method: Method) -> None:
    again = fitted_again(method)
    np.testing.assert_array_equal(again.X, data_for(method).X)
    before, after = again.knowledge
    assert after == before
    assert again.model.get_params() == make(method).get_params()


def as_others_store_it(X: np.ndarray) -> sparse.csr_array:
    """Sparse rows whose columns are in no order, with zeros that are stored."""
    rows = sparse.csr_array((X != 0) + 1.0)  # all entries are stored
    rows.data[:] = X.ravel()
    for name in ("data", "indices"):
        setattr(rows, name, getattr(rows, name).reshape(X.shape)[:, ::-1].ravel().copy())
    rows.has_sorted_indices = False
    return rows


def check_fit_keeps_no_array_of_the_caller(method: Method) -> None:
    """What was given to a fit may be overwritten: neither rows, labels nor weights are shared."""
    data = data_for(method)
    forms = [data.X.astype(np.float32)]
    forms += [as_others_store_it(data.X)] if method.tags.sparse else []
    for X in forms:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = {"y": data.y.copy()}
            if "sample_weight" in inspect.signature(method.cls.fit).parameters:
                given["sample_weight"] = np.ones(len(data.y), dtype=X.dtype)
            model = make(method, n_init=1, max_iter=3)
            lent = [part.copy() for part in buffers_of(X)]
            model.fit(X, constraints=data.known, **given)
            for part, same in zip(buffers_of(X), lent, strict=True):
                np.testing.assert_array_equal(part, same)
            before = results(model, X.copy())
            assert shared(model, X, *given.values()) == []
            new = X.copy()
            for array in (*buffers_of(X)[:1], *given.values()):
                array += 1
            for name, value in results(model, new).items():
                np.testing.assert_array_equal(dense(value), dense(before[name]))


def check_same_seed_same_result(method: Method) -> None:
    assert_same(fitted(method), fitted_again(method).model, data_for(method).X)


def check_the_search_of_another_fit_is_forgotten(method: Method) -> None:
    data = data_for(method)
    model = make(method, n_init=1, max_iter=5)
    before = {"tried": np.arange(3)}
    model.search_ = before
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data.X, constraints=data.known)
    assert getattr(model, "search_", None) is not before


def check_summary(method: Method) -> None:
    """Five plain lines: the method, the data, the end of the search, the result, advice."""
    lines = fitted(method).summary().split("\n")
    assert len(lines) == 5
    assert all(line.strip() == line and line for line in lines)
    assert lines[0] == f"{method.cls.__name__}: {method.tags.summary}"
    assert f"{data_for(method).X.shape[1]} features" in lines[1]
    assert all(line.endswith(".") for line in lines[1:])
    with pytest.raises(ValueError, match="not fitted"):
        make(method).summary()


def check_tables(method: Method) -> None:
    """Tables of two libraries are the same rows: every other method is fitted to each."""
    data = data_for(method)
    names = [f"feature {j}" for j in range(data.X.shape[1])]
    tables = [pd.DataFrame(data.X, columns=names), pl.DataFrame(data.X, schema=names)]
    model = make(method).fit(tables[len(method.name) % 2], constraints=data.known)
    np.testing.assert_array_equal(model.feature_names_in_, names)
    for table in tables:
        mine, plain = results(model, table), results(fitted(method), data.X)
        for name, value in plain.items():
            np.testing.assert_array_equal(mine[name], value)
    if hasattr(model, "labels_"):
        np.testing.assert_array_equal(model.labels_, fitted(method).labels_)


def check_bad_numbers_are_located(method: Method) -> None:
    data = data_for(method)
    for bad in (np.nan, np.inf):
        if np.isnan(bad) and method.tags.missing:  # a value that was not measured
            continue
        X = data.X.copy()
        X[17, 2] = bad
        with pytest.raises(ValueError, match=r"(?s)(NaN|infinity).*row 17, column 2"):
            make(method).fit(X, constraints=data.known)


#: Exponents of two near the ends of both ranges: float64 values of 1e-300 to 1e160, and so on.
BEYOND = {np.float64: (-996, -565, -332, 332, 498, 531), np.float32: (-133, -83, -66, 66, 83)}


def check_numbers_beyond_the_range(method: Method) -> None:
    """Values whose squares overflow or vanish change nothing, or are refused in words."""
    data = data_for(method)
    for dtype, exponents in BEYOND.items():
        for exponent in exponents:
            X = np.ldexp(data.X, exponent).astype(dtype)
            words = ""
            try:
                model = make(method).fit(X, constraints=data.known)
            except SidelightError as error:
                words = str(error)
            if words:
                assert re.search(r"(divide|multiply) .*by a power of ten", words)
                continue
            assert_finite(model, X)
            if hasattr(model, "labels_"):
                np.testing.assert_array_equal(model.labels_, plain_labels(method, dtype))


@functools.cache
def plain_labels(method: Method, dtype: type) -> np.ndarray:
    data = data_for(method)
    return make(method).fit(data.X.astype(dtype), constraints=data.known).labels_


def assert_finite(model: object, X: object) -> None:
    """Assert that nothing that the model says is NaN."""
    for name, value in results(model, X).items():
        assert value.dtype.kind in "OUSb" or not np.isnan(value).any(), name
    assert not np.isnan(getattr(model, "objective_", 0.0))


def check_one_column_beyond_the_range(method: Method) -> None:
    """A single value that is too large is named; columns of other units are not too much."""
    X = data_for(method).X.copy()
    X[17, 2] = 1e305
    with pytest.raises(SidelightError, match=r"Row 17, column 2 holds 1e\+305"):
        make(method).fit(X, constraints=data_for(method).known)
    for name in results(fitted(method), data_for(method).X):
        if hasattr(method.cls, name):
            with pytest.raises(SidelightError, match="Row 17, column 2"):
                getattr(fitted(method), name)(X)


@applies_to(lambda method: method.tags.missing)
def check_missing_values_are_taken(method: Method) -> None:
    X = data_for(method).X.copy()
    X[17, 2] = np.nan
    model = make(method).fit(X)
    if hasattr(model, "labels_"):
        assert model.labels_.min() >= 0
    else:
        assert np.isfinite(model.transform(X)).all()


def check_wrong_shapes(method: Method) -> None:
    X = data_for(method).X
    with pytest.raises(ValueError, match="2D"):
        make(method).fit(X[:, 0])
    with pytest.raises(ValueError, match=r"0 sample"):
        make(method).fit(X[:0])
    for name in ("predict", "transform"):
        if hasattr(method.cls, name):
            with pytest.raises(ValueError, match="features"):
                getattr(fitted(method), name)(X[:, :2])


@applies_to(lambda method: method.tags.kind not in ("resolver", "consensus", "anonymizer"))
def check_words_instead_of_numbers(method: Method) -> None:
    table = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "color": ["red", "blue", "red", "blue"]})
    with pytest.raises(ValueError, match="color"):
        make(method, n_clusters=2).fit(table)


#: Kinds whose rows are tables of anything, which a path does not give.
OF_TABLES = ("resolver", "consensus", "anonymizer")


REFUSED = r"Dask collection.*\.compute\(\)|Rows are a dask\.array of two dimensions"


def check_collections_are_not_pulled(method: Method) -> None:
    """What is no rows of Dask, or cannot stay on its workers, is refused in words, not pulled."""
    data, model = data_for(method), fitted(method)
    names = [name for name in (*USES, "inverse_transform") if name != "score"]
    uses = [getattr(model, name) for name in names if hasattr(model, name)]
    for call in (make(method).fit, *uses):
        for lazy in (not_in_memory.Array(data.X), not_in_memory.DataFrame(data.X)):
            with pytest.raises((TypeError, SidelightError), match=REFUSED):
                call(lazy)
            assert not lazy.pulled


@applies_to(lambda method: method.tags.kind in OF_TABLES)
def check_names_of_files_are_refused(method: Method) -> None:
    for path in ("rows.parquet", Path("rows.parquet")):
        with pytest.raises((TypeError, FileNotFoundError), match=r"rows\.parquet"):
            make(method).fit(path)


@applies_to(lambda method: method.tags.kind not in OF_TABLES)
def check_files_are_rows(method: Method) -> None:
    """What is named by a path or asked for by a query gives what the array in memory gives."""
    data, memory = data_for(method), fitted(method)
    with tempfile.TemporaryDirectory() as folder:
        path, names = Path(folder, "rows.parquet"), [f"x{j}" for j in range(data.X.shape[1])]
        frame = pl.DataFrame(data.X, schema=names)
        frame.write_parquet(path)
        for rows in (str(path), frame.lazy()):
            found = results(memory, rows)
            for name, expected in results(memory, data.X).items():
                np.testing.assert_allclose(dense(found[name]), dense(expected), rtol=1e-9)
        disk = make(method).fit(path, constraints=data.known)
        np.testing.assert_array_equal(disk.feature_names_in_, names)
        if hasattr(memory, "labels_"):
            np.testing.assert_array_equal(disk.labels_, memory.labels_)
        for name in (name for name in USES if hasattr(disk, name) and name != "score"):
            with pytest.raises(ValueError, match="feature names should match"):
                getattr(disk, name)(frame.rename({"x0": "other"}).lazy())
    with pytest.raises(FileNotFoundError, match=r"no file nowhere/\*\.parquet"):
        make(method).fit("nowhere/*.parquet")


def check_constraints_about_other_rows(method: Method) -> None:
    X = data_for(method).X
    with pytest.raises(SidelightError, match=rf"about 10 rows but X has {len(X)}"):
        make(method).fit(X, constraints=Constraints([(0, 1)], n_samples=10))
    with pytest.raises(TypeError, match=r"sidelight\.Constraints"):
        make(method).fit(X, constraints=[(0, 1)])


def check_docstring_links_its_guide_page(method: Method) -> None:
    text = inspect.getdoc(method.cls) or ""
    (page,) = re.findall(r"Read\s+more\s+in\s+the\s+:doc:`user\s+guide\s+</([\w/]+)>`", text)
    assert (DOCS / f"{page}.rst").exists()


def check_docstring_has_an_example(method: Method) -> None:
    assert "\n>>> " in (inspect.getdoc(method.cls) or "")


def check_fitted_attributes_stand_under_attributes(method: Method) -> None:
    fitted_names = {name for name in vars(fitted(method)) if re.fullmatch(r"[^_].*_", name)}
    described = set(entries_by_section(method.cls)["Attributes"])
    # Every estimator of scikit-learn has these; they are described there.
    assert fitted_names - {"n_features_in_", "feature_names_in_"} <= described


def check_public_members_have_docstrings(method: Method) -> None:
    for name in dir(method.cls):
        if not name.startswith("_"):
            member = inspect.getattr_static(method.cls, name)
            if callable(member) or isinstance(member, property):
                assert inspect.getdoc(getattr(method.cls, name)), f"{name} has no docstring"


def check_new_rows_may_be_stored_otherwise(method: Method) -> None:
    """Sparse rows go where the same rows went as a table, or are refused in our words."""
    X = data_for(method).X
    dense, thin = fitted(method), sparse.csr_array(X)
    for name in ("predict", "transform"):
        ask = getattr(dense, name, None)
        if ask is None:
            continue
        if not method.tags.sparse:
            with pytest.raises(SidelightError, match=r"takes no sparse rows: X\.toarray\(\)"):
                ask(thin)
            continue
        found, expected = ask(thin), ask(X)
        if sparse.issparse(expected):
            found, expected = found.toarray(), expected.toarray()
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, atol=1e-6 * max(np.abs(expected).max(), 1))
        else:
            np.testing.assert_array_equal(found, expected)
