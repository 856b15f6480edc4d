"""Every limit holds."""

from __future__ import annotations

import numpy as np
import pytest
from tests.common.limits import LIMITS, Limit
from tests.common.models import blobs

from sidelight import catalog


@pytest.mark.parametrize("limit", LIMITS, ids=lambda row: f"{row.method}: {row.words}")
def test_limit(limit: Limit) -> None:
    X, y = blobs()
    side, other = np.asarray(limit.side(X, y)), np.asarray(limit.other(X, y))
    assert side.shape == other.shape
    np.testing.assert_allclose(side, other, rtol=1e-9, atol=1e-9)


def test_every_limit_is_one_of_a_method() -> None:
    assert {limit.method for limit in LIMITS} <= {method.name for method in catalog.methods()}
