"""Runs that compare: the best candidate is a run as any other, and says what it was chosen from."""

from __future__ import annotations

import numpy as np
import pytest

from sidelight import Constraints
from sidelight._words import at_the_terminal
from sidelight.datasets import example_paths
from sidelight.evaluation import adjusted_rand_index
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.jobs import (
    ClusterRequest,
    CompareRequest,
    CompareRun,
    EmbedRequest,
    apply_model,
    load_model,
    prepare,
    run,
)
from sidelight.jobs._options import write_numbers


@pytest.fixture(scope="module")
def orchard():
    return example_paths()


@pytest.fixture(scope="module")
def found(orchard):
    data, links = orchard
    asked = CompareRequest(
        data,
        k=[2, 3],
        constraints=links,
        truth="variety",
        methods=["pckmeans", "kmeans"],
        budget="5m",
    )
    return run(asked)


def test_the_best_is_what_a_run_of_it_gives(orchard, found):
    data, links = orchard
    assert isinstance(found, CompareRun)
    best = found.comparison.best_
    assert (best.name, best.k) == ("pckmeans", 3)
    alone = run(ClusterRequest(data, k=3, method="pckmeans", constraints=links, truth="variety"))
    assert np.array_equal(found.labels, alone.labels)
    assert found.scores == alone.scores
    assert found.sizes == alone.sizes
    assert found.method == alone.method


def test_it_writes_what_a_run_writes(found, tmp_path):
    written = found.write(
        labels=tmp_path / "labels.csv",
        model=tmp_path / "model.skops",
        report=tmp_path / "report.html",
    )
    model = load_model(written["model"])
    again = apply_model(model, found.data)
    assert adjusted_rand_index(again.labels, found.labels) > 0.9
    page = written["report"].read_text(encoding="utf-8")
    for words in ["What the comparison says", "Chosen: pckmeans with k = 3", "Agreement between"]:
        assert words in page
    assert written["labels"].read_text().startswith("id,cluster")


def test_facts_hold_all_candidates(found):
    facts = found.facts()
    assert facts["method"] == "pckmeans"
    assert len(facts["candidates"]) == 4
    chosen = facts["candidates"][0]
    assert (chosen["name"], chosen["k"], chosen["status"]) == ("pckmeans", 3, "scored")
    assert chosen["gain"] == pytest.approx(chosen["score"] - chosen["plain_score"])
    truth = found.data.truth_codes
    assert chosen["adjusted_rand_index"] == adjusted_rand_index(truth, found.labels)
    assert facts["verdict"] == found.verdict


def test_commands(orchard, found):
    data, links = orchard
    assert found.request.command_line() == (
        f"sidelight compare {data} -k 2:3 --budget 5m --constraints {links} "
        "--methods pckmeans,kmeans --truth-column variety"
    )
    assert found.chosen_command() == (
        f"sidelight cluster {data} -k 3 --constraints {links} --method pckmeans "
        "--truth-column variety"
    )
    with at_the_terminal():
        assert found._ask(90, 3) == (
            f"`sidelight ask {data} -k 3 --questions 90 --constraints {links} --drop variety` "
            "asks for them."
        )
    assert "ActiveClusterer" in found._ask(90, 3)


def test_several_numbers_of_clusters_in_a_plain_run(orchard):
    data, links = orchard
    request = ClusterRequest(data, k=range(2, 5), constraints=links, drop=["variety"])
    chosen = run(request)
    assert isinstance(chosen, CompareRun)
    assert {one.name for one in chosen.comparison.candidates} == {"pckmeans"}
    assert chosen.comparison.best_.k == len(chosen.sizes) == 3
    assert chosen.request.command_line() == (
        f"sidelight cluster {data} -k 2:4 --constraints {links} --drop variety"
    )


def test_settings_go_to_the_only_method():
    X = np.random.default_rng(0).normal(size=(40, 2))
    chosen = run(ClusterRequest(X, k=[2, 3], method="kmeans", settings={"max_iter": "7"}, raw=True))
    assert chosen.estimator.max_iter == 7


def test_rows_in_memory():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = 5 * y[:, None] + rng.normal(size=(80, 2))
    known = Constraints.sample(y, 30, random_state=0)
    found = run(CompareRequest(X, constraints=known, truth=y, methods=["pckmeans"], raw=True))
    assert found.request.command_line() is None
    assert found.chosen_command() is None
    assert [one.k for one in found.comparison.candidates if one.status == "scored"]
    assert found.scores["all"]["n_rows"] == 80


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"methods": "pkmeans"}, "did you mean"),
        ({"methods": " , "}, "names no method"),
        ({"budget": "later"}, "must be a time"),
        ({"methods": "bernoulli-mixture"}, "reads columns as they are"),
    ],
)
def test_wrong_usage_is_told(orchard, given, message):
    data, links = orchard
    with pytest.raises(SidelightError, match=message):
        run(CompareRequest(data, k=2, constraints=links, drop=["variety"], **given))


def test_one_number_is_wanted_where_one_fit_is_prepared(orchard):
    data, _ = orchard
    with pytest.raises(InvalidRequest, match="one number is wanted, got k=2:3"):
        prepare(EmbedRequest(data, k=[2, 3], drop=["variety"]))


def test_numbers_as_text():
    assert write_numbers(None) is None
    assert write_numbers(range(2, 9)) == "2:8"
    assert write_numbers((4,)) == "4"
    assert write_numbers([5, 2, 3]) == "2,3,5"
