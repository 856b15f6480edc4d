"""Checks of estimators that keep some of the features, besides those of transformers."""

from __future__ import annotations

import numpy as np
from tests.common.models import data_for, fitted, make

from sidelight.catalog import Method


def check_kept_features_are_those_of_the_rows(method: Method) -> None:
    data, model = data_for(method), fitted(method)
    support = model.get_support()
    assert support.dtype == bool
    assert support.shape == (data.X.shape[1],)
    np.testing.assert_array_equal(model.transform(data.X), data.X[:, support])
    np.testing.assert_array_equal(model.get_support(indices=True), np.flatnonzero(support))


def check_number_of_kept_features(method: Method) -> None:
    data = data_for(method)
    for wanted, kept in ((2, 2), (0.4, 2)):
        model = make(method, n_features_to_select=wanted).fit(data.X, constraints=data.known)
        assert model.get_support().sum() == kept
