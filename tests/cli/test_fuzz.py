"""Some hundred random command lines: none hangs, none is answered with words of a programmer."""

import shlex

import pytest
from tests.cli import fuzz

CASES = 300
CHUNK = 30
#: Numbers at the edge of their range are left to the runs by hand.
RANGE = ("huge.csv", "large.csv", "tiny.csv")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        made = fuzz.make_files()
        made.tables = [name for name in made.tables if name not in RANGE]
        yield made


@pytest.mark.parametrize("first", range(0, CASES, CHUNK))
def test_random_command_lines(files, first):
    wrong = {}
    for number in range(first, first + CHUNK):
        case = fuzz.make_case(0, number, files)
        ended = fuzz.run_case(case)
        if verdict := ended.verdict(case):
            wrong[f"{number}: {shlex.join(case.arguments)}"] = (verdict, ended.err[-500:])
    assert not wrong
