"""Choice of a classifier by held-out labels, which prefers plain logistic regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from sidelight._fit.parameters import Auto, Seed, Verbosity, estimator
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import counted
from sidelight.base import ProbabilisticClassifier
from sidelight.constraints import Constraints
from sidelight.engine.inner import one_thread_blas
from sidelight.evaluation.inner import (
    ClassNames,
    RepeatedPredictions,
    fit_classes,
    n_repeats_for,
    probabilities_of_rows,
    repeated_predictions,
    set_seed,
)
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.semi_supervised.choice._candidates import PLAIN, Candidate, make_candidates
from sidelight.tags import own_tags

SPLITS = 5
#: Standard errors by which a candidate has to be ahead of the plain one. Chosen on six data sets
#: (``experiments/semi_supervised/choice.py``): with 0 the choice loses more than two points in
#: every seventh draw of labels, with 1 in one of fifty, and with 2 it gains little.
CLEARLY = 1.0


@estimator
class AutoClassifier(ProbabilisticClassifier):
    r"""The classifier that does best on held-out labels; logistic regression unless one is better.

    Candidates are classifiers of the labels alone and classifiers that learn from unlabeled rows as
    well. The labels are held out in turn, in five folds, several times; with the rows :math:`b`
    that only a candidate finds and :math:`c` that only logistic regression finds, the candidate
    with the largest :math:`b - c` is chosen among those with

    .. math::
        b - c > \sqrt{\varphi (b + c)}, \qquad \varphi = 1/R + K/(K - 1),

    one standard error for :math:`R` repetitions of :math:`K` folds, which share their labels
    (Nadeau and Bengio 2003). If there is none, it is logistic regression of standardized columns.
    Read more in the :doc:`user guide </semi_supervised/choice>`.

    Parameters
    ----------
    candidates : dict or "auto", default="auto"
        What is compared with logistic regression, by name: classifiers with ``predict_proba``.
        Those of Sidelight are given all rows, others the labeled ones. "auto" compares kernel
        logistic regression of the labels and, from 40 labels on, a random forest of them; the
        harmonic function on a graph of all rows; and for two classes SemiBoost around logistic
        regression.

    Attributes
    ----------
    estimator_ : object
        The classifier that was chosen, fitted to codes of the classes.
    chosen_ : str
        Its name.
    reason_ : str
        Why it was chosen, in a sentence.
    cv_results_ : dict of str to list
        A row per candidate: ``candidate``, ``supervised`` (learns from the labels alone),
        ``accuracy`` on held-out labels, ``ahead`` and ``error``: by how many labels it is ahead of
        logistic regression, and the standard error of this. NaN for those that were given up after
        the first repetition, in which they were not ahead, or whose fit failed.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes of the rows of the fit.
    uses_labels_only_ : bool
        Whether the chosen one makes no use of unlabeled rows.
    n_compared_ : int
        Number of candidates out of which the chosen one was taken; 1 for logistic regression, which
        had not to be better than any.

    Notes
    -----
    A fit takes 5 fits of every candidate, and 25 of those that are ahead after the first
    repetition; of more than 2,000 rows or 200 labels fewer. Nothing is compared where no class has
    two labels. The unit of the columns matters to graphs and kernels: bring them to
    one scale first.

    The accuracy of the chosen one in ``cv_results_`` is that of the best of several, and somewhat
    too good.

    References
    ----------
    C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sidelight.semi_supervised import AutoClassifier
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> known = np.where(np.arange(300) % 10 == 0, y, -1)
    >>> model = AutoClassifier(random_state=0).fit(X, known)
    >>> model.chosen_, bool(model.score(X, y) > 0.95)
    ('harmonic', True)
    """

    candidates: Mapping[str, Any] | Auto = "auto"
    _: KW_ONLY
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="the best on held-out labels, plain logistic regression unless another is better",
        source="Nadeau, Bengio 2003 for the comparison",
        complexity="5 to 25 fits of every candidate",
        sparse=True,
    )

    def _learn(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        rng = check_random_state(self.random_state)
        known = _with_codes(known, labels)
        candidates = make_candidates(
            self.candidates, rows, int((labels >= 0).sum()), len(self.classes_)
        )
        by_name = {one.name: one for one in candidates}
        seeds = rng.randint(np.iinfo(np.int32).max, size=2)
        self._compared: RepeatedPredictions | None = None
        self._supervised = PLAIN
        chosen = PLAIN
        try:
            self._compared = found = _race(candidates, rows, known, int(seeds[0]))
        except SidelightError as error:
            self.reason_ = f"Nothing was compared, and {PLAIN} regression is taken. {error}"
            warn(self.reason_, ConstraintWarning)
        else:
            chosen = _best(found, list(found.predicted))
            supervised = [name for name in found.predicted if by_name[name].supervised]
            self._supervised = _best(found, supervised)
            self.reason_ = _reason(found, chosen)
        self.chosen_ = chosen
        self.uses_labels_only_ = by_name[chosen].supervised
        self.n_compared_ = 1 if chosen == PLAIN else len(candidates)
        self.cv_results_ = _table(candidates, self._compared)
        self._candidates = by_name
        self._fit_chosen(by_name[chosen], rows, known, int(seeds[1]))

    def _fit_chosen(self, chosen: Candidate, rows: Any, known: Constraints, seed: int) -> None:
        model = set_seed(clone(chosen.fits_all), seed)
        with one_thread_blas:
            model = fit_classes(model, rows, known, ClassNames.of(None, known))
        self.estimator_ = model.model_ if chosen.supervised else model
        self.label_distributions_ = probabilities_of_rows(self.estimator_, rows).astype(rows.dtype)

    def _transduced(self, rows: Any) -> IntArray:
        return np.asarray(self.label_distributions_.argmax(axis=1), dtype=np.int64)

    def _decide(self, rows: Any) -> Array:
        p = self._probabilities(rows)
        return p[:, 1] - p[:, 0] if p.shape[1] == 2 else p

    def _probabilities(self, rows: Any) -> Array:
        return np.asarray(self.estimator_.predict_proba(rows))

    # ---------------------------------------------------------------- for those who judge the fit

    def supervised_candidate(self) -> Any:
        """Return the best classifier of the labels alone among the candidates, not fitted."""
        return clone(self._candidates[self._supervised].estimator)

    def compared_with(self, baselines: tuple[str, ...]) -> RepeatedPredictions:
        """Return the predictions of held-out labels that the choice rests on.

        Parameters
        ----------
        baselines : tuple of str
            "plain" for logistic regression, "alone" for the best classifier of the labels alone;
            the chosen one is called "run".
        """
        if self._compared is None:
            raise SidelightError(self.reason_)
        by_name = self._compared.predicted
        names = {"plain": PLAIN, "alone": self._supervised}
        predicted = {"run": by_name[self.chosen_]}
        predicted |= {name: by_name[names[name]] for name in baselines}
        return replace(self._compared, predicted=predicted, failed={})


def _with_codes(known: Constraints, labels: IntArray) -> Constraints:
    """The same knowledge with the codes of the classes for their names, and no ids."""
    return Constraints(
        known.must_link,
        known.cannot_link,
        must_link_weight=known.must_link_weight,
        cannot_link_weight=known.cannot_link_weight,
        labels=labels,
        groups=known.groups,
        n_samples=known.n_samples,
    )


def _race(
    candidates: list[Candidate], rows: Any, known: Constraints, seed: int
) -> RepeatedPredictions:
    """Compare the candidates; those that are not ahead of the plain one after a round drop out."""
    n_repeats = n_repeats_for(known)
    rng = np.random.RandomState(seed)
    settings: dict[str, Any] = {"n_splits": SPLITS, "random_state": rng}
    fits = {one.name: one.fits_all for one in candidates}
    first = repeated_predictions(fits, rows, known, n_repeats=1, **settings)
    if PLAIN not in first.predicted:
        raise SidelightError(first.failed[PLAIN])
    if n_repeats == 1:
        return first
    ahead = [name for name in first.predicted if name == PLAIN or _ahead(first, name) > 0]
    others = repeated_predictions(
        {name: fits[name] for name in ahead}, rows, known, n_repeats=n_repeats - 1, **settings
    )
    return first.followed_by(others)


def _ahead(found: RepeatedPredictions, name: str) -> float:
    """By how many rows a candidate is ahead of the plain one."""
    better, worse = found.differences(name, PLAIN)
    return better - worse


def _error(found: RepeatedPredictions, name: str) -> float:
    """Standard error of this difference, where both are equally good."""
    return float(np.sqrt(found.factor * sum(found.differences(name, PLAIN))))


def _best(found: RepeatedPredictions, names: list[str], clearly: float = CLEARLY) -> str:
    """Return the candidate that is furthest ahead of the plain one among those clearly ahead."""
    clear = [name for name in names if _ahead(found, name) > clearly * _error(found, name)]
    return max(clear, key=lambda name: _ahead(found, name), default=PLAIN)


def _reason(found: RepeatedPredictions, chosen: str) -> str:
    n_labels = counted(len(found.rows), "held-out label")
    plain = f"{found.n_right(PLAIN):.3g} of {n_labels}"
    if chosen == PLAIN:
        return (
            f"No candidate is ahead of logistic regression, which finds {plain}, by more than a "
            "standard error."
        )
    return (
        f"It finds {found.n_right(chosen):.3g} of {n_labels}, logistic regression "
        f"{found.n_right(PLAIN):.3g}: {_ahead(found, chosen):.2g} ± {_error(found, chosen):.2g} "
        "ahead."
    )


def _table(candidates: list[Candidate], found: RepeatedPredictions | None) -> dict[str, list[Any]]:
    """Figures of all candidates, for data frames."""
    rows = []
    for one in candidates:
        figures = [float("nan")] * 3
        if found is not None and one.name in found.predicted:
            accuracy = found.n_right(one.name) / len(found.rows)
            figures = [accuracy, _ahead(found, one.name), _error(found, one.name)]
        rows.append([one.name, one.supervised, *figures])
    names = ("candidate", "supervised", "accuracy", "ahead", "error")
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
