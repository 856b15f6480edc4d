"""Some hundred random command lines: none hangs, none is answered with words of a programmer."""

import itertools
import shlex

import pytest
from tests.cli import fuzz

from sidelight import catalog
from sidelight._fit.parameters import NamesLike, declared
from sidelight.exceptions import InvalidParameter

CASES = 180
CHUNK = 30


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield fuzz.make_files()


@pytest.mark.parametrize("first", range(0, CASES, CHUNK))
def test_random_command_lines(files, first):
    wrong = {}
    for number in range(first, first + CHUNK):
        case = fuzz.make_case(0, number, files)
        ended = fuzz.run_case(case)
        if verdict := ended.verdict(case):
            wrong[f"{number}: {shlex.join(case.arguments)}"] = (verdict, ended.err[-500:])
    assert not wrong


def test_every_damaged_file_is_answered_in_words(files):
    others = itertools.cycle(
        [
            ("predict", "kmeans.skops", "FILE"),
            ("predict", "FILE", "good.csv"),
            ("check", "good.csv", "-c", "FILE"),
            ("cluster", "good.csv", "-k", "2", "--drop", "class", "--must-link", "FILE"),
        ]
    )
    wrong = {}
    for name, other in zip(files.damaged, others, strict=False):
        for arguments in (("cluster", "FILE", "-k", "2"), other):
            case = fuzz.Case([name if word == "FILE" else word for word in arguments])
            if verdict := fuzz.run_case(case).verdict(case):
                wrong[shlex.join(case.arguments)] = verdict
    assert not wrong


def _admits(parameter, value):
    try:
        parameter.parse(value)
    except InvalidParameter:
        return False
    return True


@pytest.mark.parametrize("method", catalog.methods(), ids=lambda method: method.name)
def test_no_declaration_admits_nonsense(method):
    admitted = []
    for name, parameter in declared(method.cls).items():
        for value in (*fuzz.NONSENSE, *fuzz.PERHAPS, "9" * 400, "[" * 500, "1_0_0j"):
            if NamesLike in parameter.options and value == "['a', 'b']":  # names
                continue
            if fuzz.is_refused(parameter.type_text, value) and _admits(parameter, value):
                admitted.append((name, parameter.type_text, value))
    # A kernel is named by any text; the fit knows the names.
    assert [entry for entry in admitted if "str" not in entry[1]] == []
