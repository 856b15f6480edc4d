"""A result is the same from Python and from the terminal, and says itself without markup."""

import inspect
import json

import numpy as np
import pytest

from sidelight import catalog, jobs
from sidelight._fit.parameters import declared
from sidelight.cli._app import app
from sidelight.cluster import find_alternatives
from sidelight.datasets import example_paths, make_purchases
from sidelight.jobs._options import fields_of
from sidelight.preparation import TextPreparer
from sidelight.report.text import Strong, as_html, text_table

DATA, LINKS = map(str, example_paths())


def facts_of(command, capsys):
    """Facts that a command prints."""
    with pytest.raises(SystemExit) as stop:
        app([*map(str, command), "--json"])
    assert stop.value.code == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("name", "fields", "options"),
    [
        (
            "cluster",
            {"k": 3, "constraints": LINKS, "truth": "variety"},
            ["-k", 3, "-c", LINKS, "--truth-column", "variety"],
        ),
        ("check", {"k": 3, "constraints": LINKS}, ["-k", 3, "-c", LINKS]),
        (
            "embed",
            {"method": "rca", "constraints": LINKS, "drop": ["variety"]},
            ["-m", "rca", "-c", LINKS, "--drop", "variety"],
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::sidelight.exceptions.UnusedKnowledge")
def test_python_and_the_terminal_give_the_same_facts(name, fields, options, capsys):
    shown = facts_of([name, DATA, *options], capsys)
    found = jobs.run(name, data=DATA, **fields)
    expected = {**found.facts(), **found.row_values(), "command": name}
    for key in ("knowledge", "labels", "rows", "scores", "quality", "closure"):
        if key in expected:
            plain = json.loads(json.dumps(expected[key], default=lambda one: one.tolist()))
            assert shown[key] == plain, key


def test_the_same_rows_in_memory_give_the_same_co_clusters(tmp_path, capsys):
    bought = make_purchases(30, 9, noise=0.0, random_state=0)
    path = tmp_path / "bought.csv"
    np.savetxt(path, bought.X, fmt="%d", delimiter=",", header=",".join("abcdefghi"), comments="")
    shown = facts_of(["cocluster", path, "-k", 3], capsys)
    found = jobs.run("cocluster", data=bought.X, k=3)
    assert shown["labels"] == found.labels.tolist()
    assert shown["column_labels"] == found.column_labels.tolist()


def test_every_option_that_sets_a_parameter_names_one_that_a_method_has():
    for job in jobs.JOBS.values():
        methods = [m for m in catalog.methods() if m.kind.command == job.name]
        known = {name for method in methods for name in declared(method.cls)}
        for method in methods:
            known |= set(inspect.signature(method.cls.fit).parameters)
        for around in (find_alternatives, TextPreparer):  # a search, and what reads documents
            known |= set(inspect.signature(around).parameters)
        for field in fields_of(job.request).values():
            if methods and field.option.sets:
                assert field.option.sets in known, (job.name, field.name)


def test_a_notebook_shows_texts_and_no_markup_of_the_data():
    evil = "<script>alert(1)</script>"
    html = as_html([(Strong(evil), " & more"), text_table(evil, "B", rows=[(evil, 1)])])
    assert "<script>" not in html
    assert html.count("&lt;script&gt;") == 3
    assert "<b>&lt;script&gt;" in html


def test_a_result_is_shown_with_its_notes_and_tables():
    found = jobs.run("cluster", data=DATA, k=3, constraints=LINKS)
    shown = found._repr_html_()
    assert "PCKMeans" in shown
    assert shown.count("<table>") == 1
    for note in found.notes:
        assert note.split("'")[0] in shown


def test_unknown_jobs_and_fields_are_explained():
    with pytest.raises(ValueError, match="there is no job 'clutser'"):
        jobs.run("clutser", data=DATA)
    with pytest.raises(ValueError, match="cluster has no kk="):
        jobs.run("cluster", data=DATA, kk=3)
    with pytest.raises(ValueError, match="cluster needs data="):
        jobs.run("cluster", k=3)
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0"):
        jobs.run("cluster", data=DATA, k=3, seed=-1)
