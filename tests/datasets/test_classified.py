"""Generators for classifiers: shapes, shares and times are what they say."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.recipes.topics import make_topics
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from sidelight.datasets import make_sequences, make_spirals
from sidelight.exceptions import SidelightError


def test_spiral_arms_are_half_a_turn_apart() -> None:
    spiral = make_spirals(noise=0.0, random_state=0)
    assert np.bincount(spiral.target).tolist() == [201, 199]
    radius = np.linalg.norm(spiral.data, axis=1)
    turn = np.arctan2(spiral.data[:, 1], spiral.data[:, 0]) - 2 * np.pi * 1.5 * radius
    np.testing.assert_allclose(np.cos(turn), np.where(spiral.target == 0, 1, -1), atol=1e-9)
    # Nearest neighbors follow the arms, which a line cannot.
    near = KNeighborsClassifier(1).fit(spiral.data[::2], spiral.target[::2])
    assert near.score(spiral.data[1::2], spiral.target[1::2]) > 0.95


def test_topics_have_their_share_of_words() -> None:
    documents = make_topics(400, n_topics=3, topic_share=0.3, mean_length=60, random_state=1)
    counts = documents.data
    assert counts.shape == (400, 2000)
    assert counts.sum() == pytest.approx(400 * 60, rel=0.03)
    plain = make_topics(400, n_topics=3, topic_share=0.0, mean_length=60, random_state=1)
    usual = np.asarray(plain.data.mean(axis=0)).ravel()
    for topic in range(3):
        mean = np.asarray(counts[documents.target == topic].mean(axis=0)).ravel()
        raised = np.sort(mean - 0.7 * usual)[::-1][:150].sum()
        assert raised == pytest.approx(0.3 * 60, rel=0.25)
    with pytest.raises(SidelightError, match="at least 3000 words"):
        make_topics(10, n_topics=3, n_topic_words=1000)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 40), st.integers(1, 6), st.integers(0, 2**31 - 1))
def test_nobody_is_in_two_tracks_at_once(n_sequences: int, n_people: int, seed: int) -> None:
    tracks = make_sequences(n_sequences, n_people=n_people, random_state=seed)
    sequence, time = tracks.extras["sequence"], tracks.extras["time"]
    person = np.array([tracks.target[sequence == code][0] for code in range(n_sequences)])
    for code in range(n_sequences):
        inside = sequence == code
        assert (tracks.target[inside] == person[code]).all()
        np.testing.assert_allclose(np.diff(time[inside]), 0.5)
    spans = [(time[sequence == c].min(), time[sequence == c].max()) for c in range(n_sequences)]
    assert np.all(np.diff([begin for begin, _ in spans]) >= 0)
    overlapping = {
        (a, b)
        for a in range(n_sequences)
        for b in range(a + 1, n_sequences)
        if spans[a][0] <= spans[b][1] and spans[b][0] <= spans[a][1]
    }
    assert {tuple(pair) for pair in tracks.extras["overlapping"].tolist()} == overlapping
    assert all(person[a] != person[b] for a, b in overlapping)
    np.testing.assert_allclose(tracks.data.reshape(len(time), 3, -1).sum(axis=2), 1)


def test_drift_makes_sequences_of_one_person_differ() -> None:
    def between(drift: float) -> float:
        tracks = make_sequences(80, drift=drift, noise=0.1, random_state=0)
        sequence = tracks.extras["sequence"]
        means = np.array([tracks.data[sequence == code].mean(axis=0) for code in range(80)])
        person = np.array([tracks.target[sequence == code][0] for code in range(80)])
        return float(np.mean([means[person == one].var(axis=0).sum() for one in range(6)]))

    assert between(0.8) > 3 * between(0.2)
