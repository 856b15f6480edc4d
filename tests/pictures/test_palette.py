"""The colours keep their promises, computed from the definitions of contrast and of vision."""

from __future__ import annotations

import re
from importlib import resources
from itertools import combinations

import numpy as np
import pytest

from sidelight.pictures.kinds._palette import DARK, LIGHT, oklch_to_hex, palette

# Machado, Oliveira, Fernandes 2009, severity 1, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
RGB_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
LMS_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def oklab(rgb: np.ndarray) -> np.ndarray:
    return LMS_TO_LAB @ np.cbrt(RGB_TO_LMS @ np.clip(rgb, 0.0, 1.0))


def contrast(first: str, second: str) -> float:
    """Contrast ratio of WCAG 2."""
    a, b = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (first, second))
    return (b + 0.05) / (a + 0.05)


def css_colours(mode: str) -> dict[str, str]:
    css = resources.files("sidelight.report").joinpath("report.css").read_text(encoding="utf-8")
    light, dark = css.split("@media screen and (prefers-color-scheme: dark)")[:2]
    part = light if mode == "light" else dark.split("* {")[0]
    return dict(re.findall(r"(--[a-z-]+): (#[0-9a-f]{6})", part))


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_fixed_colours_stand_out_from_the_card(mode):
    card = css_colours(mode)["--card"]
    assert all(contrast(colour, card) >= 3.0 for colour in palette(8, mode))


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_fixed_colours_stay_apart_without_full_colour_vision(colours, vision):
    seen = [oklab(VISION[vision] @ linear(colour)) for colour in colours]
    gaps = {(i, j): np.linalg.norm(seen[i] - seen[j]) for i, j in combinations(range(8), 2)}
    assert min(gap for (_, j), gap in gaps.items() if j < 5) > 0.1
    assert min(gaps.values()) > 0.065


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("n_groups", [8, 12, 50])
def test_no_cluster_has_the_colour_of_a_violation(mode, n_groups):
    red = oklab(linear(css_colours(mode)["--bad"]))
    colours = palette(n_groups, mode)
    assert len(set(colours)) == n_groups
    assert min(np.linalg.norm(oklab(linear(colour)) - red) for colour in colours) > 0.06


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("name", ["--ink", "--soft", "--bad", "--good"])
def test_text_is_readable_on_cards_and_page(mode, name):
    css = css_colours(mode)
    assert contrast(css[name], css["--card"]) >= 4.5
    assert contrast(css[name], css["--page"]) >= 4.5
    wash = {"--bad": "--bad-wash", "--good": "--good-wash"}.get(name, "--hair")
    assert contrast(css[name], css[wash]) >= 4.5


def test_conversion_from_oklch():
    assert oklch_to_hex(0.0, 0.0, 0.0) == "#000000"
    assert oklch_to_hex(1.0, 0.0, 0.0) == "#ffffff"
    # sRGB's primaries in OKLCH.
    assert oklch_to_hex(0.62796, 0.25768, 29.234) == "#ff0000"
    assert oklch_to_hex(0.45201, 0.31321, 264.052) == "#0000ff"
    # A colour that a screen cannot show keeps its lightness and hue.
    lightness, a, b = oklab(linear(oklch_to_hex(0.7, 0.4, 150.0)))
    assert lightness == pytest.approx(0.7, abs=0.01)
    assert np.rad2deg(np.arctan2(b, a)) == pytest.approx(150.0, abs=1.0)
