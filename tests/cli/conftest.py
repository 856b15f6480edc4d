"""Running the command line inside the test process."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cli.mixed import customers

from sidelight.cli._app import app
from sidelight.datasets import example_paths


@dataclass
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object that standard output must consist of."""
        return json.loads(self.out)


@pytest.fixture
def run(capsys):
    """Run ``sidelight ...`` and get exit code, standard output and standard error."""

    def run(*arguments: object) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            app([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        code = stop.value.code
        assert isinstance(code, int)
        assert "Traceback" not in captured.err + captured.out
        return Ended(code, captured.out, captured.err)

    return run


@pytest.fixture
def orchard(tmp_path, monkeypatch) -> tuple[Path, Path]:
    """The bundled example in an empty folder that is the current one: (data, links)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tuple(Path(shutil.copy(path, ".")) for path in example_paths())


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Write small files into an empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)

    def put(name: str, text: str) -> Path:
        path = Path(name)
        path.write_text(text, encoding="utf-8")
        return path

    return put


@pytest.fixture
def table(tmp_path, monkeypatch):
    """The mixed table as a file in an empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    frame = customers()
    frame.to_csv("customers.csv", index=False)
    return frame
