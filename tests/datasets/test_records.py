"""Made-up papers and customers: the truth behind them, and that it can be found."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight import Relations
from sidelight.datasets import make_duplicates, make_papers
from sidelight.datasets.related._made_up_words import mistyped
from sidelight.exceptions import SidelightError


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(min_codepoint=97, max_codepoint=122), max_size=8), st.integers(0, 999))
def test_a_slip_is_one_edit(word: str, seed: int) -> None:
    from rapidfuzz.distance import OSA

    changed = mistyped(word, np.random.RandomState(seed))
    assert OSA.distance(word, changed) <= 1
    assert changed[:1] == word[:1]


def test_papers() -> None:
    columns, relations, target = make_papers(400, n_authors=100, p_typo=0.0, random_state=0)
    assert {len(column) for column in columns.values()} == {len(target)}
    assert relations.n_hyperedges == 400
    assert relations.ids is not None
    assert relations.ids.tolist() == columns["id"]
    papers = np.array(columns["paper"])
    names = np.array(columns["name"])
    for paper in np.unique(papers)[:100]:
        own = np.flatnonzero(papers == paper)
        assert len(set(target[own].tolist())) == len(own)  # nobody twice on a paper
        assert len({columns["title"][k] for k in own}) == 1
        place = relations.hyperedge_names.tolist().index(paper)
        assert (
            relations.incidence.tocsc()
            .indices[
                relations.incidence.tocsc().indptr[place] : relations.incidence.tocsc().indptr[
                    place + 1
                ]
            ]
            .tolist()
            == own.tolist()
        )

    def surname(name: str) -> str:
        return name.split(",")[0] if "," in name else name.split(" ")[-1]

    for author in range(100):
        assert len({surname(name) for name in names[target == author]}) <= 1
    # The task is not empty: people with several names, and names of several people.
    assert max(len(set(names[target == author])) for author in range(100)) > 3
    assert max(len(set(target[names == name].tolist())) for name in np.unique(names)) > 1
    again = make_papers(400, n_authors=100, p_typo=0.0, random_state=0)
    assert again.columns == columns


def test_coauthors_tell_who_is_meant() -> None:
    _, relations, target = make_papers(600, n_authors=100, random_state=1)
    papers = [
        frozenset(target[relations.incidence.tocsc().indices[a:b]].tolist())
        for a, b in zip(
            relations.incidence.tocsc().indptr, relations.incidence.tocsc().indptr[1:], strict=False
        )
    ]
    together = {pair for team in papers for pair in ((a, b) for a in team for b in team if a < b)}
    assert len(together) < 0.15 * 100 * 99 / 2


def test_customers() -> None:
    columns, pairs, target = make_duplicates(600, random_state=0)
    n = len(target)
    assert {len(column) for column in columns.values()} == {n}
    assert len(np.unique(target)) == 600
    held = list(zip(target.tolist(), columns["source"], strict=True))
    assert len(set(held)) == n  # no file has a person twice
    assert all(born is None or date.fromisoformat(born) for born in columns["birth_date"])
    scored = Relations.from_table(pairs, ids=columns["id"])
    same = target[scored.edges[:, 0]] == target[scored.edges[:, 1]]
    sizes = np.bincount(target)
    n_duplicates = int((sizes * (sizes - 1) // 2).sum())
    assert 0.9 * n_duplicates < same.sum() <= n_duplicates  # blocking loses few
    # The scores tell duplicates apart, but not without mistakes.
    right = (scores := scored.scores) > 0
    assert np.mean(right == same) > 0.8
    assert np.any(right & ~same)
    assert np.any(~right & same)
    assert np.median(scores[same]) > 5 > 0 > np.median(scores[~same])


def test_clean_files_have_clean_scores() -> None:
    _, pairs, _ = make_duplicates(200, p_typo=0.0, p_missing=0.0, noise=0.0, random_state=0)
    assert (
        make_duplicates(200, random_state=3).columns == make_duplicates(200, random_state=3).columns
    )
    probability = np.array(pairs["probability"])
    assert np.all((probability > 0) & (probability < 1))
    one = make_duplicates(1, coverage=0.0, random_state=0)
    assert len(one.target) == 1
    assert one.pairs["i"] == []


def test_bad_options() -> None:
    with pytest.raises(SidelightError, match="p_typo must be a number between 0 and 1"):
        make_papers(p_typo=2.0)
    with pytest.raises(SidelightError, match="n_entities must be a whole number"):
        make_duplicates(0)
    with pytest.raises(SidelightError, match="noise must be a finite number"):
        make_duplicates(noise=-1.0)
