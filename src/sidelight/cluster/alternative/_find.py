"""One alternative after the other: every clustering found is avoided by the next."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import clone

from sidelight._warn import warn
from sidelight._words import counted, setting, worded
from sidelight.cluster.alternative._ensemble_score import INDEPENDENT
from sidelight.constraints import KnownSplits, as_known_splits
from sidelight.evaluation import similarity_to_splits
from sidelight.exceptions import ConstraintWarning, InvalidParameter, SidelightError

#: Name of a clustering among the known splits, with its number.
NAME = "alternative"


def find_alternatives(
    estimator: Any, X: Any, n_alternatives: int = 2, *, known: Any = None, **fit_params: Any
) -> list[Any]:
    """Find several clusterings, each different from the known splits and from all before.

    The first differs from the known splits, and is a plain clustering where there are none; the
    second differs from the first, too; and so on (Constrained Clustering, section 11.5.3.7). Every
    clustering is compared with all splits before it. Where the adjusted mutual information with
    one of them is above 0.1 (of a column of numbers: the share of its variance that the clusters
    explain), a warning names the split and the figure.

    Parameters
    ----------
    estimator : estimator of the kind "alternative"
        Method with ``fit(X, known=...)``, such as :class:`~sidelight.cluster.CondEns`. It is
        cloned, and stays as it is.
    X : array, table or CSR matrix of shape (n_samples, n_features)
        The rows.
    n_alternatives : int, default=2
        Number of clusterings.
    known : KnownSplits, labels, list of labels, mapping or table, default=None
        Splits that all clusterings are to differ from.
    **fit_params : dict
        Further arguments of ``fit``.

    Returns
    -------
    alternatives : list of estimators
        Fitted estimators, in the order in which they were found.

    Raises
    ------
    SidelightError
        If a clustering has a single cluster, so that nothing can differ from it; or if the
        splits together have too many cells for the number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import CondEns, find_alternatives
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (80, 2)) * [6, 4] + rng.normal(0, 0.3, (80, 2))
    >>> first, second = find_alternatives(CondEns(2, random_state=0), X, 2)
    >>> [int(abs(np.corrcoef(model.labels_, X[:, j])[0, 1]) > 0.9)
    ...  for model, j in ((first, 0), (second, 1))]
    [1, 1]
    """
    if isinstance(n_alternatives, bool) or n_alternatives != int(n_alternatives):
        raise InvalidParameter(f"n_alternatives must be a whole number, got {n_alternatives!r}.")
    if n_alternatives < 1:
        raise InvalidParameter(f"n_alternatives must be at least 1, got {n_alternatives}.")
    splits = as_known_splits(known, X.shape[0] if hasattr(X, "shape") else len(X), X)
    found: list[Any] = []
    for number in range(1, int(n_alternatives) + 1):
        given = None if splits.is_empty else splits
        try:
            found.append(clone(estimator).fit(X, known=given, **fit_params))
        except SidelightError as error:
            if not found:
                raise
            raise SidelightError(_stopped(number, n_alternatives, error)) from error
        labels = found[-1].labels_
        _warn_of_repetition(number, int(n_alternatives), labels, splits)
        if number < n_alternatives and len(np.unique(labels)) < 2:
            fewer, more = setting("n_alternatives"), setting("n_clusters")
            raise SidelightError(
                f"Alternative {number} puts all rows into one cluster, so that nothing can differ "
                f"from it; ask for at most {counted(number, 'alternative')}"
                + worded(" or for more clusters.", f" ({fewer}) or for more clusters ({more}).")
            )
        splits = splits.adding(f"{NAME} {number}", labels)
    return found


def _warn_of_repetition(number: int, asked: int, labels: Any, splits: KnownSplits) -> None:
    """Warn where a clustering tells of a split that it was to differ from."""
    shares = {
        one.name: one.nmi_reference if math.isnan(one.ami) else one.ami
        for one in similarity_to_splits(labels, splits)
    }
    name = max(shares, key=lambda one: shares[one], default="")
    if not name or shares[name] <= INDEPENDENT:
        return
    fewer = worded("", f" ({setting('n_alternatives', number - 1)})")
    ask = f"ask for {counted(number - 1, 'alternative')}{fewer}, or " if number > 1 else ""
    warn(
        f"Alternative {number} of {asked} repeats a part of the split {name!r}: the two share "
        f"{shares[name]:.2f} of their information beyond chance, where 0 is independent and 1 the "
        f"same. The rows may have no {'further ' if number > 1 else ''}split of this kind "
        f"that is independent of those before; {ask}for another number of clusters.",
        ConstraintWarning,
    )


def _stopped(number: int, asked: int, error: SidelightError) -> str:
    """The error at a later alternative, with what could be asked for instead."""
    possible = counted(number - 1, "alternative")
    return f"Alternative {number} of {asked} was not found. {error} Or ask for {possible} only" + (
        worded(".", f", {setting('n_alternatives', number - 1)}.")
    )
