"""Options of jobs: each is declared once, and all that follows from it agrees."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from sidelight import jobs
from sidelight._words import at_the_terminal
from sidelight.cli._app import app
from sidelight.cli._build import build
from sidelight.exceptions import InvalidRequest
from sidelight.jobs import JOBS, ClusterRequest, CompareRequest, EmbedRequest
from sidelight.jobs._form import form_of
from sidelight.jobs._options import fields_of
from sidelight.jobs._registry import QUESTIONS, by_question

REQUESTS = [
    ClusterRequest("a b.csv", k=(2, 3, 5), settings={"tol": "1e-3"}, drop=("x", "y"), seed=7),
    ClusterRequest("r.csv", k=3, kinds={"a=b": "log"}, weights={"c": 2.5}, raw=True),
    CompareRequest("r.csv", k=(2, 3, 4), methods=("kmeans", "pckmeans"), budget="2m"),
    EmbedRequest("r.csv", k=2, views=("v.csv", "w.csv"), correspondences="c.csv"),
]


def read(line):
    """Read a command line by the command that is made from the request."""
    _, name, *words = shlex.split(line)
    found = []
    command = build(JOBS[name], lambda job, request, *rest, **rules: found.append(request))
    command.main(words, standalone_mode=False)
    return found[0]


@pytest.mark.parametrize("job", JOBS.values(), ids=lambda job: job.name)
def test_every_job_has_a_command_and_a_form(job, capsys):
    with pytest.raises(SystemExit) as stop:
        app([job.name, "--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    form = json.loads(json.dumps(form_of(job.request, job.outputs)))
    assert {one["name"] for one in form} == {*fields_of(job.request), *job.outputs}
    for one in fields_of(job.request).values():
        assert one.option.argument or one.names[0] in shown
    lines = shown.replace(" \\\n", " ")  # as a shell joins them
    assert job.example.split() in [line.split() for line in lines.splitlines()]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda one: one.job)
def test_the_command_line_of_a_request_asks_the_same(request_):
    again = read(request_.command_line())
    assert type(again) is type(request_)
    for name, one in fields_of(type(request_)).items():
        ours, theirs = getattr(request_, name), getattr(again, name)
        paths = one.option.role == "input" and one.option.many
        assert str(tuple(map(Path, ours)) if paths else ours) == str(theirs), name


def test_values_in_memory_cannot_be_typed():
    assert ClusterRequest([[1.0], [2.0]], constraints=object()).command_line() is None


def test_ranges_and_choices_are_refused_by_the_name_of_the_option():
    for given, words in (({"seed": -1}, "seed must be"), ({"scale": "big"}, "scale must be one")):
        with pytest.raises(InvalidRequest, match=f"^{words}"):
            ClusterRequest("r.csv", **given)
        with at_the_terminal(), pytest.raises(InvalidRequest, match=f"^--{words}"):
            ClusterRequest("r.csv", **given)


def test_requests_are_read_without_numpy():
    code = (
        "import sys; from sidelight.jobs._registry import JOBS; "
        "[(job.request, job.outputs) for job in JOBS.values()]; print('numpy' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "False"


def test_commands_are_listed_by_question(capsys):
    assert list(by_question()) == [one for one in QUESTIONS if one in by_question()]
    assert {job.panel for job in JOBS.values()} <= {*QUESTIONS}
    with pytest.raises(SystemExit) as stop:
        app([])
    lines = capsys.readouterr().out.splitlines()
    assert stop.value.code == 0
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    for job in JOBS.values():
        assert job.hidden or any(job.name in line for line in lines)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("sidelight clu", "cluster"),
        ("sidelight cluster --meth", "--method"),
        ("sidelight cluster --method pckm", "pckmeans"),
        ("sidelight compare --methods kmeans,pckm", "kmeans,pckmeans"),
        ("sidelight methods pckm", "pckmeans"),
    ],
)
def test_a_shell_completes(typed, offered, monkeypatch, capsys):
    monkeypatch.setenv("_SIDELIGHT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    with pytest.raises(SystemExit):
        app([], prog_name="sidelight")
    assert offered in capsys.readouterr().out.split()


def test_a_job_that_talks_to_a_person_is_one_of_the_terminal():
    with pytest.raises(InvalidRequest, match=r"only the terminal does: `sidelight ask`"):
        jobs.run("ask", data="rows.csv", k=3)
