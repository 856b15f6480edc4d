"""Minimum-cut transduction (Blum, Chawla 2001), also over randomized graphs (Blum et al. 2004)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from sidelight._fit.parameters import Count, Seed, Share, Verbosity, estimator
from sidelight._progress import fit_progress
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.constraints import Constraints
from sidelight.exceptions import ConstraintWarning
from sidelight.semi_supervised._core._class_shares import BalancedClassifier, FreeClassShares
from sidelight.semi_supervised.graph._base import _DistributionClassifier
from sidelight.semi_supervised.graph._flow import FlowEdges, edges_of
from sidelight.semi_supervised.graph._priced_cuts import (
    PricedCut,
    cut_with_shares,
    minimum_cut,
)
from sidelight.semi_supervised.graph._shares import harmonic_shares
from sidelight.tags import own_tags

#: A cut is degenerate if a class has less than this share of the unlabeled rows that are expected.
DEGENERATE = 0.05

#: Shares were not reached where more than this share of the rows would have to change its class.
NOT_REACHED = 0.1

#: Fewer expected rows than this are no evidence.
FEW_ROWS = 10


@estimator
class MinCutClassifier(BalancedClassifier, _DistributionClassifier):
    """Classes with the lightest edges between them.

    Minimizes ``Σ_{i<j} w_ij [y_i ≠ y_j] + Σ_u a_{y_u}`` over the classes of the unlabeled rows
    ``u``, the labeled ones fixed (joined by edges of infinite weight): the cut, and a price ``a_c``
    for every unlabeled row of class ``c``. The prices give the classes their shares; without them
    (``class_shares="free"``) it is the minimum cut. For two classes a maximum flow finds the
    minimum exactly. For more, each class is isolated from all others by a minimum cut, which weighs
    at most ``2 - 2/C`` times the optimum, and pairs of classes are cut again until nothing gets
    cheaper, before and after they get prices. New rows take the weighted average of the nearest
    rows of the fit. Read more in the :doc:`user guide </semi_supervised/graph>`.

    Parameters
    ----------
    n_cuts : int >= 1, default=1
        Number of cuts. One is the minimum cut; several are minimum cuts of graphs with random
        weights, of which the rows have the average class, and probabilities. Cuts in which a class
        has almost no rows count only where there are no others.
    noise : float in [0, 1], default=0.5
        Of several cuts, weights are multiplied by random factors within ``1 ± noise``.
    class_shares : {"auto", "labels", "equal", "free"} or array, default="auto"
        Shares of the classes among the unlabeled rows; an array holds one for every class, in the
        order of ``classes_``. "labels" takes those of the labels, which is right where these were
        drawn at random and are many. "auto" takes those of the classes that
        :class:`~sidelight.semi_supervised.HarmonicClassifier` predicts on the same graph. "free"
        is the cut without prices. Give the shares where you know them.
    random_state : int or RandomState or None, default=None
        Seed or generator of the random weights; pass an int for reproducible results.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Share of the cuts in which a row of the fit is of each class, in the order of ``classes_``.
    class_shares_ : ndarray of shape (n_classes,)
        The shares that were wanted; for "free" those of the cut.
    class_prices_ : ndarray of shape (n_classes,)
        Prices ``a``, the smallest 0, in units of the largest weight; all 0 for "free". Of several
        cuts their means.
    objective_ : float
        Weight of the edges between the classes in ``transduction_``, in units of the largest
        weight, and the prices.
    history_ : ndarray of shape (n_iter,)
        The objective after every round over the pairs of classes, at the last prices; of several
        cuts only the end.
    n_iter_ : int
        Number of rounds over the pairs of classes at the last prices; 1 for two classes.
    converged_ : bool
        Always true.

    Notes
    -----
    Weights become whole numbers, of which all edges together have ``2^50``: cuts that differ by
    less than ``1e-15`` of all weights count as equal. Of several minimum cuts one is taken in which
    the rows that differ go with the class that has fewer rows per label. Time of a flow grows
    a little faster than ``n k``; memory is ``O(n k)``.

    The lightest cut often runs around a few labeled rows, so that one class takes almost all others
    (it is degenerate); a warning gives the numbers. Prices make a class larger or smaller: of two
    classes the rows of the one are nested, the fewer the higher their price, and the price is
    found, by some ten flows, at which their number is nearest to the wanted one. Numbers between
    which the cut changes all at once cannot be had at any price: with very few labels the edges
    between the classes weigh more than those around the labels. Prices of several classes are
    changed for two at a time, while that comes nearer to the shares. A warning tells what was
    reached where it is far from what was wanted. With few labels :class:`HarmonicClassifier` and
    :class:`SpectralGraphTransducer` are the better choice.

    References
    ----------
    Blum, Chawla, "Learning from labeled and unlabeled data using graph mincuts", ICML 2001; Blum,
    Lafferty, Rwebangira, Reddy, "Semi-supervised learning using randomized mincuts", ICML 2004;
    Dahlhaus et al., "The complexity of multiterminal cuts", 1994; Mallapragada, thesis, 2010,
    section 2.3.1; Gallo, Grigoriadis, Tarjan, "A fast parametric maximum flow algorithm and
    applications", 1989.

    Examples
    --------
    >>> from sidelight.semi_supervised import MinCutClassifier
    >>> X = [[0.0], [1.0], [2.1], [4.6], [5.7]]
    >>> model = MinCutClassifier(2).fit(X, [0, -1, -1, -1, 1])
    >>> model.transduction_
    array([0, 0, 0, 1, 1])
    """

    n_neighbors: Count = 5
    _: KW_ONLY
    n_cuts: Count = 1
    noise: Share = 0.5
    class_shares: FreeClassShares = "auto"
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="classes with the lightest edges between them in a graph of neighbors",
        source="Blum, Chawla 2001; Mallapragada 2010, section 2.3.1",
        complexity="about O(n k) per flow, ten for two classes, O(C²) for C classes, O(n k) memory",
        sparse=True,
        monotone=True,
    )

    def _learn(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        super()._learn(rows, labels, known)
        self.label_distributions_ = self._values

    def _spread(self, W: sparse.csr_array, labels: IntArray, known: Constraints) -> Array:
        edges, free = edges_of(W, labels), labels < 0
        shares = self._wanted_shares(W, labels)
        if self.n_cuts == 1:
            cut = self._cut(edges, shares)
            votes = np.zeros((len(labels), len(self.classes_)))
            votes[np.arange(len(labels)), cut.classes] = 1.0
        else:
            votes, cut = self._votes(edges, shares)
        self.class_prices_ = cut.prices
        self.objective_ = cut.history[-1]
        self.history_ = np.array(cut.history)
        self.n_iter_ = len(cut.history)
        self.converged_ = True
        if shares is None:
            self.class_shares_ = votes[free].mean(axis=0) if free.any() else votes.mean(axis=0)
        else:
            self.class_shares_ = shares
            self._warn_of_missed(cut.classes[free])
        return votes

    @property
    def _is_free(self) -> bool:
        return isinstance(self.class_shares, str) and self.class_shares == "free"

    def _wanted_shares(self, W: sparse.csr_array, labels: IntArray) -> Array | None:
        """Shares that the classes are to have; None where they are free, or no row is."""
        given = self._given_shares(labels)
        if self._is_free or np.all(labels >= 0):
            return None
        return harmonic_shares(W, labels, len(self.classes_)) if given is None else given

    def _cut(self, edges: FlowEdges, shares: Array | None) -> PricedCut:
        if shares is None:
            return minimum_cut(edges, len(self.classes_))
        return cut_with_shares(edges, shares)

    def _votes(self, edges: FlowEdges, shares: Array | None) -> tuple[Array, PricedCut]:
        """Mean classes and prices over cuts of randomized graphs, degenerate ones left out."""
        rng = check_random_state(self.random_state)
        n, n_classes = len(edges.labels), len(self.classes_)
        expected = _label_shares(edges.labels, n_classes) if shares is None else shares
        votes = {False: np.zeros((n, n_classes)), True: np.zeros((n, n_classes))}
        prices = {False: np.zeros(n_classes), True: np.zeros(n_classes)}
        with fit_progress(type(self).__name__, self.n_cuts, verbose=self.verbose) as progress:
            for _ in range(self.n_cuts):
                factors = 1.0 + self.noise * rng.uniform(-1.0, 1.0, len(edges.weights))
                # No edge vanishes: it may be all that joins a row to the labels.
                cut = self._cut(edges.reweighted(np.maximum(factors, 1e-3)), shares)
                degenerate = len(_starved(cut.classes[edges.labels < 0], expected)) > 0
                votes[degenerate][np.arange(n), cut.classes] += 1.0
                prices[degenerate] += cut.prices
                progress.step()
        counted = not votes[False].any()
        n_counted = votes[counted][0].sum()
        classes, price = np.argmax(votes[counted], axis=1), prices[counted] / n_counted
        return votes[counted] / n_counted, PricedCut(classes, price, [edges.cost(classes, price)])

    def _misses(self, found: IntArray) -> bool:
        """Whether the unlabeled rows have shares far from those wanted, but for rounding."""
        wanted = self.class_shares_ * len(found)
        moved = np.abs(np.bincount(found, minlength=len(wanted)) - wanted).sum() / 2
        return bool(moved > max(NOT_REACHED * len(found), len(wanted)))

    def _warn_of_missed(self, found: IntArray) -> None:
        """Warn where a cut has other shares than those wanted, with the numbers."""
        if not self._misses(found):
            return
        shares = np.bincount(found, minlength=len(self.classes_)) / len(found)
        worst = int(np.argmax(np.abs(shares - self.class_shares_)))
        warn(
            f"The cut gives class {self.classes_.tolist()[worst]!r} {shares[worst]:.0%} of the "
            f"unlabeled rows instead of {self.class_shares_[worst]:.0%}: many rows change their "
            "class at once, and no cut that was found comes nearer. Give more labels, try other "
            f"{setting('n_neighbors')} or {setting('sigma')}, or use HarmonicClassifier or "
            "SpectralGraphTransducer.",
            ConstraintWarning,
        )

    def _warn_of_shares(self, stated: IntArray, predicted: IntArray) -> None:
        """Warn of classes to which the cut leaves almost no rows, or of shares that differ."""
        if not self._is_free and self._misses(predicted):
            return  # that was said, and it is why they differ
        shares = _label_shares(stated, len(self.classes_))
        starved = _starved(predicted, shares)
        if not len(starved):
            super()._warn_of_shares(stated, predicted)
            return
        numbers = ", ".join(
            f"{self.classes_.tolist()[code]!r} {np.sum(predicted == code):,} ("
            f"{shares[code] * len(predicted):,.0f} expected by the labels)"
            for code in starved[:3]
        )
        warn(
            f"The cut is degenerate: of {len(predicted):,} unlabeled rows it gives class {numbers}"
            ". The lightest cut runs around the labeled rows themselves; give more labels, or "
            f"{setting('class_shares')} where you know them, try other {setting('n_neighbors')} or "
            f"{setting('sigma')}, or use HarmonicClassifier or SpectralGraphTransducer.",
            ConstraintWarning,
        )


def _label_shares(labels: IntArray, n_classes: int) -> Array:
    return np.bincount(labels[labels >= 0], minlength=n_classes) / np.sum(labels >= 0)


def _starved(found: IntArray, shares: Array) -> IntArray:
    """Classes with far fewer of the unlabeled rows than their shares say."""
    counts, expected = np.bincount(found, minlength=len(shares)), shares * len(found)
    return np.flatnonzero((expected >= FEW_ROWS) & (counts < DEGENERATE * expected))
