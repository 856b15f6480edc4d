"""Kept results: every page says where its figures come from, and that source is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks import pages
from experiments.harness import EXPERIMENTS, WORDS, load

BENCHMARKS = {
    path.stem.removeprefix("bench_"): path
    for path in (pages.ROOT / "benchmarks").rglob("bench_*.py")
}
SOURCES = {"speed": BENCHMARKS, "published": EXPERIMENTS}
KEPT = sorted(pages.RESULTS.rglob("*.md"))


def kept(kind: str) -> dict[str, Path]:
    return {page.stem: page for page in (pages.RESULTS / kind).glob("*.md")}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_has_its_page_and_every_page_its_source(kind: str) -> None:
    assert sorted(kept(kind)) == sorted(SOURCES[kind])


@pytest.mark.parametrize("page", KEPT, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_page_tells_source_date_machine_and_versions(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    (line,) = re.findall(r"^Source: .*$", text, flags=re.MULTILINE)
    source, run, date, machine, versions = line.split(" · ")
    path = pages.ROOT / source.removeprefix("Source: `").removesuffix("`")
    assert path.resolve() == SOURCES[page.parent.name][page.stem].resolve()
    assert run.startswith(("quick run", "full run"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)
    assert "processors" in machine
    assert all(package in versions for package in ("Python", *pages.PACKAGES))
    for picture in re.findall(r"!\[.*?\]\(/(.*?)\)", text):
        assert (pages.DOCS / picture).is_file()


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_kept_table_has_a_verdict(name: str) -> None:
    text = kept("published")[name].read_text(encoding="utf-8")
    for section in text.split("\n## ")[1:]:
        if "\n| --- |" in section:
            (word,) = re.findall(r"^Verdict: \*\*(.*?)\*\*", section, flags=re.MULTILINE)
            assert word in WORDS


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_experiment_can_be_imported(name: str) -> None:
    module = load(name)
    assert module.TITLE
    assert module.VERDICTS


@pytest.mark.parametrize("kind", SOURCES)
def test_assembled_page_is_up_to_date(kind: str) -> None:
    assert (pages.DOCS / f"{kind}.md").read_text(encoding="utf-8") == pages.assemble(kind)
