"""The report in a real browser: its script runs, its switches switch, and there is a picture."""

from __future__ import annotations

import html as html_text
import json
import re

import matplotlib.image
import numpy as np
import pytest

from sidelight.pictures.kinds._palette import DARK, LIGHT
from sidelight.report import write_report

# Acts like a user and writes down what the page then shows.
USER = """
<script>
addEventListener("load", () => {
  const seen = {};
  const shown = (selector) => [...document.querySelectorAll(selector)]
    .filter((element) => getComputedStyle(element).display !== "none").length;
  const count = () => ({ ml: shown("line.s.ml"), cl: shown("line.s.cl"),
    vml: shown("line.v.ml"), vcl: shown("line.v.cl") });
  const click = (id) => { document.getElementById(id).click(); return count(); };
  const circles = document.querySelectorAll("#points circle");
  const fill = (n) => getComputedStyle(circles[n]).fill;
  seen.start = count();
  seen.byLabel = [fill(0), fill(3)];
  seen.legends = [shown(".for-cluster"), shown(".for-label")];
  seen.everything = click("only-violated");
  seen.noMust = click("show-must");
  seen.nothing = click("show-cannot");
  document.querySelector("input[name=colour][value=cluster]").click();
  seen.byCluster = [fill(0), fill(3)];
  const at = circles[3].getBoundingClientRect();
  document.querySelector("svg.scatter").dispatchEvent(new PointerEvent("pointermove",
    { clientX: at.x + at.width / 2, clientY: at.y + at.height / 2, bubbles: true }));
  seen.tip = [...document.getElementById("tip").children].map((line) => line.textContent);
  document.querySelector(".for-cluster button").click();
  seen.dimmed = document.querySelectorAll("#points .dim").length;
  document.documentElement.dataset.seen = JSON.stringify(seen);
});
</script>
"""


@pytest.fixture
def page(example, tmp_path):
    return write_report(
        tmp_path / "report.html",
        estimator=example.model,
        X=example.X,
        constraints=example.constraints,
        labels_true=np.array(["ash", "birch", "cedar"])[example.y],
    )


def test_the_script_runs_and_the_switches_switch(page, chromium):
    page.write_text(page.read_text(encoding="utf-8") + USER, encoding="utf-8")
    dom = chromium(f"{page.as_uri()}#violated,by-label", "--dump-dom")
    root = re.search(r"<html[^>]*>", dom).group()
    assert 'data-ready="true"' in root
    assert "data-error" not in root
    assert len(re.findall(r"<circle class=\"k", dom)) == 120
    seen = json.loads(html_text.unescape(re.search(r'data-seen="([^"]*)"', root).group(1)))
    # The address asked for violated constraints only, coloured by known label.
    assert seen["start"] == {"ml": 0, "cl": 0, "vml": 2, "vcl": 2}
    assert seen["legends"] == [0, 1]
    assert seen["byLabel"][0] == seen["byLabel"][1]
    assert seen["everything"] == {"ml": 2, "cl": 3, "vml": 2, "vcl": 2}
    assert seen["noMust"] == {"ml": 0, "cl": 3, "vml": 0, "vcl": 2}
    assert seen["nothing"] == {"ml": 0, "cl": 0, "vml": 0, "vcl": 0}
    # Row 3 is an ash in the cluster of the birches.
    assert seen["byCluster"][0] == seen["byLabel"][0] != seen["byCluster"][1]
    assert seen["tip"] == [
        "c-003",
        "cluster 1",
        "true class ash",
        "must-link with c-000, violated",
        "cannot-link with c-045, violated",
    ]
    assert seen["dimmed"] == 120 - 39


@pytest.mark.parametrize(("mode", "setting", "colours"), [("light", 1, LIGHT), ("dark", 0, DARK)])
def test_there_is_a_picture(mode, setting, colours, page, chromium, tmp_path):
    picture = tmp_path / f"{mode}.png"
    chromium(
        page.as_uri(),
        f"--screenshot={picture}",
        f"--blink-settings=preferredColorScheme={setting}",
    )
    pixels = np.round(255 * matplotlib.image.imread(picture)[:, :, :3]).astype(int)
    assert pixels.shape == (768, 1366, 3)
    assert (pixels.mean() > 200) == (mode == "light")
    assert (pixels.mean() < 60) == (mode == "dark")
    for colour in (*colours[:3], "#cc1240" if mode == "light" else "#ff5470"):
        wanted = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
        assert np.count_nonzero((np.abs(pixels - wanted) <= 3).all(axis=2)) > 200
