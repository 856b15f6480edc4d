"""Spectral methods with constraints, by a short name."""

from __future__ import annotations

from functools import partial

from sidelight.cluster import (
    ContractedSpectralClustering,
    FlexibleSpectralClustering,
    GroupedSpectralClustering,
    PropagatedSpectralClustering,
    SignedSpectralClustering,
    SpectralLearning,
)

METHODS = {
    "signed": SignedSpectralClustering,
    "contracted": ContractedSpectralClustering,
    "grouped": GroupedSpectralClustering,
    "flexible": FlexibleSpectralClustering,
    "propagated": PropagatedSpectralClustering,
    "learning": SpectralLearning,
    "learning, additive": partial(SpectralLearning, normalization="additive"),
}
