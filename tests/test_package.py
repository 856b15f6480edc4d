"""What is published: wheel and source distribution hold what they should, and run elsewhere.

The suite installs the wheel into an environment of its own that borrows the packages at hand;
``make dist-check`` fetches all of them anew.
"""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.conftest import POSIX_ONLY

import sidelight

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "sidelight"
WORKFLOW = ROOT / ".github" / "workflows" / "test.yml"
MADE_BY_PYTHON = {".pyc", ".nbi", ".nbc"}
#: Folders and files that no distribution may hold.
JUNK = re.compile(
    r"__pycache__|\.py[co]$|\.nb[ic]$|/\.venv|/\.\w+_cache/|\.hypothesis|/_build/|-demo/"
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

needs_checkout = pytest.mark.skipif(
    not (ROOT / "Makefile").is_file(), reason="only a checkout can be built"
)
fetches_all = pytest.mark.skipif(
    "SIDELIGHT_DIST_CHECK" not in os.environ,
    reason="fetches every dependency: `make dist-check` does",
)

# Three lines of a user, and where the package came from.
SCRIPT = """\
from sidelight import cluster, datasets
data, known = datasets.load_example()
print(cluster.COPKMeans(3, random_state=0).fit(data.data, constraints=known).n_violations_)
import sidelight, sys
print(sidelight.__file__)
print(*sys.path, sep="\\n")
"""


@dataclass(frozen=True)
class Built:
    """The two distributions and the names in them."""

    wheel: Path
    sdist: Path

    @property
    def in_wheel(self) -> set[str]:
        with zipfile.ZipFile(self.wheel) as archive:
            return set(archive.namelist())

    @property
    def in_sdist(self) -> set[str]:
        with tarfile.open(self.sdist) as archive:
            return {name.partition("/")[2] for name in archive.getnames()}

    def read(self, name: str) -> str:
        """Text of a file of the wheel's own information."""
        with zipfile.ZipFile(self.wheel) as archive:
            (found,) = (one for one in archive.namelist() if one.endswith(f".dist-info/{name}"))
            return archive.read(found).decode("utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build the source distribution from the checkout, and the wheel from it."""
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    isolation = [] if "SIDELIGHT_DIST_CHECK" in os.environ else ["--no-isolation"]
    finish([sys.executable, "-m", "build", *isolation, "--outdir", folder, ROOT], folder)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Built(wheel, sdist)


def finish(command: list[object], folder: Path, **settings: str) -> str:
    """Run a program that knows nothing of the checkout, and return what it prints."""
    outside = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))
    }
    ended = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**outside, "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1", **settings},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


class Environment:
    """An environment without packages, into which one is installed."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False)
        paths = sysconfig.get_paths("venv", {"base": str(folder), "platbase": str(folder)})
        self.folder = folder
        self.python = Path(paths["scripts"], "python.exe" if os.name == "nt" else "python")
        self.packages = Path(paths["purelib"])

    def program(self, name: str) -> Path:
        (found,) = self.python.parent.glob(f"{name}*")
        return found

    def install(self, wheel: Path, *options: str) -> None:
        pip = [sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet"]
        finish([*pip, *options, wheel], self.folder)

    def borrow(self) -> None:
        """Use the packages of the running environment, but not its link to the checkout.

        Python does not follow the ``.pth`` files of a folder that a ``.pth`` file names.
        """
        places = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
        (self.packages / "borrowed.pth").write_text("\n".join(sorted(places)), encoding="utf-8")


# ------------------------------------------------------------------ contents


def resources() -> Iterator[Path]:
    for path in SOURCE.rglob("*"):
        if path.is_file() and path.suffix not in MADE_BY_PYTHON:
            yield path


@needs_checkout
def test_wheel_holds_the_package_and_nothing_else(built: Built) -> None:
    wanted = {path.relative_to(SOURCE.parent).as_posix() for path in resources()}
    assert {"sidelight/py.typed", "sidelight/report/report.css", "sidelight/__init__.pyi"} < wanted
    packed = {name for name in built.in_wheel if ".dist-info/" not in name}
    assert packed == wanted
    assert not [name for name in built.in_wheel if JUNK.search(f"/{name}")]


@needs_checkout
def test_sdist_holds_what_builds_tests_and_documents_the_package(built: Built) -> None:
    packed = built.in_sdist
    assert {path.relative_to(ROOT).as_posix() for path in resources()} <= packed
    assert {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CITATION.cff",
        "Makefile",
        "docs/conf.py",
        "tests/conftest.py",
        "tests/test_package.py",
        "experiments/harness.py",
        "benchmarks/harness.py",
        "requirements/oldest.txt",
    } <= packed
    assert not [name for name in packed if JUNK.search(f"/{name}")]


@needs_checkout
def test_metadata(built: Built) -> None:
    told = email.message_from_string(built.read("METADATA"))
    assert told["Name"] == "sidelight"
    assert told["Version"] == sidelight.__version__
    assert told["License-Expression"] == "BSD-3-Clause"
    assert told["License-File"] == "LICENSE"
    assert told["Requires-Python"] == ">=3.11"
    assert told["Description-Content-Type"] == "text/markdown"
    assert "Typing :: Typed" in told.get_all("Classifier", [])
    assert told.get_payload().startswith("# Sidelight")
    assert "sidelight = sidelight.cli:main" in built.read("entry_points.txt")


# ------------------------------------------------------------------ elsewhere


def use(environment: Environment, folder: Path, **settings: str) -> None:
    """Run the demo and three lines of Python, from a folder that is not the checkout."""
    assert not folder.resolve().is_relative_to(ROOT)
    finish([environment.program("sidelight"), "demo", "--output", "demo"], folder, **settings)
    for method in ("kmeans", "pckmeans", "copkmeans"):
        assert (folder / "demo" / f"{method}-labels.csv").stat().st_size > 1000
        assert "</html>" in (folder / "demo" / f"{method}-report.html").read_text("utf-8")
    (folder / "three_lines.py").write_text(SCRIPT, encoding="utf-8")
    printed = finish([environment.python, "three_lines.py"], folder, **settings)
    violations, home, *path = printed.splitlines()
    assert violations == "0"
    assert Path(home).is_relative_to(environment.packages)
    assert not {str(ROOT), str(ROOT / "src")} & set(path)


@needs_checkout
def test_installed_wheel_runs_outside_the_checkout(built: Built, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "environment")
    environment.install(built.wheel, "--no-deps", "--no-index")
    environment.borrow()
    # Loops are not compiled once more in this place, which takes longer than all the rest.
    use(environment, tmp_path, NUMBA_DISABLE_JIT="1")


@needs_checkout
@fetches_all
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_either_runs_in_an_empty_environment(kind: str, built: Built, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "environment")
    environment.install(getattr(built, kind))
    use(environment, tmp_path)


# ------------------------------------------------------------------ files beside the package


def test_version_is_the_same_everywhere() -> None:
    assert PROJECT["version"] == sidelight.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [sidelight.__version__]
    assert re.findall(r"^license: (.+)$", citation, re.MULTILINE) == [PROJECT["license"]]


def test_changelog_has_the_kept_headings() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert versions[0] == "[Unreleased]" or sidelight.__version__ in versions[0]
    allowed = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= allowed
    for page in re.findall(r"\]\((docs/.+?)\)", text):
        assert (ROOT / page).is_file()


@pytest.mark.parametrize("name", [".github/workflows/test.yml", ".pre-commit-config.yaml"])
def test_settings_are_yaml(name: str) -> None:
    yaml = pytest.importorskip("yaml")
    assert isinstance(yaml.safe_load((ROOT / name).read_text(encoding="utf-8")), dict)


def test_hooks_run_the_programs_of_the_environment() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"repo: (.+)", text)) == {"local"}
    assert set(re.findall(r"language: (.+)", text)) == {"system"}
    programs = set(re.findall(r"entry: (\S+)", text))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert programs == set(re.findall(r"\$\(BIN\)/(ruff|lint-imports|mypy)", makefile))


def test_oldest_packages_are_installed_without_the_programs_that_check_style() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (extra,) = re.findall(r'"\.\[(\w+)\]" -c requirements/oldest\.txt', makefile)
    extras = PROJECT["optional-dependencies"]
    names = {re.match(r"[\w-]+", line).group() for line in extras[extra]}  # type: ignore[union-attr]
    assert names.isdisjoint({"ruff", "mypy", "import-linter"})  # these ask for newer packages
    assert set(extras["dev"]) >= {f"sidelight[{extra}]"}


def test_oldest_packages_are_those_that_the_project_admits() -> None:
    pins = dict(
        line.split("==")
        for line in (ROOT / "requirements/oldest.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line
    )
    for line in PROJECT["dependencies"]:
        name, least = re.match(r"([\w-]+)>=([\d.]+)", line).groups()  # type: ignore[union-attr]
        if name == "joblib":  # scikit-learn brings it along
            continue
        assert re.fullmatch(rf"{re.escape(least)}(\.\d+)*", pins[name]), name


def test_citation_has_the_required_fields() -> None:
    yaml = pytest.importorskip("yaml")
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert told["cff-version"] == "1.2.0"
    assert told["message"]
    assert told["title"]
    assert all(author["name"] for author in told["authors"])


def test_workflow_runs_targets_that_the_makefile_has() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    lines = re.findall(r"run: make (.+)$", WORKFLOW.read_text(encoding="utf-8"), re.MULTILINE)
    wanted = {target for line in lines for target in line.split()}
    assert "test" in wanted
    assert wanted <= set(phony.split())
    for target in phony.split():
        assert re.search(rf"^[\w /$().-]*\b{re.escape(target)}\b[^:=]*:", makefile, re.MULTILINE)


def test_workflow_covers_the_pythons_that_are_promised() -> None:
    promised = [
        classifier.rpartition(" ")[2]
        for classifier in PROJECT["classifiers"]
        if re.search(r":: 3\.\d+$", classifier)
    ]
    text = WORKFLOW.read_text(encoding="utf-8")
    (tested,) = re.findall(r"^ +python: \[(.+)\]$", text, re.MULTILINE)
    assert re.findall(r"\"(.+?)\"", tested) == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"


@pytest.mark.parametrize("name", POSIX_ONLY)
def test_what_windows_leaves_out_is_there(name: str) -> None:
    file, _, test = name.partition("::")
    assert f"def {test or 'test_'}" in (ROOT / file).read_text(encoding="utf-8")
