"""A few values far from all others leave their column as it is, and losses follow the widths."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from sidelight.privacy import Anonymizer, generalize, normalized_certainty_penalty

N = 400


def earners(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    income = np.round(rng.lognormal(10.4, 0.5, N), 2)
    return pd.DataFrame({"age": rng.integers(18, 90, N), "income": income})


def median_width(texts: pd.Series) -> float:
    ends = [re.fullmatch(r"(-?[\d.]+)(?:-(-?[\d.]+))?", text).groups() for text in texts]
    return float(np.median([float(high or low) - float(low) for low, high in ends]))


@pytest.mark.parametrize("values", [[98_765_432.11], [-1e9], [1e6, 3e7, 4e8, 1e9], [1e8] * 60])
@pytest.mark.parametrize("k", [2, 5, 20])
def test_values_far_out_leave_their_column_as_it_is(values: list[float], k: int) -> None:
    plain = earners()
    marked = plain.copy()
    marked.loc[: len(values) - 1, "income"] = values
    before = Anonymizer(k, random_state=0).fit(plain)
    after = Anonymizer(k, random_state=0).fit(marked)
    narrow = median_width(before.published_["income"])
    assert median_width(after.published_["income"]) < 1.35 * narrow
    assert after.column_losses_["income"] > 0.75 * before.column_losses_["income"]


def test_the_unit_of_rounded_numbers_is_that_of_most() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": np.append(rng.normal(size=99), 1e9)})
    texts = Anonymizer(3, random_state=0).fit(X).published_["x"]
    assert median_width(texts[texts.str.len() < 20]) < 0.2


@pytest.mark.parametrize("values", [[], [98_765_432.11], [1e8] * 60])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_loss_grows_with_the_widths(values: list[float], seed: int) -> None:
    X = earners(seed)
    X.loc[: len(values) - 1, "income"] = values
    models = [Anonymizer(k, random_state=0).fit(X) for k in (2, 4, 8, 16, 32)]
    widths = [median_width(model.published_["income"]) for model in models]
    shares = [model.column_losses_["income"] for model in models]
    losses = [model.loss_["ncp"] for model in models]
    for figures in (widths, shares, losses):
        assert np.all(np.diff(figures) > 0)
    penalties = [normalized_certainty_penalty(X, model.published_) for model in models]
    assert np.all(np.diff(penalties) > 0)


def test_a_column_that_got_worse_lost_more() -> None:
    """Classes that do not look at the incomes, in place of some that do, with one value far out."""
    X = earners()[["income"]]
    X.loc[0, "income"] = 98_765_432.11
    order = np.argsort(X["income"].to_numpy())
    near = np.empty(N, np.int64)
    near[order] = np.arange(N) // 5
    rng = np.random.default_rng(1)
    losses, widths = [], []
    for n_mixed in (0, 40, 80, 200, 400):
        labels = near.copy()
        rows = order[: n_mixed or None] if n_mixed else order[:0]
        labels[rows] = rng.permutation(labels[rows])
        published = generalize(X, labels)
        ends = published["income"].str.split("-")
        widths.append(
            (ends.str[-1].astype(float) - ends.str[0].astype(float)).clip(upper=1e5).mean()
        )
        losses.append(normalized_certainty_penalty(X, published))
    assert np.all(np.diff(widths) > 0)
    assert np.all(np.diff(losses) > 0)


def test_a_range_of_all_that_is_not_far_out_leaves_everything_open() -> None:
    X = pd.DataFrame({"x": [*range(100), 10**9]})
    labels = np.zeros(101, int)
    assert normalized_certainty_penalty(X, generalize(X, labels)) == 1.0
    labels[-1] = 1
    assert normalized_certainty_penalty(X, generalize(X, labels)) == pytest.approx(100 / 101)
    labels[50:100] = 2
    wanted = (50 * 49 / 99 + 50 * 49 / 99) / 101
    assert normalized_certainty_penalty(X, generalize(X, labels)) == pytest.approx(wanted)


def test_without_values_far_out_shares_are_those_of_the_range() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    labels = np.argsort(np.argsort(X[:, 0])) // 6
    widths = np.array([np.ptp(X[labels == label]) for label in labels])
    wanted = widths.mean() / np.ptp(X)
    published = generalize(X.round(4), labels)
    assert normalized_certainty_penalty(X, published) == pytest.approx(wanted, abs=1e-4)
