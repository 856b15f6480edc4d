"""Core of all mixtures: expectation maximization (from ``_fit.em``) and the estimator on it.

Offered are

- :class:`Components`, the protocol that EM needs of the components of a mixture, and
  :class:`ExponentialFamily`, which implements half of it for densities that are linear in their
  sufficient statistics; :class:`DiscreteComponents` for probabilities, and
  :class:`MultinomialComponents` for counts;
- :func:`em`, which runs EM on blocks of rows from given components and returns an
  :class:`EMResult`; rows that are not independent are a :class:`ConstrainedPosterior`, of which
  :class:`LabelledRows` (partial labels) is the simplest;
- :class:`ExpectationMaximization`, the two steps by themselves, and :func:`log_joint_blocks`, which
  maps a function over ``log π_s + log p(x | s)`` of the rows;
- :class:`MixtureBase`, the estimator;
- starts: :func:`data_moments`, :func:`rough_clusters`, :func:`components_of_clusters` and
  :func:`known_classes`;
- criteria for the number of components: :func:`bic`, :func:`aic`, :func:`mdl`, :func:`mml`.
"""

from sidelight._fit.em.components import (
    Components,
    ExponentialFamily,
    InBuffers,
    Statistics,
    WithMeans,
    column_sums,
    feature_tiles,
    in_buffers,
    prepared,
    products,
)
from sidelight._fit.em.discrete import DiscreteComponents, MultinomialComponents, as_floats
from sidelight._fit.em.loop import (
    MIN_WEIGHT,
    ConstrainedPosterior,
    EMResult,
    ExpectationMaximization,
    LabelledRows,
    Parameters,
    Posterior,
    components_of_clusters,
    em,
    log_joint_blocks,
    normalized_log,
)
from sidelight._fit.moments import data_moments, warn_of_large_reg_covar
from sidelight.mixture._core._base import (
    MixtureBase,
    StartName,
    known_classes,
    most_probable,
    rough_clusters,
)
from sidelight.mixture._core._criteria import aic, bic, mdl, mml

__all__ = [
    "MIN_WEIGHT",
    "Components",
    "ConstrainedPosterior",
    "DiscreteComponents",
    "EMResult",
    "ExpectationMaximization",
    "ExponentialFamily",
    "InBuffers",
    "LabelledRows",
    "MixtureBase",
    "MultinomialComponents",
    "Parameters",
    "Posterior",
    "StartName",
    "Statistics",
    "WithMeans",
    "aic",
    "as_floats",
    "bic",
    "column_sums",
    "components_of_clusters",
    "data_moments",
    "em",
    "feature_tiles",
    "in_buffers",
    "known_classes",
    "log_joint_blocks",
    "mdl",
    "mml",
    "most_probable",
    "normalized_log",
    "prepared",
    "products",
    "rough_clusters",
    "warn_of_large_reg_covar",
]
