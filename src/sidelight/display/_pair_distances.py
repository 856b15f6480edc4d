"""Distances of known pairs, before and after a distance was learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.display._draw._bars import draw_mirrored
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.pictures._histograms import far_end, pair_distances
from sidelight.pictures._pairs import (
    Distances,
    Mapped,
    PairDistances,
    known_distances,
    pair_lengths,
)
from sidelight.pictures._projection import dense
from sidelight.pictures._rows import as_fitted, final_step, given_of
from sidelight.pictures._shapes import cluster_metrics, squared_lengths

_WORDS = {"together": "belong together (up)", "apart": "belong apart (down)"}


@dataclass(eq=False, repr=False, kw_only=True)
class PairDistancesDisplay(Display):
    """Distances of pairs that belong together (upwards) and apart (downwards), before and after.

    Distances are in units of the mean distance of random rows, so that before and after can be
    compared: what counts is whether pairs that belong together are closer than others. Labels and
    groups count by the pairs they amount to; of very many pairs 4,000 of each kind are measured.

    Parameters
    ----------
    together_before, together_after : ndarray of shape (m,)
        Distances of pairs that belong together.
    apart_before, apart_after : ndarray of shape (c,)
        Distances of pairs that do not.

    Attributes
    ----------
    histograms_ : dict of (str, str) to StepPatch
        By kind and time, such as ``("together", "before")``; all are of the same area, whatever
        the number of pairs.
    medians_ : dict of (str, str) to float
        Medians of the same distances, marked by lines.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight import Constraints
    >>> from sidelight.display import PairDistancesDisplay
    >>> from sidelight.metric import DCA
    >>> X, y = load_iris(return_X_y=True)
    >>> known = Constraints.sample(y, 60, random_state=0)
    >>> display = PairDistancesDisplay.from_estimator(DCA().fit(X, constraints=known), X, known)
    >>> bool(display.order("after") > display.order("before"))
    True
    """

    together_before: Array
    together_after: Array
    apart_before: Array
    apart_after: Array
    title: str = ""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, constraints: Constraints, *, ax: Any = None
    ) -> Self:
        """Measure known pairs as they are given and as the estimator sees them.

        Parameters
        ----------
        estimator : fitted transformer, or clusterer with a learned metric
            A learned distance or projection, a selector, a pipeline of such, or a clusterer with
            ``metrics_``. Where clusters have metrics of their own, the squared distance of a pair
            is the mean of those in the metrics of both its rows.
        X : array, CSR matrix, data frame or RowSource of shape (n_samples, n_features)
            The rows of the constraints.
        constraints : Constraints
            What is known; new statements tell more than those of the fit.
        """
        check_matplotlib(cls.__name__)
        model, as_given = final_step(estimator)
        given = given_of(model, X, constraints, None)
        measured = _Measured(given, _after(estimator, model, as_given, X))
        if not any(len(pairs) for pairs in measured.pairs):
            raise SidelightError("The constraints state no pair, label or group: nothing to draw.")
        known = known_distances(measured)
        return cls(
            together_before=known.together.before,
            together_after=known.together.after,
            apart_before=known.apart.before,
            apart_after=known.apart.after,
            title=type(estimator).__name__,
        ).plot(ax)

    def order(self, when: str) -> float:
        """Share of all couples of pairs in which that which belongs together is the closer one.

        Parameters
        ----------
        when : {"before", "after"}
            Which distances.

        Returns
        -------
        float
            Between 0 and 1; 0.5 tells nothing, NaN where pairs of one kind are missing.
        """
        known = PairDistances(
            Distances(self.together_before, self.together_after),
            Distances(self.apart_before, self.apart_after),
        )
        found = known.order(when)
        return float("nan") if found is None else found

    def _draw(self, inks: Inks) -> None:
        kinds = [(kind, when) for when in ("before", "after") for kind in ("together", "apart")]
        most = far_end(*(self._distances(*kind) for kind in kinds))
        pictures = {
            when: pair_distances(
                self._distances("together", when), self._distances("apart", when), most, when
            )
            for when in ("before", "after")
        }
        unit = 0.46 / max(picture.largest for picture in pictures.values())
        base = {"before": 1.0, "after": 0.0}
        self.histograms_: dict[tuple[str, str], Any] = {}
        self.medians_: dict[tuple[str, str], float] = {}
        for when, picture in pictures.items():
            for kind, drawn in draw_mirrored(self.ax_, picture, inks, base[when], unit).items():
                self.histograms_[kind, when] = drawn
                self._draw_median(kind, when, base[when], inks)
                if when == "before":
                    drawn.set_label(_WORDS[kind])
        self.ax_.set(xlim=(0, most), ylim=(-0.55, 1.55))
        self.ax_.set_yticks(list(base.values()), list(base))
        self._write_titles(pictures["before"].axis_titles)
        self.ax_.legend(fontsize="small", framealpha=0.85, facecolor=inks.page, edgecolor="none")

    def _draw_median(self, kind: str, when: str, base: float, inks: Inks) -> None:
        median = float(np.median(self._distances(kind, when)))
        self.medians_[kind, when] = median
        end = base + (0.5 if kind == "together" else -0.5)
        self.ax_.plot([median, median], [base, end], color=inks.ink, linewidth=1.6)

    def _write_titles(self, axis_titles: tuple[str, str]) -> None:
        before, after = self.order("before"), self.order("after")
        said = self.title
        if np.isfinite(before):
            said += f": pairs in the right order {before:.0%} before, {after:.0%} after"
        set_titles(self.ax_, axis_titles, said.removeprefix(": "))

    def _distances(self, kind: str, when: str) -> Array:
        found: Array = getattr(self, f"{kind}_{when}")
        return found


@dataclass(frozen=True)
class _Measured(Mapped):
    """Rows as they are given, and a function that measures pairs as the estimator does."""

    after: Any

    def _after(self, rows: Array, places: Array) -> Array:
        found: Array = self.after(self.given.rows.take(rows), rows, places)
        return found


def _after(estimator: Any, model: Any, as_given: bool, X: Any) -> Any:
    """Function of rows, their positions and pairs of them that measures as the estimator does."""
    metrics = cluster_metrics(model)
    if metrics is not None and as_given:
        labels = np.asarray(model.labels_)

        def by_metrics(taken: Any, rows: Array, pairs: Array) -> Array:
            offsets = dense(taken)[pairs[:, 0]] - dense(taken)[pairs[:, 1]]
            squares = np.zeros(len(pairs))
            for side in (0, 1):
                cluster = labels[rows[pairs[:, side]]] % len(metrics)
                for number, metric in enumerate(metrics):
                    of_it = cluster == number
                    squares[of_it] += squared_lengths(offsets[of_it], metric) / 2
            return np.sqrt(squares)

        return by_metrics
    if hasattr(model, "labels_") or not hasattr(estimator, "transform"):
        raise InvalidRequest(
            f"{type(estimator).__name__} learned no distance of its own; take a transformer of "
            "sidelight.metric, sidelight.manifold or sidelight.feature_selection, or MPCKMeans."
        )
    return lambda taken, rows, pairs: pair_lengths(_transformed(estimator, X, taken), pairs)


def _transformed(estimator: Any, X: Any, taken: Any) -> Any:
    found = estimator.transform(as_fitted(estimator, X, taken))
    return found if sparse.issparse(found) else np.asarray(found)
