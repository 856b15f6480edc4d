"""A pytest plugin that puts our classes where scikit-learn's are, before its own tests are read.

``python -m tests.peers`` runs the tests that scikit-learn is installed with under this plugin. A class
of ours takes their parameters by the tables of ``docs/coming_from/parameters``: what has a counterpart
is renamed, what only says how to compute is passed over, and what has no counterpart is an error, as it
is for a user.
"""

from __future__ import annotations

import csv
import functools
import importlib
import inspect
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sidelight import evaluation

PARAMETERS = Path(__file__).parents[2] / "docs" / "coming_from" / "parameters"
CLASSES = {
    "cluster.KMeans": "cluster.KMeans",
    "cluster.AgglomerativeClustering": "cluster.ConstrainedAgglomeration",
    "cluster.SpectralClustering": "cluster.SpectralClustering",
    "mixture.GaussianMixture": "mixture.GaussianMixture",
    "manifold.Isomap": "manifold.Isomap",
    "manifold.LocallyLinearEmbedding": "manifold.LocallyLinearEmbedding",
    "manifold.SpectralEmbedding": "manifold.LaplacianEigenmap",
    "decomposition.KernelPCA": "manifold.KernelPCA",
    "semi_supervised.LabelPropagation": "semi_supervised.HarmonicClassifier",
    "semi_supervised.LabelSpreading": "semi_supervised.LabelSpreading",
    "semi_supervised.SelfTrainingClassifier": "semi_supervised.SelfTraining",
}
SCORES = {
    "adjusted_mutual_info_score": evaluation.adjusted_mutual_information,
    "adjusted_rand_score": evaluation.adjusted_rand_index,
    "rand_score": evaluation.rand_index,
}
