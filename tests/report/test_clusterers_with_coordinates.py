"""Clusterers that also have coordinates of their rows report clusters, not a map."""

from __future__ import annotations

import re

import pytest
from tests.common.models import K, data_for, fitted

from sidelight import catalog
from sidelight.report import render_report

SPECTRAL = [method for method in catalog.methods(kind="clusterer") if "spectral" in method.name]


@pytest.mark.parametrize("method", SPECTRAL, ids=lambda method: method.name)
def test_spectral_clusterers_report_their_clusters(method: catalog.Method) -> None:
    data, model = data_for(method), fitted(method)
    assert hasattr(model, "embedding_")
    page = render_report(estimator=model, X=data.X, constraints=data.known)
    assert re.search(rf"{len(data.X)} rows(,| and) {K} clusters", page)
