from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from sidelight.constraints import Constraints

VOID = {"meta", "input", "br", "hr", "img", "link"}


class Fitted(BaseEstimator):
    """An estimator whose labels are given, so that a test knows what must be reported."""

    def __init__(self, n_clusters=3):
        self.n_clusters = n_clusters

    def with_labels(self, labels, history=None):
        self.labels_ = np.asarray(labels)
        if history is not None:
            self.history_ = np.asarray(history)
        return self


@dataclass
class Example:
    """A run of three clusters with known violations."""

    X: np.ndarray
    y: np.ndarray
    model: Fitted
    constraints: Constraints
    ids: list[str]


@pytest.fixture
def example() -> Example:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 5)) + 4.0 * np.eye(3, 5)[y]
    labels = y.copy()
    labels[[3, 50]] = [1, 2]
    ids = [f"c-{number:03d}" for number in range(120)]
    must = [(ids[a], ids[b]) for a, b in [(0, 1), (0, 3), (41, 50), (80, 81)]]
    cannot = [(ids[a], ids[b]) for a, b in [(0, 40), (3, 45), (50, 90), (7, 99), (8, 100)]]
    constraints = Constraints(must, cannot, ids=ids)
    return Example(X, y, Fitted().with_labels(labels, [90.0, 50.0, 40.0]), constraints, ids)


class Page(HTMLParser):
    """A parsed page: its elements, its text, and whether every tag was closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None], tuple[str, ...]]] = []
        self.text: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.ids_open: list[str | None] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        inside = tuple(name for name in self.ids_open if name)
        self.elements.append((tag, dict(attrs), inside))
        if tag not in VOID:
            self.open.append(tag)
            self.ids_open.append(dict(attrs).get("id"))

    def handle_startendtag(self, tag, attrs):
        inside = tuple(name for name in self.ids_open if name)
        self.elements.append((tag, dict(attrs), inside))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()
        self.ids_open.pop()

    def handle_data(self, data):
        self.text.append((self.open[-1] if self.open else "", data))

    def find(self, tag: str, inside: str | None = None, **wanted: str):
        """Attributes of the elements with this tag, inside the element with this id."""
        return [
            attributes
            for name, attributes, within in self.elements
            if name == tag
            and (inside is None or inside in within)
            and all(
                wanted_value in (attributes.get(key) or "").split()
                for key, wanted_value in ((k.rstrip("_"), v) for k, v in wanted.items())
            )
        ]

    def words(self) -> str:
        """All text a reader sees."""
        return " ".join(
            " ".join(data for tag, data in self.text if tag not in {"style", "script"}).split()
        )


@pytest.fixture
def parse() -> Callable[[str], Page]:
    def parsed(html: str) -> Page:
        page = Page(html)
        assert page.open == []
        return page

    return parsed


@pytest.fixture(scope="session")
def chromium(tmp_path_factory) -> Callable[..., str]:
    """Run headless Chromium on an address and return what it prints."""
    program = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if program is None:
        if os.environ.get("CI") == "true":
            pytest.fail("the report has to be checked in a real browser: install chromium")
        pytest.skip("chromium is not installed; `make test` installs it")
    profile = tmp_path_factory.mktemp("chromium")

    def launch(address: str, *options: str) -> str:
        finished = subprocess.run(
            [
                program,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--hide-scrollbars",
                "--window-size=1366,768",
                "--virtual-time-budget=3000",
                f"--user-data-dir={profile}",
                *options,
                address,
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return finished.stdout

    return launch
