"""The pages that show work: Python and commands run in order, and print what the page shows."""

from __future__ import annotations

import doctest
import io
import itertools
import re
import shlex
import shutil
import textwrap
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sklearn

from sidelight.cli._app import app
from sidelight.datasets import customers_paths, example_paths

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(
    [
        *DOCS.glob("howto/*.rst"),
        *DOCS.glob("coming_from/*.rst"),
        *(DOCS / name for name in ("quickstart.rst", "tutorial.rst", "faq.rst")),
        *(DOCS / "relational" / name for name in ("command_line.rst", "customer_duplicates.rst")),
    ]
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
BLOCK = re.compile(
    r"^\.\. code-block:: (?P<language>\w+)\n(?P<options>(?:   :.+\n)*)\n(?P<body>(?:   .*\n|\n)+)",
    re.MULTILINE,
)
#: Times, which differ from run to run.
SECONDS = re.compile(r"\b\d+(\.\d+)? ?s\b")
#: Commands that a page may show and that are not run here.
NOT_RUN = ("pip", "cd", "make", "python")
#: What stands in for a person at the keyboard, where a page pipes no answers.
KEYS = "q\n"


@dataclass(frozen=True)
class Block:
    """A block of code of a page.

    Attributes
    ----------
    language : str
        ``python``, ``console`` or ``text``.
    options : dict of str to str
        ``caption``: the file that the block is; ``class: fails``: its commands end with an error.
    body : str
        The lines, without indentation.
    line : int
        Where it begins in the page.
    """

    language: str
    options: dict[str, str]
    body: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8") + "\n"
    found = []
    for match in BLOCK.finditer(text):
        options = dict(re.findall(r":([\w-]+): *(.*)", match["options"]))
        body = textwrap.dedent(match["body"]).strip("\n") + "\n"
        found.append(Block(match["language"], options, body, text.count("\n", 0, match.start())))
    return found


def commands(body: str) -> list[tuple[str, str]]:
    """Return every command of a console block with the output that the page shows below it."""
    found: list[tuple[str, str]] = []
    goes_on = False
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif goes_on:
            found[-1] = (found[-1][0] + "\n" + line, "")
        else:
            assert found, f"output without a command: {line!r}"
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
        goes_on = line.endswith("\\") and not found[-1][1]
    return [(command.replace("\\\n", " "), output) for command, output in found]


class Session:
    """One page at work, in a folder that has the bundled tables."""

    def __init__(self, page: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.page, self.capsys, self.monkeypatch = page, capsys, monkeypatch
        self.names: dict[str, Any] = {}

    def run(self, block: Block) -> None:
        if block.language == "python":
            self.python(block)
        elif block.language == "console":
            for command, output in commands(block.body):
                self.command(command, output, fails=block.options.get("class") == "fails")
        elif "caption" in block.options:
            Path(block.options["caption"]).write_text(block.body, encoding="utf-8")

    def python(self, block: Block) -> None:
        assert ">>> " in block.body, f"{self.page.name}: Python that nobody runs\n{block.body}"
        parser = doctest.DocTestParser()
        case = parser.get_doctest(
            block.body, self.names, self.page.name, str(self.page), block.line
        )
        runner = doctest.DocTestRunner(optionflags=FLAGS | doctest.IGNORE_EXCEPTION_DETAIL)
        said: list[str] = []
        with warnings.catch_warnings(action="ignore"):
            runner.run(case, out=said.append, clear_globs=False)
        self.names.update(case.globs)
        assert runner.failures == 0, "".join(said)

    def command(self, line: str, shown: str, *, fails: bool) -> None:
        keys, _, rest = line.rpartition("| ")
        program, *arguments = shlex.split(rest)
        if program in NOT_RUN:
            return
        assert program == "sidelight", f"{self.page.name} shows a command that is not run: {line}"
        typed = shlex.split(keys)[1].replace("\\n", "\n") if keys else KEYS
        self.monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            app(arguments)
        captured = self.capsys.readouterr()
        said = captured.err + captured.out  # notes come before results
        assert bool(stop.value.code) == fails, f"$ {line}\n{said}"
        shown, said = (SECONDS.sub("# s", text) for text in (shown, said))
        if shown.strip():
            checker = doctest.OutputChecker()
            told = checker.output_difference(doctest.Example(f"$ {line}", shown), said, FLAGS)
            assert checker.check_output(shown, said, FLAGS), f"$ {line}\n{told}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the bundled tables, which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for path in (*example_paths(), *customers_paths()):
        shutil.copy(path, tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("default")  # which the command line tells
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_does_what_it_shows(
    page: Path, folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(page, capsys, monkeypatch)
    with sklearn.config_context():  # which a page may set
        for block in blocks(page):
            session.run(block)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", ["README.md", "docs/index.rst"])
def test_commands_of_the_first_pages_run_as_printed(
    page: str, folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (DOCS.parent / page).read_text(encoding="utf-8").replace("\\\n", "")
    lines = re.findall(r"(?:`|\$ )(sidelight [^`\n]+)", text)
    runs = [line for line in lines if "authors.csv" not in line]
    assert len(runs) == {"README.md": 9, "docs/index.rst": 2}[page]
    assert all("with a table of yours" in text for line in lines if line not in runs)
    session = Session(DOCS.parent / page, capsys, monkeypatch)
    for line in runs:
        session.command(line, "", fails=False)


def test_a_page_that_is_wrong_fails(
    folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = folder / "page.rst"
    page.write_text(
        "Wrong\n=====\n\n.. code-block:: python\n\n   >>> 1 + 1\n   3\n\n"
        ".. code-block:: console\n\n   $ sidelight cluster nothing.csv -k 2\n\n"
        ".. code-block:: console\n\n   $ sidelight --version\n   sidelight of another kind\n"
    )
    session = Session(page, capsys, monkeypatch)
    wrong = blocks(page)
    assert [block.language for block in wrong] == ["python", "console", "console"]
    for block in wrong:
        with pytest.raises(AssertionError):
            session.run(block)


BUNDLED = {"customers.csv": customers_paths, "orchard.csv": example_paths}
CONSOLE = re.compile(r"^ *(?:\$ )?(sidelight \w+ (?:.*\\\n)*.*)$", re.MULTILINE)
NAMING = (
    *("--color", "--label-column", "--truth-column", "--drop", "--columns", "--quasi"),
    *("--sensitive", "--identifiers", "--id-column", "--as", "--weight", "--text-column"),
)


def columns_named(words: list[str]) -> set[str]:
    """Return the columns that the options of a command line name."""
    found: set[str] = set()
    for option, value in itertools.pairwise(words):
        if option in NAMING:
            found |= {name.partition("=")[0] for name in value.split(",")}
        elif option == "--at-least":
            found |= set(re.findall(r"\(([a-z_]\w*)", value))
    return found


@pytest.mark.parametrize("table", BUNDLED)
def test_commands_of_all_pages_name_columns_that_the_bundled_tables_have(table: str) -> None:
    header = BUNDLED[table]()[0].read_text(encoding="utf-8").split("\n")[0]
    columns = set(header.strip().split(","))
    unknown, seen = [], 0
    pages = {DOCS.parent / "README.md", *DOCS.rglob("[!_]*.rst")} - set(PAGES)  # those are run
    for page in sorted(pages):
        for line in CONSOLE.findall(page.read_text(encoding="utf-8")):
            words = shlex.split(line.replace("\\\n", " ").partition("`")[0])
            if len(words) > 2 and words[2] == table:
                seen += 1
                unknown += [f"{page.name}: {name}" for name in columns_named(words) - columns]
    assert seen > 3
    assert unknown == []
