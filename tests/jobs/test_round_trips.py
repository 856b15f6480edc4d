"""Any request becomes a command line that asks the same, and plain values that ask the same."""

from __future__ import annotations

import functools
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sidelight.cli import _errors
from sidelight.cli._app import app
from sidelight.jobs import JOBS, ClusterRequest, EmbedRequest, ResolveRequest
from sidelight.jobs._options import (
    REQUIRED,
    Field,
    fields_of,
    read_numbers,
    split_columns,
    split_names,
    split_settings,
    split_weights,
)
from sidelight.jobs._registry import make_request

EVERY = JOBS.values()
#: Names as most people give them, and anything at all: a shell takes any text without a NUL.
TAME = st.from_regex(r"[A-Za-zäß_][A-Za-z0-9 _.]{0,6}[a-z0-9]", fullmatch=True)
WILD = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    | st.sampled_from("-=,:&*<' "),
    min_size=1,
    max_size=9,
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def of_range(one: Field) -> st.SearchStrategy[Any]:
    """Numbers that the declaration allows."""
    low, high = (0, None) if one.option.range is None else (one.option.range.low, None)
    if one.option.range is not None and one.option.range.high < float("inf"):
        high = one.option.range.high
    if one.option.kind is int:
        return st.integers(low, high)
    allowed = st.floats(low, high, allow_nan=False, allow_infinity=False)
    return allowed if one.option.range is None else allowed.filter(one.option.range.__contains__)


def values(one: Field, words: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Values of a field, by its declaration alone."""
    option, read = one.option, one.option.read
    by_reader: dict[Any, st.SearchStrategy[Any]] = {
        split_names: st.lists(words, min_size=1, max_size=3).map(tuple),
        split_settings: st.dictionaries(words, words, max_size=3),
        split_columns: st.dictionaries(words, words, max_size=3),
        split_weights: st.dictionaries(words, NUMBERS, max_size=3),
        read_numbers: st.integers(1, 99)
        | st.sets(st.integers(1, 30), min_size=2, max_size=4).map(sorted).map(tuple),
        "read_compare": st.dictionaries(words, words, max_size=3),
        "read_blocks": st.lists(
            words | st.lists(words, min_size=2, max_size=3).map(tuple), max_size=3
        ).map(tuple),
        "_read_keep": st.integers(1, 9_999) | st.floats(0.1, 1.0),
        "_read_files": st.dictionaries(words, words.map(Path), max_size=3),
    }
    if read in by_reader or read.__name__ in by_reader:
        return by_reader.get(read, by_reader.get(read.__name__, st.nothing()))
    if option.choices:
        return st.sampled_from(option.choices)
    if option.kind is bool:
        return st.booleans()
    if option.kind in (int, float):
        return of_range(one)
    texts = words.map(Path) if option.kind is Path else words
    return st.lists(texts, max_size=3).map(tuple) if option.many else texts


@functools.cache
def requests(name: str, words: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Requests of a job: every field is given or left out."""
    fields = fields_of(JOBS[name].request)
    needed = {key: values(one, words) for key, one in fields.items() if one.default is REQUIRED}
    others = {key: values(one, words) for key, one in fields.items() if key not in needed}
    given = st.fixed_dictionaries(needed, optional=others)
    return given.map(lambda found: make_request(name, found))


def typed(line: str) -> Any:
    """The request that the program makes of a command line; the job itself is not run."""
    found: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            _errors, "_perform", lambda job, request, *rest, **rules: found.append(request)
        )
        with pytest.raises(SystemExit) as stop:
            app(shlex.split(line)[1:], prog_name="sidelight")
    assert stop.value.code == 0
    return found[0]


@pytest.mark.parametrize("job", EVERY, ids=lambda job: job.name)
@settings(
    max_examples=15, phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck)
)
@given(data=st.data())
def test_a_request_and_its_command_line_ask_the_same(job: Any, data: Any) -> None:
    request = data.draw(requests(job.name, TAME))
    line = request.command_line()
    assert line is not None
    again = typed(line)
    assert type(again) is type(request)
    assert again.as_dict() == request.as_dict()
    assert again.command_line() == line


@pytest.mark.parametrize("job", EVERY, ids=lambda job: job.name)
@settings(
    max_examples=15, phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck)
)
@given(data=st.data())
def test_odd_names_are_typed_rightly_or_not_at_all(job: Any, data: Any) -> None:
    request = data.draw(requests(job.name, WILD))
    line = request.command_line()
    if line is not None:
        assert typed(line).as_dict() == request.as_dict()


@pytest.mark.parametrize("job", EVERY, ids=lambda job: job.name)
@settings(
    max_examples=15, phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck)
)
@given(data=st.data())
def test_a_request_and_its_plain_values_ask_the_same(job: Any, data: Any) -> None:
    request = data.draw(requests(job.name, WILD))
    again = make_request(job.name, request.as_dict())
    assert again.as_dict() == request.as_dict()
    assert again.command_line() == request.command_line()


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        (ClusterRequest("-r.csv", k=3), "sidelight cluster ./-r.csv -k 3"),
        (ClusterRequest("r.csv", drop="-x"), "sidelight cluster r.csv --drop -x"),
        (ClusterRequest("r.csv", drop=("a,b",)), None),
        (ClusterRequest("r.csv", drop=("",)), None),
        (ClusterRequest("r.csv", k=[5, 2, 3]), "sidelight cluster r.csv -k 2,3,5"),
        (ClusterRequest("r.csv", settings={"a=b": 1}), None),
        (ClusterRequest("r.csv", settings={"n_init": 3}), "sidelight cluster r.csv --set n_init=3"),
        (ResolveRequest("r.csv", blocking=("a&b",)), None),
        (EmbedRequest(Path("-"), k=2), "sidelight embed - -d 2"),
        (make_request("methods", {}), "sidelight methods"),
        (make_request("methods", {"name": "-x"}), None),
        (
            ClusterRequest("r.csv", kinds={"size": ["small", "large"]}),
            "sidelight cluster r.csv --as 'size=ordered:small<large'",
        ),
    ],
    ids=str,
)
def test_what_a_line_cannot_say_is_no_line(asked: Any, line: str | None) -> None:
    assert asked.command_line() == line
    if line is not None:
        assert typed(line).command_line() == line
