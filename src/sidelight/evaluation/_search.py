"""Choosing parameters by constraints and labels that were not used in fitting."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import ClassifierTags, Tags, check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import Count, Interval, Seed, Verbosity, check_parameters, estimator
from sidelight._progress import fit_progress, progress
from sidelight.engine import threads
from sidelight.evaluation._candidates import (
    fit_with,
    join_knowledge,
    labels_of,
    n_clusters_of,
    set_seed,
    takes_constraints,
)
from sidelight.evaluation._constraints import (
    Satisfaction,
    held_out_satisfaction,
    satisfaction,
)
from sidelight.evaluation._scoreboard import Scoreboard
from sidelight.evaluation.classes._class_fits import (
    ClassNames,
    check_takes_unlabeled,
    classes_of_rows,
    fit_classes,
    gives_classes,
)
from sidelight.evaluation.classes._label_folds import LabelFold, label_folds
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    from sidelight.constraints import Constraints

# One row of the plan: seed of the fits, and the train and held-out constraints of every split.
Repeat = tuple[int, "list[tuple[Constraints, Constraints]] | list[LabelFold]"]
# How the pairs of a split were kept, the number of clusters, the seconds of the fit, and the
# accuracy of classifiers on held-out labels.
Scored = tuple[Satisfaction, int, float, float]
Folds: TypeAlias = Annotated[int, Interval(2)]
HeldOutShare: TypeAlias = Annotated[float, Interval(0, 1, open_low=True, open_high=True)]


def _delegate(name: str) -> Any:
    """Offer a method if the chosen estimator (before the fit: the given one) has it."""

    def check(self: ConstraintSearchCV) -> bool:
        getattr(getattr(self, "best_estimator_", self.estimator), name)
        return True

    return available_if(check)


def _gives_clusters(self: ConstraintSearchCV) -> bool:
    return not gives_classes(self.estimator)


@estimator
class ConstraintSearchCV(ClusterMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Choose parameters, the number of clusters too, by held-out constraints.

    Every candidate is fitted with a part of the constraints and scored by the share of the others
    that its clusters respect; the folds are cut such that nothing held out follows from what was
    used (:meth:`sidelight.Constraints.split`). The score of a partition :math:`y` on held-out
    pairs is

    .. math:: \xi(y) = \tfrac12 \left( \frac{|\{ML : y_i = y_j\}|}{|ML|}
              + \frac{|\{CL : y_i \ne y_j\}|}{|CL|} \right)

    (``balanced=True``), or the plain share :func:`constraint_satisfaction`. If the estimator does
    not take constraints at all (scikit-learn's clusterers) nothing has to be held out, and every
    fit is scored on all of them, as in Mallapragada's thesis, section 4.4, "maximum pairwise
    constraint satisfaction".

    Classifiers are scored by their accuracy on held-out labels. A row whose label is held out stays
    in the data as an unlabeled row, and the fit gets no constraint on it: neither its must-links
    and its group, which pass labels on, nor its cannot-links. Every fit keeps labels of every
    class.

    Parameters
    ----------
    estimator : estimator
        A clusterer with ``fit(X, constraints=...)``, a clusterer with ``fit(X)``, a classifier of
        :mod:`sidelight.semi_supervised` or of scikit-learn's ``semi_supervised``, or a pipeline of
        which the last step is a classifier or some step takes constraints.
    param_grid : dict or list of dict
        Values to try by parameter, as for :class:`sklearn.model_selection.GridSearchCV`.
    constraints_cv : int >= 2 or float in (0, 1), default=5
        Number of folds; or, below 1, the share of the constraints that is held out once. Of
        classifiers it is labels that are counted.
    n_repeats : int >= 1, default=1
        How often the folds are redrawn and the fits started from another seed. For an estimator
        that does not take constraints this is the number of starts per candidate (10 in the
        thesis).
    balanced : bool, default=True
        Average the shares of must-links and cannot-links. Random pairs of many classes are mostly
        cannot-links, and the plain share then prefers many small clusters. Classifiers are
        scored by labels.
    refit : bool, default=True
        Fit the best candidate again with all constraints.
    n_jobs : int >= 1 or int <= -1 or None, default=None
        Number of candidates that are fitted at a time, by joblib as in scikit-learn: one by
        default, as many as there are processors with -1. The result is the same for any number.
    random_state : int or RandomState or None, default=None
        Seed or generator for the folds and, where the estimator's own ``random_state`` is None,
        for its starts; pass an int for reproducible results.

    Attributes
    ----------
    cv_results_ : dict
        One entry per candidate in each of: ``params``, ``param_<name>``, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``, ``split<i>_test_score``,
        ``mean_test_must_link``, ``mean_test_cannot_link`` (the two shares), ``mean_n_clusters``,
        ``mean_fit_time``, and ``error`` (why a candidate has no score, else None). Of classifiers
        ``mean_test_accuracy``, which is their score, in place of the number of clusters.
    best_index_, best_params_, best_score_ : int, dict, float
        The chosen candidate.
    ties_ : list of dict
        Parameters of all candidates within one standard error of the best score, the chosen one
        among them, in the order of the grid. Plateaus are common: look at it before you believe
        in ``best_params_``.
    n_splits_ : int
        Number of scored splits per candidate.
    best_estimator_ : estimator
        Fitted with all constraints (with ``refit``).
    labels_ : ndarray of shape (n_samples,)
        Its clusters; only of clusterers.
    transduction_ : ndarray of shape (n_samples,)
        Its classes of the rows; only of classifiers.

    Notes
    -----
    The score of a candidate is the mean over splits of each share, averaged; a split without
    must-links (or without cannot-links) has no value for that share. A held-out label stands for
    its pairs with all other labels. Among candidates with the best
    score (up to 1e-12) the one with the fewest clusters is chosen, then the first in the grid. A
    candidate whose fit raises :class:`~sidelight.exceptions.SidelightError`, such as a number of
    clusters for which the constraints cannot be met, has score NaN and its reason in ``error``;
    only if all fail is the first reason raised. The same goes for a candidate that fails when it
    is fitted again with all constraints: the next best takes its place.

    Among classifiers with the best accuracy the one that keeps most of the held-out pairs is
    chosen, then the first in the grid. A label is held out in one fold; a class with a single
    label, or a single group of labels, is never held out, and a warning says so. To judge the best
    one without the optimism of having chosen it, see :func:`cross_validated_labels` of the search.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import PCKMeans
    >>> from sidelight.evaluation import ConstraintSearchCV
    >>> rng = np.random.default_rng(0)
    >>> classes = np.repeat([0, 1, 2], 30)
    >>> X = 10 * np.eye(3)[classes] + rng.normal(size=(90, 3))
    >>> known = Constraints.sample(classes, 60, random_state=0)
    >>> search = ConstraintSearchCV(PCKMeans(), {"n_clusters": [2, 3, 4, 5]}, random_state=0)
    >>> search.fit(X, constraints=known).best_params_
    {'n_clusters': 3}

    Of a classifier with few labels:

    >>> from sidelight.semi_supervised import HarmonicClassifier
    >>> y = np.where(np.arange(90) % 10 == 0, classes, -1)
    >>> search = ConstraintSearchCV(
    ...     HarmonicClassifier(), {"n_neighbors": [5, 10]}, constraints_cv=3, random_state=0
    ... )
    >>> search.fit(X, y).best_score_
    1.0
    """

    estimator: Any
    param_grid: Any
    _: KW_ONLY
    constraints_cv: Folds | HeldOutShare = 5
    n_repeats: Count = 1
    balanced: bool = True
    refit: bool = True
    n_jobs: Count | Annotated[int, Interval(high=-1)] | None = None
    random_state: Seed = None
    verbose: Verbosity = 0

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Score all candidates, choose the best and fit it again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Whatever the estimator takes.
        y : array-like of shape (n_samples,), optional
            Partial labels (-1 for unknown), joined to the constraints.
        constraints : Constraints
            What is known about the rows.

        Returns
        -------
        self
            The fitted search.
        """
        check_parameters(self)
        known = _everything_known(constraints, y, X)
        candidates = list(ParameterGrid(self.param_grid))
        estimators = [clone(self.estimator).set_params(**clone_values(p)) for p in candidates]
        classes = self._class_names(estimators, y, known)
        plan = self._plan(known, estimators)
        n_splits = sum(len(splits) for _, splits in plan)
        board = Scoreboard(candidates, n_splits, self.balanced, classes=classes is not None)
        n_fits = board.n_splits * len(candidates)
        with fit_progress(type(self).__name__, n_fits, verbose=self.verbose) as bar:
            for index, fits in enumerate(self._fits(estimators, X, known, plan, classes)):
                for found in fits:
                    if isinstance(found, SidelightError):
                        board.fail(index, found)
                    else:
                        board.record(index, *found)
                        bar.step()
        if bar.interrupted:
            board.forget_unfinished("not finished when the search was interrupted")
        self.n_splits_ = board.n_splits
        self._choose(board, estimators, X, known, plan[0][0], classes)
        return self

    def _class_names(self, estimators: list[Any], y: Any, known: Constraints) -> ClassNames | None:
        """Names of the classes; None where clusterers are searched."""
        kinds = {gives_classes(estimator) for estimator in estimators}
        if kinds == {False}:
            return None
        if len(kinds) > 1:
            raise SidelightError(
                "The grid holds classifiers and other estimators, whose scores cannot be compared."
            )
        classes = ClassNames.of(y, known)
        for candidate in estimators:
            check_takes_unlabeled(candidate, classes)
        return classes

    def _plan(self, known: Constraints, estimators: list[Any]) -> list[Repeat]:
        """Seeds and splits of all repeats."""
        cv = self.constraints_cv
        rng = check_random_state(self.random_state)
        plan: list[Repeat] = []
        splits: Any
        for repeat in range(self.n_repeats):
            seed = int(rng.randint(np.iinfo(np.int32).max))
            if gives_classes(estimators[0]):
                splits = label_folds(known, cv, rng, tell=repeat == 0)
            elif not any(takes_constraints(estimator) for estimator in estimators):
                splits = [(known, known)]
            elif isinstance(cv, Integral):
                splits = known.split(n_splits=int(cv), random_state=rng)
            else:
                splits = [known.split(test_size=float(cv), random_state=rng)]
            plan.append((seed, splits))
        return plan

    def _fits(
        self,
        estimators: list[Any],
        X: Any,
        known: Constraints,
        plan: list[Repeat],
        classes: ClassNames | None,
    ) -> Iterator[Iterable[Scored | SidelightError]]:
        """Yield what becomes of every candidate, one after the other or several at a time."""
        if self.n_jobs in (None, 1):
            for estimator in estimators:
                yield _scored_fits(estimator, X, known, plan, classes)
            return
        at_once = Parallel(n_jobs=self.n_jobs, return_as="generator")
        yield from at_once(
            delayed(_scored_at_once)(estimator, X, known, plan, classes) for estimator in estimators
        )

    def _choose(
        self,
        board: Scoreboard,
        estimators: list[Any],
        X: Any,
        known: Constraints,
        seed: int,
        classes: ClassNames | None,
    ) -> None:
        """Fit the best candidate, or the next one while the best cannot meet all constraints."""
        while True:
            index = board.best()
            if not self.refit:
                break
            best = set_seed(clone(estimators[index]), seed)
            try:
                self.best_estimator_ = (
                    fit_with(best, X, known)
                    if classes is None
                    else fit_classes(best, X, known, classes)
                )
            except SidelightError as error:
                board.fail(index, error)
                continue
            if classes is None:
                self.labels_ = labels_of(self.best_estimator_, X)
            else:
                self.transduction_ = classes_of_rows(self.best_estimator_, X)
            break
        self.cv_results_ = board.table()
        self.best_index_ = index
        self.best_params_ = board.candidates[index]
        self.best_score_ = float(board.scores()[index])
        self.ties_ = [board.candidates[tied] for tied in board.ties(index)]

    @available_if(_gives_clusters)
    def fit_predict(self, X: Any, y: Any = None, **params: Any) -> npt.NDArray[Any]:
        """Search, and return the clusters of the rows."""
        return np.asarray(self.fit(X, y, **params).labels_)

    @_delegate("predict")
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Clusters or classes of new rows, by the best estimator."""
        return self._fitted().predict(X)

    @_delegate("predict_proba")
    def predict_proba(self, X: Any) -> npt.NDArray[Any]:
        """Probabilities of the classes (or clusters) of new rows, by the best estimator."""
        return self._fitted().predict_proba(X)

    @_delegate("decision_function")
    def decision_function(self, X: Any) -> npt.NDArray[Any]:
        """Decision values of new rows, by the best estimator."""
        return self._fitted().decision_function(X)

    @_delegate("score")
    def score(self, X: Any, y: Any = None) -> float:
        """Score of the best estimator: the accuracy of classifiers."""
        return float(self._fitted().score(X, y))

    @_delegate("transform")
    def transform(self, X: Any) -> Any:
        """Transform rows by the best estimator."""
        return self._fitted().transform(X)

    def _fitted(self) -> Any:
        check_is_fitted(self, "cv_results_")
        if not self.refit:
            raise AttributeError(
                "This search was made with refit=False; fit the estimator with best_params_ first."
            )
        return self.best_estimator_

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes as they were given, sorted; only of classifiers."""
        return self._fitted().classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features that the best estimator was fitted on."""
        return int(self._fitted().n_features_in_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if gives_classes(self.estimator):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags()
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cv_results_")


def _everything_known(constraints: Constraints | None, y: Any, X: Any) -> Constraints:
    """Constraints and labels in the order of the rows, if there are any."""
    known = join_knowledge(constraints, y, X)
    if known is None or known.is_empty:
        raise SidelightError(
            "ConstraintSearchCV chooses by what is known: call fit(X, constraints=...) with at "
            "least a few must-links and cannot-links."
        )
    return known


def clone_values(params: dict[str, Any]) -> dict[str, Any]:
    """Copy estimators among the values, so that candidates do not share fitted state."""
    return {name: clone(value, safe=False) for name, value in params.items()}


def _scored_at_once(
    estimator: Any, X: Any, known: Constraints, plan: list[Repeat], classes: ClassNames | None
) -> list[Scored | SidelightError]:
    """Score a candidate in parallel with others, with one thread each."""
    with threads(1):
        return list(_scored_fits(estimator, X, known, plan, classes))


def _scored_fits(
    estimator: Any, X: Any, known: Constraints, plan: list[Repeat], classes: ClassNames | None
) -> Iterator[Scored | SidelightError]:
    """Fit a candidate on every split (without constraints, once per repeat); end at an error."""
    for seed, splits in plan:
        try:
            if classes is None:
                yield from _scored_clusters(estimator, X, known, splits, seed)
            else:
                yield from _scored_classes(estimator, X, known, splits, seed, classes)
        except SidelightError as error:
            yield error
            return


def _scored_clusters(
    estimator: Any, X: Any, known: Constraints, splits: Any, seed: int
) -> Iterator[Scored]:
    """How the clusters of every split keep what was held out."""
    uses_constraints = takes_constraints(estimator)
    labels = None
    for train, held_out in splits:
        started = time.perf_counter()
        if labels is None or uses_constraints:
            labels = _fitted_labels(estimator, X, train, seed)
        kept = held_out_satisfaction(train, held_out, labels, known)
        yield kept, n_clusters_of(labels), time.perf_counter() - started, np.nan


def _scored_classes(
    estimator: Any,
    X: Any,
    known: Constraints,
    folds: Any,
    seed: int,
    classes: ClassNames,
) -> Iterator[Scored]:
    """How many labels, and pairs, that were held out come out right in every fold."""
    assert known.labels is not None
    for fold in folds:
        started = time.perf_counter()
        with progress(show=False):
            fitted = fit_classes(set_seed(clone(estimator), seed), X, fold.train, classes)
        codes = classes.codes(classes_of_rows(fitted, X))
        accuracy = float(np.mean(codes[fold.rows] == known.labels[fold.rows]))
        kept = satisfaction(fold.held_out, codes)
        yield kept, len(np.unique(codes)), time.perf_counter() - started, accuracy


def _fitted_labels(estimator: Any, X: Any, train: Constraints, seed: int) -> Any:
    # Bars of the single fits would fight with that of the search; Ctrl-C must reach the search.
    with progress(show=False):
        fitted = fit_with(set_seed(clone(estimator), seed), X, train)
    return labels_of(fitted, X)
