"""``sidelight cluster --at-least``: conditions on what every cluster holds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sidelight.constraints import Conditions
from sidelight.exceptions import InvalidRequest
from sidelight.jobs import ClusterRequest, run


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    rng = np.random.RandomState(0)
    table = pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(90)],
            "age": rng.randint(10, 80, 90),
            "height": rng.normal(170, 10, 90).round(1),
            "sex": rng.choice(["f", "m"], 90),
        }
    )
    table.to_csv("people.csv", index=False)
    return table


def test_conditions_on_columns_that_are_no_features(people, run):
    options = ("--at-least", "count(sex = 'f') >= 10", "--at-least", "count(*) >= 25")
    command = ("cluster", "people.csv", "-k", "3", "--drop", "sex", *options, "-o", "labels.csv")
    ended = run(*command, "--report", "r.html")
    assert ended.code == 0, ended.err
    labels = pd.read_csv("labels.csv")["cluster"]
    assert labels.value_counts().min() >= 25
    assert labels[people["sex"] == "f"].value_counts().min() >= 10
    assert "ExistentialKMeans" in ended.out
    assert "sex = 'f'" in ended.out
    page = Path("r.html").read_text(encoding="utf-8")
    assert "What every cluster has to hold" in page
    assert "6 conditions: all satisfied" in page
    facts = json.loads(run(*command[:-2], "--json").out)
    assert [one["condition"] for one in facts["conditions"]] == ["sex = 'f'", "rows"]
    assert facts["conditions"][1]["at_least"] == [25, 25, 25]
    assert sum(facts["conditions"][1]["rows"]) == 90


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--at-least", "avg(age) >= 30"), "'avg(age) >= 30' does not count rows"),
        (("--at-least", "max(age) <= 20"), "is about every row by itself"),
        (("--at-least", "count(agee > 3) >= 2"), "there is no column 'agee'; did you mean 'age'"),
        (("--at-least", "count(*) >= 31"), "at least 93 rows with it (there are 90)"),
        (("--at-least", "count(*) >= 3", "-m", "kmeans"), "KMeans has no use for conditions"),
        (("--at-least", "count(*) >= 3", "-k", "2:4"), "cannot be compared"),
    ],
)
def test_what_cannot_be_met_or_used_is_told(people, run, options, message):
    ended = run("cluster", "people.csv", "-k", "3", *options)
    assert ended.code != 0
    assert message in " ".join(ended.err.split())


def test_the_command_line_of_a_request(people):
    request = ClusterRequest("people.csv", k=3, conditions=["max(age) >= 70"])
    assert "--at-least 'max(age) >= 70'" in request.command_line()
    found = run(request)
    assert found.method.name == "existential-kmeans"
    assert found.conditions.unmet(found.labels, 3) == []


def test_conditions_from_memory(people):
    rows = people.set_index("id")[["age", "height"]]
    wanted = Conditions({"old": (people["age"].to_numpy() > 60, 4)}, ids=rows.index)
    shuffled = rows.sample(frac=1, random_state=0)
    found = run(ClusterRequest(shuffled, k=3, conditions=wanted, raw=True))
    assert found.conditions.unmet(found.labels, 3) == []
    assert ClusterRequest(rows, conditions=wanted, raw=True).command_line() is None
    names = run(ClusterRequest(rows, k=2, conditions="count(age > 60) >= 5", raw=True))
    assert names.conditions.names == ("age > 60",)
    with pytest.raises(InvalidRequest, match="about 90 rows"):
        run(ClusterRequest(rows.iloc[:50].to_numpy(), k=2, conditions=wanted, raw=True))
