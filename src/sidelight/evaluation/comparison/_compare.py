"""Which method, how many clusters, and did the knowledge help? Candidates side by side."""

from __future__ import annotations

import re
import time
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._progress import fit_progress
from sidelight._words import worded
from sidelight.engine import RowSource, get_threads
from sidelight.evaluation._candidates import join_knowledge
from sidelight.evaluation.comparison._comparison import Comparison
from sidelight.evaluation.comparison._conclusion import conclude
from sidelight.evaluation.comparison._contestants import choose_contestants, choose_numbers
from sidelight.evaluation.comparison._race import Race, Task
from sidelight.evaluation.comparison._setting import Clock, Setting
from sidelight.evaluation.comparison._workers import run_tasks
from sidelight.exceptions import InvalidParameter, SidelightError

if TYPE_CHECKING:
    from sidelight.constraints import Constraints


def compare(
    X: Any,
    methods: Any = None,
    *,
    constraints: Constraints | None = None,
    y: Any = None,
    n_clusters: Any = None,
    n_splits: int = 5,
    budget: float | str | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    verbose: int = 0,
) -> Comparison:
    r"""Compare methods and numbers of clusters by what was not used in fitting, and take the best.

    Every candidate, a method with a number of clusters, gets three figures. The **score**: its
    fits use a part of the statements and are scored by the balanced share
    :math:`s = \frac12 (p_{ML} + p_{CL})` of the others that their clusters keep; nothing that is
    scored follows from what was used (:meth:`sidelight.Constraints.split`), clusters at random
    have 0.5, and the standard error counts statements that share a row as dependent. The
    **stability**: mean adjusted Rand index of fits on overlapping subsamples of four fifths of the
    rows, on the rows that they share. The **gain**: the score minus that of the same method without
    any knowledge, on the same statements.

    The chosen candidate is within one standard error of the best score; among these it is the one
    that agrees best with all candidates, each weighted by its score and its stability:

    .. math:: \tilde s_c = \frac{m s_c + 6 t_c}{m + 6}, \quad
              w_c \propto e^{\tilde s_c / \sigma}, \quad
              c^* = \arg\max_{c : s_c \ge \max s - \sigma} \sum_{c'} w_{c'}
              \operatorname{ARI}(c, c')

    for :math:`m` statements, stability :math:`t_c` and the standard error :math:`\sigma` of the
    best score. With many statements this is the best score; with few it is not the luckiest of
    many candidates.

    Parameters
    ----------
    X : array, CSR matrix or data frame of shape (n_samples, n_features)
        The rows.
    methods : str, list of str or mapping, default=None
        Names of methods of the catalog (a text may hold several with commas between), or a mapping
        from names to estimators: any clusterer or pipeline of scikit-learn or Sidelight. By default
        :func:`sidelight.catalog.candidates` proposes some by what is known and how many rows there
        are.
    constraints : Constraints, default=None
        What is known about the rows.
    y : array-like of shape (n_samples,), default=None
        Partial labels (-1 for unknown), joined to the constraints.
    n_clusters : int, iterable of int or None, default=None
        Numbers of clusters to try. By default the number of known classes; without labels 2 to 8,
        but no fewer than the cannot-links need.
    n_splits : int >= 2, default=5
        Number of folds of the statements; fewer where these are too few. Below 100 statements the
        folds are drawn twice.
    budget : float, str or None, default=None
        Seconds after which a result is returned, or a text such as "90s" or "2m". What is not done
        by then is listed as not finished. No limit by default.
    n_jobs : int >= 1, -1 or None, default=None
        Number of worker processes; by default, and with -1, one for every thread that Sidelight
        may use (:func:`sidelight.engine.get_threads`). With 1 and no budget everything runs in this
        process. The result is the same for any number.
    random_state : int, RandomState or None, default=0
        Seed or generator for folds, subsamples and all fits; pass an int for reproducible results.
    verbose : int, default=0
        Whether to show a progress bar.

    Returns
    -------
    Comparison
        The candidates with their figures, the best one fitted with all knowledge, and a verdict in
        plain words.

    Notes
    -----
    A statement counts in the score by its weight, a label by its pairs with all other labels. Of
    more than 20,000 rows a sample is compared, which holds the rows that statements mention, if
    all candidates can assign the other rows afterwards; the chosen one is fitted to all rows. A
    candidate whose fit fails is listed with the reason. Within
    ``sidelight.progress(keep_best=True)`` Ctrl-C ends the comparison with what is scored so far.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.evaluation import compare
    >>> rng = np.random.default_rng(0)
    >>> classes = np.repeat([0, 1, 2], 40)
    >>> X = 6 * np.eye(3)[classes] + rng.normal(size=(120, 3))
    >>> known = Constraints.sample(classes, 60, random_state=0)
    >>> found = compare(X, ["kmeans", "pckmeans"], constraints=known, n_clusters=range(2, 6))
    >>> found.best_.k, found.best_.n_clusters, bool(found.best_.score > 0.95)
    (3, 3, True)
    """
    started = time.monotonic()
    limit = _limit(budget)
    n_workers = _n_workers(n_jobs, limit)
    if isinstance(n_splits, bool) or not isinstance(n_splits, Integral) or n_splits < 2:
        raise InvalidParameter(f"n_splits must be a whole number of at least 2, got {n_splits!r}.")
    X = X if hasattr(X, "shape") or isinstance(X, RowSource) else np.asarray(X)
    known = _known(constraints, y, X)
    # What is compared: methods, numbers of clusters, folds and subsamples.
    contestants = choose_contestants(methods, X, known)
    numbers = choose_numbers(n_clusters, known, known.n_samples)
    setting = Setting(X, known, contestants, int(n_splits), random_state)
    race = Race(contestants, numbers, setting.held_out, setting.n_folds, setting.subsamples)
    work = setting.work(race)
    clock = Clock(started, limit, setting.growth, race)
    # All fits, the most promising first, by several processes and within the budget.
    with fit_progress("compare", race.n_fits, verbose=verbose) as bar:

        def done(task: Task, outcome: Any) -> None:
            race.record(task, outcome)
            bar.step()

        could_end = run_tasks(
            work, race.next_task, done, n_workers=n_workers, deadline=clock.last_fit
        )
    remarks = setting.remarks()
    if limit is not None and not could_end:
        remarks.append(
            "No process could be started for the fits, so the budget was kept between them only."
        )
    return conclude(race, setting, clock, remarks, n_workers, bar.interrupted)


# --- what is asked ----------------------------------------------------------------------------


def seconds_of(text: str) -> float:
    """Read a time: ``90``, ``90s``, ``2m``, ``1.5h``, ``1m30s``.

    Examples
    --------
    >>> seconds_of("2m"), seconds_of("1m30s"), seconds_of("45")
    (120.0, 90.0, 45.0)
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(h|m|s|$)", text.strip().lower())
    whole = re.fullmatch(
        r"(?:\d+(?:\.\d+)?\s*[hms]\s*)*(?:\d+(?:\.\d+)?\s*[hms]?)", text.strip().lower()
    )
    if not parts or whole is None:
        raise InvalidParameter(
            f"{worded('budget', '--budget')} must be a time such as 90s, 2m or 1m30s, got {text!r}."
        )
    return float(sum(float(n) * {"h": 3600, "m": 60, "s": 1, "": 1}[unit] for n, unit in parts))


def _limit(budget: Any) -> float | None:
    if budget is None:
        return None
    seconds: Any = seconds_of(budget) if isinstance(budget, str) else budget
    if isinstance(seconds, bool) or not isinstance(seconds, Real) or not float(seconds) > 0:
        raise InvalidParameter(
            f"{worded('budget', '--budget')} must be a number of seconds above 0, got {budget!r}."
        )
    return float(seconds)


def _n_workers(n_jobs: Any, limit: float | None) -> int:
    """Number of processes; 0 for this one."""
    if n_jobs is None or n_jobs == -1:
        n_jobs = get_threads()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs < 1:
        raise InvalidParameter(f"n_jobs must be None, -1 or at least 1, got {n_jobs!r}.")
    return 0 if n_jobs == 1 and limit is None else int(n_jobs)


def _known(constraints: Constraints | None, y: Any, X: Any) -> Constraints:
    from sidelight.constraints import Constraints

    n_rows = X.n_rows if isinstance(X, RowSource) else X.shape[0]
    known = join_knowledge(constraints, y, X)
    if known is None:
        return Constraints(n_samples=n_rows)
    if known.n_samples != n_rows:
        raise SidelightError(
            f"The constraints are about {known.n_samples} rows but X has {n_rows}."
        )
    return known
