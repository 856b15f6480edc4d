"""Clusters that lie well apart, and oracles that watch what they are asked."""

import numpy as np
import pytest

from sidelight.active import Answers


class Spy:
    """Answers from classes; complains about questions whose answer was known or left open."""

    def __init__(self, y, answers=None, unsure=0.0, seed=0):
        self.y, self.answers, self.unsure = np.asarray(y), answers, unsure
        self.chance = np.random.default_rng(seed)
        self.asked = []

    def query(self, i, j):
        assert i != j
        if self.answers is not None:
            assert self.answers.entailed(i, j) is None, "a question whose answer follows"
            assert not self.answers.was_skipped(i, j), "a question that was left open before"
        self.asked.append((i, j))
        if self.chance.random() < self.unsure:
            return None
        return bool(self.y[i] == self.y[j])


def converse(strategy, X, y, k, *, budget=10_000, seed=0, unsure=0.0, answers=None):
    """Let a strategy ask until nothing is left or the budget is spent."""
    answers = Answers(len(y)) if answers is None else answers
    spy = Spy(y, answers, unsure=unsure, seed=seed)
    strategy.start(X, answers, k, random_state=seed)
    while len(spy.asked) < budget and (pair := strategy.next_pair()) is not None:
        assert strategy.next_pair() == pair, "the same question until it is answered"
        answer = spy.query(*pair)
        if answer is None:
            answers.skip(*pair)
        else:
            answers.add(*pair, answer)
    return answers, spy


@pytest.fixture
def balls():
    """Four classes in balls whose diameter is below the gaps, in three dimensions."""
    rng = np.random.default_rng(0)
    centers = 10.0 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    y = np.repeat(np.arange(4), [25, 5, 12, 18])
    directions = rng.normal(size=(len(y), 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    X = centers[y] + directions * 2.0 * rng.random((len(y), 1))
    order = rng.permutation(len(y))
    return X[order], y[order]


@pytest.fixture
def mixed():
    """Three classes that overlap."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 40)
    X = rng.normal(size=(40, 2)) + 1.5 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    return X, y
