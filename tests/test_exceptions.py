"""Errors keep their facts."""

from __future__ import annotations

import pickle

import pytest

from sidelight.exceptions import (
    ConstraintFileError,
    InconsistentConstraints,
    InfeasibleConstraints,
    InvalidParameter,
    SidelightError,
    UnknownIds,
)


@pytest.mark.parametrize(
    "error",
    [
        SidelightError("what to do"),
        InvalidParameter("n_clusters must be a whole number."),
        InconsistentConstraints("apart", pair=(0, 2), chain=(0, 1, 2)),
        InfeasibleConstraints("too few", k=2, clique=(0, 1, 2), sufficient_k=3),
        UnknownIds("who?", ids=("ann",)),
        ConstraintFileError("where?", path="links.csv", line=3),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_come_back_from_a_pickle_with_their_facts(error):
    error.add_note("a note")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    facts, found = (
        {name: value for name, value in vars(one).items() if name != "__notes__"}
        for one in (error, again)
    )
    assert found == facts
