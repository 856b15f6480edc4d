"""Questions about ambiguous rows, asked with a classifier of pairs."""

from __future__ import annotations

import numpy as np
import pytest
from tests.active.conftest import converse

from sidelight import Constraints
from sidelight._fit.parameters import declared, parameter_entries
from sidelight.active import ActiveClusterer, AmbiguousPairs, Answers, make_strategy
from sidelight.cluster import PCKMeans
from sidelight.engine import open_rows
from sidelight.exceptions import InvalidParameter, SidelightError
from sidelight.semi_supervised import PairwiseLogisticRegression, PairwiseSVC

PAIRINGS = ("min", "max", "com")


def begun(y, n_labels=1):
    """Answers that know ``n_labels`` rows of every class."""
    labels = np.full(len(y), -1)
    for code in np.unique(y):
        labels[np.flatnonzero(y == code)[:n_labels]] = code
    return Answers(known=Constraints(labels=labels))


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("unsure", [0.0, 0.3])
def test_no_question_is_asked_whose_answer_is_known(mixed, pairing, unsure):
    X, y = mixed
    strategy = AmbiguousPairs(PairwiseLogisticRegression(), pairing)
    answers, spy = converse(strategy, X, y, None, budget=40, unsure=unsure, answers=begun(y))
    assert len(spy.asked) == 40
    assert answers.n_same > 0


def test_the_nearest_known_row_settles_most_rows(balls):
    """Rows of classes that lie apart are recognized by their nearest labeled row."""
    X, y = balls
    answers, spy = converse(
        AmbiguousPairs(PairwiseSVC()), X, y, None, answers=begun(y), budget=1000
    )
    # All rows are with their class in the end, with one question each.
    component = answers.constraints.components()
    assert len(np.unique(component)) == 4
    assert len(spy.asked) <= len(y)


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_questions_are_those_that_the_classifier_suggests(mixed, pairing):
    X, y = mixed
    answers = begun(y)
    model = PairwiseLogisticRegression().fit(X, constraints=answers.constraints)
    expected = model.suggest_pairs(X, pairing, 3)[0].tolist()
    strategy = AmbiguousPairs(PairwiseLogisticRegression(), pairing, batch=3).start(X, answers)
    asked = []
    for _ in range(3):
        pair = strategy.next_pair()
        asked.append(list(pair))
        answers.skip(*pair)
    assert asked == expected


def test_the_classifier_is_fitted_again_after_every_batch(mixed):
    X, y = mixed
    fits = []

    class Counting(PairwiseLogisticRegression):
        def fit(self, X, y=None, *, constraints=None):
            fits.append(constraints.n_pairs)
            return super().fit(X, y, constraints=constraints)

    converse(AmbiguousPairs(Counting(), batch=4), X, y, None, budget=12, answers=begun(y))
    assert fits == [0, 4, 8]


def test_answers_that_are_taken_back_are_asked_again(mixed):
    X, y = mixed
    answers = begun(y)
    strategy = AmbiguousPairs(PairwiseLogisticRegression(), batch=1).start(X, answers)
    first = strategy.next_pair()
    answers.add(*first, same=bool(y[first[0]] == y[first[1]]))
    assert strategy.next_pair() != first
    second = strategy.next_pair()
    answers.undo()
    assert strategy.next_pair() == second  # until it is answered
    answers.skip(*second)
    assert strategy.next_pair() == first


def test_the_answers_help_on_rows_that_were_not_asked_about(mixed):
    X, y = mixed
    answers = begun(y, 2)
    before = PairwiseLogisticRegression().fit(X, constraints=answers.constraints).score(X, y)
    converse(AmbiguousPairs(PairwiseLogisticRegression()), X, y, None, answers=answers, budget=25)
    after = PairwiseLogisticRegression().fit(X, constraints=answers.constraints).score(X, y)
    assert after > before


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_names(pairing):
    strategy = make_strategy(f"ambiguous-{pairing}", PairwiseSVC(penalty=2.0))
    assert isinstance(strategy, AmbiguousPairs)
    assert strategy.pairing == pairing
    assert strategy.estimator.penalty == 2.0
    assert make_strategy(strategy).pairing == pairing


def test_the_docstring_says_what_the_signature_declares():
    parameters, entries = declared(AmbiguousPairs), parameter_entries(AmbiguousPairs)
    assert list(parameters) == list(entries) == ["estimator", "pairing", "batch"]
    for name in ("pairing", "batch"):
        assert entries[name][0].startswith(parameters[name].type_text)


def test_what_cannot_be_used_is_refused(mixed, tmp_path):
    X, y = mixed
    with pytest.raises(SidelightError, match=r"needs one with suggest_pairs.*has none"):
        AmbiguousPairs().start(X, begun(y))
    with pytest.raises(SidelightError, match=r"needs one with suggest_pairs.*got PCKMeans"):
        AmbiguousPairs(PCKMeans(3)).start(X, begun(y))
    with pytest.raises(SidelightError, match="got PCKMeans"):
        ActiveClusterer(PCKMeans(3), "ambiguous-min").fit(X, oracle=lambda i, j: True)
    with pytest.raises(SidelightError, match="label at least one row of two classes"):
        AmbiguousPairs(PairwiseSVC()).start(X, Answers(len(X)))
    known = Constraints(labels=[0] + [-1] * (len(X) - 1))
    with pytest.raises(SidelightError, match="label at least one row of two classes"):
        AmbiguousPairs(PairwiseSVC()).start(X, Answers(known=known))
    with pytest.raises(InvalidParameter, match="pairing must be"):
        AmbiguousPairs(PairwiseSVC(), "nearest").start(X, begun(y))
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(SidelightError, match="in memory"):
        AmbiguousPairs(PairwiseSVC()).start(open_rows(tmp_path / "rows.npy"), begun(y))
