r"""Which candidate to take: the one that is expected to agree best with the truth.

Thirty statements leave a standard error of 0.07 on a score, and the best of thirty candidates is
then often the luckiest. So the choice looks at three things at once. With the score :math:`s_c` on
:math:`m` statements, its standard error :math:`\sigma` (that of the best) and the stability
:math:`t_c`,

.. math:: \tilde s_c = \frac{m\, s_c + m_0\, t_c}{m + m_0}, \qquad
          w_c \propto \exp(\tilde s_c / \sigma), \qquad
          u_c = \sum_{c'} w_{c'} \operatorname{ARI}(c, c')

and the candidate with the largest :math:`u_c` among those with :math:`s_c \ge \max s - \sigma` is
taken: stability counts as much as :math:`m_0 = 6` statements, and of candidates that the statements
do not separate the one in the middle of the good ones wins, an outsider does not. Equal
candidates: the more stable one, then the one with fewer clusters, then the first. With many
statements :math:`\sigma` is small, and the best score decides. Time never decides, since it differs
from run to run. Without statements the most stable candidate is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sidelight._typing import FloatArray, IntArray

#: Number of statements that stability counts as much as.
PSEUDO_STATEMENTS = 6
#: Figures that differ by less are the same.
SAME = 1e-9


def shrink(score: FloatArray, stability: FloatArray, n_statements: int) -> FloatArray:
    """Score drawn towards the stability, the more the fewer statements there are."""
    known = np.where(np.isnan(stability), 0.0, stability)
    if n_statements == 0 or np.isnan(score).all():
        return known
    total = n_statements + PSEUDO_STATEMENTS
    return (n_statements * score + PSEUDO_STATEMENTS * known) / total


def choose(
    score: FloatArray,
    error: FloatArray,
    stability: FloatArray,
    n_clusters: Sequence[int] | IntArray,
    agreement: FloatArray,
    n_statements: int,
) -> int:
    """Return the candidate to take.

    Parameters
    ----------
    score, error, stability : ndarray of shape (n_candidates,)
        Share of the held-out statements that each keeps, its standard error, and stability.
    n_clusters : sequence of int
        Clusters of each.
    agreement : ndarray of shape (n_candidates, n_candidates)
        Adjusted Rand index of every two candidates.
    n_statements : int
        Number of statements behind the scores; 0 if only stability is known.
    """
    prior = shrink(score, stability, n_statements)
    if n_statements == 0 or np.isnan(score).all():
        return _best(prior, prior, n_clusters)
    best = int(np.nanargmax(score))
    weight = np.exp((prior - prior.max()) / max(error[best], SAME))
    expected = agreement @ (weight / weight.sum())
    close = score >= score[best] - error[best] - SAME
    return _best(np.where(close, expected, -np.inf), prior, n_clusters)


def _best(value: FloatArray, prior: FloatArray, n_clusters: Sequence[int] | IntArray) -> int:
    """Largest value; of equal ones the larger prior, then fewer clusters, then the first."""
    level = np.flatnonzero(value >= value.max() - SAME)
    level = level[prior[level] >= prior[level].max() - SAME]
    return int(level[np.argmin(np.asarray(n_clusters)[level])])
