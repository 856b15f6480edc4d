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
from sidelight.semi_supervised.graph._base import _DistributionClassifier
from sidelight.semi_supervised.graph._flow import (
    FlowEdges,
    cut_by_isolation,
    cut_in_two,
    edges_of,
    improve_by_swaps,
)
from sidelight.tags import own_tags

#: A cut is degenerate if a class has less than this share of the unlabeled rows that the labels
#: suggest.
DEGENERATE = 0.05

#: Fewer expected rows than this are no evidence.
FEW_ROWS = 10


@estimator
class MinCutClassifier(_DistributionClassifier):
    """Classes with the lightest edges between them.

    Minimizes the cut ``Σ_{i<j} w_ij [y_i ≠ y_j]`` over the classes of the unlabeled rows, the
    labeled ones fixed (joined by edges of infinite weight): for two classes exactly, by a maximum
    flow. For more, each class is isolated from all others by a minimum cut, which weighs at most
    ``2 - 2/C`` times the optimum, and pairs of classes are cut again until the whole cut gets no
    lighter. New rows take the weighted average of the nearest rows of the fit. Read more in the
    :doc:`user guide </semi_supervised/graph>`.

    Parameters
    ----------
    n_cuts : int >= 1, default=1
        Number of cuts. One is the minimum cut; several are minimum cuts of graphs with random
        weights, of which the rows have the average class, and probabilities. Cuts in which a class
        has almost no rows count only where there are no others.
    noise : float in [0, 1], default=0.5
        Of several cuts, weights are multiplied by random factors within ``1 ± noise``.
    random_state : int or RandomState or None, default=None
        Seed or generator of the random weights; pass an int for reproducible results.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Share of the cuts in which a row of the fit is of each class, in the order of ``classes_``.
    objective_ : float
        Weight of the edges between the classes in ``transduction_``, in units of the largest
        weight.
    history_ : ndarray of shape (n_iter,)
        Weight of the cut after every round over the pairs of classes; of several cuts only the
        end.
    n_iter_ : int
        Number of rounds over the pairs of classes; 1 for two classes.
    converged_ : bool
        Always true.

    Notes
    -----
    Weights become whole numbers, of which all edges together have ``2^50``: cuts that differ by
    less than ``1e-15`` of all weights count as equal. Of several minimum cuts one is taken in which
    the rows that differ go with the class that has fewer rows per label. Time of a flow grows
    a little faster than ``n k``; memory is ``O(n k)``.

    The lightest cut often runs around a few labeled rows, so that one class takes almost all others
    (it is degenerate); a warning gives the numbers. With few labels
    :class:`HarmonicClassifier` and :class:`SpectralGraphTransducer` are the better choice.

    References
    ----------
    Blum, Chawla, "Learning from labeled and unlabeled data using graph mincuts", ICML 2001; Blum,
    Lafferty, Rwebangira, Reddy, "Semi-supervised learning using randomized mincuts", ICML 2004;
    Dahlhaus et al., "The complexity of multiterminal cuts", 1994; Mallapragada, thesis, 2010,
    section 2.3.1.

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
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="classes with the lightest edges between them in a graph of neighbors",
        source="Blum, Chawla 2001; Mallapragada 2010, section 2.3.1",
        complexity="about O(n k) per cut, C cuts for C > 2 classes, O(n k) memory",
        sparse=True,
        monotone=True,
    )

    def _learn(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        super()._learn(rows, labels, known)
        self.label_distributions_ = self._values

    def _spread(self, W: sparse.csr_array, labels: IntArray, known: Constraints) -> Array:
        edges, n_classes = edges_of(W, labels), len(self.classes_)
        votes = np.zeros((len(labels), n_classes))
        if self.n_cuts == 1:
            classes, history = _minimum_cut(edges, n_classes)
            votes[np.arange(len(labels)), classes] = 1.0
        else:
            votes = self._votes(edges, n_classes)
            classes = np.argmax(votes, axis=1)
            history = [edges.cut(classes)]
        self.objective_ = history[-1]
        self.history_ = np.array(history)
        self.n_iter_ = len(history)
        self.converged_ = True
        self._warn_of_degenerate(classes, labels)
        return votes

    def _votes(self, edges: FlowEdges, n_classes: int) -> Array:
        """Mean classes over cuts of randomized graphs, degenerate ones left out."""
        rng = check_random_state(self.random_state)
        n = len(edges.labels)
        votes = {False: np.zeros((n, n_classes)), True: np.zeros((n, n_classes))}
        with fit_progress(type(self).__name__, self.n_cuts, verbose=self.verbose) as progress:
            for _ in range(self.n_cuts):
                factors = 1.0 + self.noise * rng.uniform(-1.0, 1.0, len(edges.weights))
                # No edge vanishes: it may be all that joins a row to the labels.
                classes, _ = _minimum_cut(edges.reweighted(np.maximum(factors, 1e-3)), n_classes)
                degenerate = len(_starved(classes, edges.labels, n_classes)) > 0
                votes[degenerate][np.arange(n), classes] += 1.0
                progress.step()
        counted = votes[False] if votes[False].any() else votes[True]
        return counted / counted[0].sum()

    def _warn_of_degenerate(self, classes: IntArray, labels: IntArray) -> None:
        """Warn about classes to which the cut leaves almost no rows, with the numbers."""
        starved = _starved(classes, labels, len(self.classes_))
        if not len(starved):
            return
        free = classes[labels < 0]
        shares = np.bincount(labels[labels >= 0], minlength=len(self.classes_)) / np.sum(
            labels >= 0
        )
        numbers = ", ".join(
            f"{self.classes_.tolist()[code]!r} {np.sum(free == code):,} ("
            f"{shares[code] * len(free):,.0f} expected by the labels)"
            for code in starved[:3]
        )
        warn(
            f"The cut is degenerate: of {len(free):,} unlabeled rows it gives class {numbers}. The "
            "lightest cut runs around the labeled rows themselves; give more labels, try other "
            f"{setting('n_neighbors')} or {setting('sigma')}, or use HarmonicClassifier or "
            "SpectralGraphTransducer, which balance the classes.",
            ConstraintWarning,
        )


def _minimum_cut(edges: FlowEdges, n_classes: int) -> tuple[IntArray, list[float]]:
    """Classes of all rows, and the weights of the cuts on the way."""
    if n_classes == 2:
        classes = cut_in_two(edges)
        return classes, [edges.cut(classes)]
    return improve_by_swaps(edges, cut_by_isolation(edges, n_classes), n_classes)


def _starved(classes: IntArray, labels: IntArray, n_classes: int) -> IntArray:
    """Classes with far fewer of the unlabeled rows than their share of the labels."""
    expected = np.bincount(labels[labels >= 0], minlength=n_classes) / np.sum(labels >= 0)
    expected = expected * np.sum(labels < 0)
    found = np.bincount(classes[labels < 0], minlength=n_classes)
    return np.flatnonzero((expected >= FEW_ROWS) & (found < DEGENERATE * expected))
