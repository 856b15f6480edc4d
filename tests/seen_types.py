"""What editors and type checkers see through the doors: checked by ``make types``, never run.

A method of every family, and what else a script begins with; tests/test_doors.py holds that no
family is left out.
"""

from __future__ import annotations

from typing import assert_type

from sidelight import Constraints
from sidelight.cluster import KMeans, PCKMeans
from sidelight.engine import RowSource, as_rows
from sidelight.feature_selection import ConstraintScore
from sidelight.manifold import AutoassociativeNetwork
from sidelight.metric import CannotLinkMetric
from sidelight.mixture import AcceleratedMixture
from sidelight.privacy import Anonymizer
from sidelight.relational import AttributeResolution
from sidelight.semi_supervised import AssembleClassifier


def see() -> None:
    assert_type(Constraints(n_samples=3), Constraints)
    assert_type(as_rows([[0.0]]), RowSource)
    assert_type(PCKMeans(n_clusters=3, penalty=2.0), PCKMeans)
    assert_type(KMeans().fit([[0.0]]), KMeans)
    assert_type(KMeans().summary(), str)
    assert_type(ConstraintScore(), ConstraintScore)
    assert_type(AutoassociativeNetwork(), AutoassociativeNetwork)
    assert_type(CannotLinkMetric(), CannotLinkMetric)
    assert_type(AcceleratedMixture(), AcceleratedMixture)
    assert_type(Anonymizer(), Anonymizer)
    assert_type(AttributeResolution(), AttributeResolution)
    assert_type(AssembleClassifier(), AssembleClassifier)
