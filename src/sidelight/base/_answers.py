"""What a fitted estimator says about rows from elsewhere: block by block, where the rows are.

And what an estimator says that cannot be fitted to them.

A prediction, a place on a map, a density of a row does not depend on the other rows that are asked
about. So every method that answers about arrays answers about rows on disk and in partitions too,
whatever its fit needs: the answers are those of the blocks, joined. Of partitions they stay beside
them until somebody looks (:class:`~sidelight.engine.partitioned.RowValues`).
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import dataclass
from inspect import isfunction
from typing import Any

from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.engine.inner import opened
from sidelight.exceptions import SidelightError
from sidelight.tags import KINDS

#: Methods whose answer about a row depends on this row and on the fit alone.
ANSWERS = ("predict", "transform", "predict_proba", "decision_function", "score_samples")

#: Results of a fit for its own rows, which answers about other rows do not need where a method
#: reads blocks: what it has learned is in its model.
OF_FITTED_ROWS = ("labels_", "embedding_", "winners_")


def answer_by_blocks(cls: type) -> None:
    """Make the answers that a class defines take rows from elsewhere."""
    for name in ANSWERS:
        method = vars(cls).get(name)
        if isfunction(method):
            setattr(cls, name, _answering(method))


def _answering(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that takes sources; those that read blocks themselves do as before."""

    @functools.wraps(method)
    def answer(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        given, X = X, opened(X)
        if X is not given and is_elsewhere(X):
            X.to_be_read_once()
        if not is_elsewhere(X) or self.__sidelight_tags__().out_of_core:
            return method(self, X, *args, **options)
        return answers(self, method.__name__, X, *args, **options)

    return answer


def is_elsewhere(X: Any) -> bool:
    """Whether rows are read block by block; an array is in memory."""
    return isinstance(X, RowSource)


def answers(estimator: Any, name: str, X: RowSource, *args: Any, **options: Any) -> Any:
    """Return what a method of a fitted estimator says about the rows of a source, lazily.

    The estimator travels to the partitions: its model, and where its fit reads blocks nothing of
    the rows of the fit. A method that was fitted in memory takes along what it keeps of them, such
    as the rows that a graph of neighbors compares new ones with, and its labels.

    Parameters
    ----------
    estimator : ConstrainedEstimator
        The fitted estimator.
    name : str
        Name of the method: one of :data:`ANSWERS`, or another one with an answer for each row.
    X : RowSource
        The rows.
    *args, **options : object
        Other arguments: flags and numbers, nothing that goes with the rows.

    Returns
    -------
    answers : ndarray, RowValues or CSR matrix, or a tuple of them
        Of partitions values that stay beside them; CSR matrices are joined here.
    """
    check_is_fitted(estimator)
    with_rows = [
        option
        for option, value in options.items()
        if not isinstance(value, bool | int | str | None)
    ]
    if args or with_rows:
        of = f"{with_rows[0]}=" if with_rows else "A second argument"
        raise SidelightError(
            f"{of} goes with rows in memory: call {name} on pieces of the rows, X.take(positions), "
            "each with its own."
        )
    source = estimator._check_source(X, reset=False)
    source = source.with_missing() if estimator.__sidelight_tags__().missing else source
    totals, rows = source.map_reduce(_Answer(_travelling(estimator), name, options))
    if totals:
        return totals[0]
    return rows if len(rows) > 1 else rows[0]


def by_rows(estimator: Any, name: str, X: Any) -> Any:
    """Return what a method says about rows, wherever these live: for scores, which add it up."""
    X = opened(X)
    if not is_elsewhere(X) or estimator.__sidelight_tags__().out_of_core:
        return getattr(estimator, name)(X)
    return answers(estimator, name, X)


def not_in_memory(estimator: Any) -> SidelightError:
    """Return the error of a fit that cannot read rows block by block: what to take instead."""
    name = type(estimator).__name__
    instead = estimator._elsewhere or KINDS[estimator.__sidelight_tags__().kind].elsewhere
    uses = " and ".join(one for one in ("predict", "transform") if hasattr(estimator, one))
    sample = (
        f" Or fit {name} to a sample, X.take(positions): its {uses} then "
        f"{'take' if ' ' in uses else 'takes'} all rows, block by block."
        if uses
        else ""
    )
    return SidelightError(
        f"{name} needs all rows in memory at once (X.to_memory(), if they fit there). "
        f"{instead}{sample}"
    )


def _travelling(estimator: Any) -> Any:
    """Return the estimator as it goes to the partitions."""
    light = copy.copy(estimator)
    dropped = ["feature_names_in_", "_sklearn_output_config"]  # blocks are arrays, as are answers
    if estimator.__sidelight_tags__().out_of_core:
        dropped += OF_FITTED_ROWS
    for name in dropped:
        vars(light).pop(name, None)
    return light


@dataclass(frozen=True)
class _Answer:
    """What an estimator says about the rows of a block."""

    estimator: Any
    name: str
    options: dict[str, Any]

    def __call__(self, block: Any) -> tuple[tuple[Any, ...], tuple[Array, ...]]:
        found = getattr(self.estimator, self.name)(block, **self.options)
        if sparse.issparse(found):
            return (_Stacked((found,)),), ()
        return (), found if isinstance(found, tuple) else (found,)


@dataclass(frozen=True)
class _Stacked:
    """CSR rows of the blocks so far, in their order."""

    pieces: tuple[Any, ...]

    def join(self, later: _Stacked) -> _Stacked:
        """Return the rows of both."""
        return _Stacked(self.pieces + later.pieces)

    def result(self) -> Any:
        """Return all rows as one matrix."""
        return sparse.csr_array(sparse.vstack(self.pieces, format="csr"))
