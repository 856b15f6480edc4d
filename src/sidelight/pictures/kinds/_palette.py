"""Colours of the clusters, for a light and for a dark page.

Up to eight groups get a fixed palette whose members stay apart for the common forms of colour
blindness and stand out from the page (contrast of at least 3 to 1). None of them is red, which is
kept for violated constraints. More groups get hues spread over the OKLCH circle.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

LIGHT = ("#1779e1", "#da7e1e", "#256d4c", "#721592", "#b53e95", "#009edb", "#897311", "#37305f")
DARK = ("#4b74d8", "#f99603", "#70ccae", "#cc9fff", "#b16389", "#aaeafe", "#ffe563", "#8b95c4")

# Neighbouring hues differ in lightness too, so that many groups stay apart.
_LIGHTNESS = {"light": (0.60, 0.42, 0.66), "dark": (0.72, 0.60, 0.86)}
_CHROMA = 0.15
_HUE_OF_VIOLATIONS = 20.0  # of the red in report.css
_HUES_KEPT_FREE = 50.0

# OKLab to linear sRGB (Björn Ottosson, "A perceptual color space for image processing", 2020).
_LAB_TO_LMS = np.array(
    [
        [1.0, 0.3963377774, 0.2158037573],
        [1.0, -0.1055613458, -0.0638541728],
        [1.0, -0.0894841775, -1.2914855480],
    ]
)
_LMS_TO_RGB = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


def palette(n_groups: int, mode: str) -> list[str]:
    """Return ``n_groups`` colours as ``#rrggbb`` for the ``"light"`` or the ``"dark"`` page.

    Examples
    --------
    >>> palette(2, "light")
    ['#1779e1', '#da7e1e']
    >>> len(set(palette(50, "dark")))
    50
    """
    fixed = LIGHT if mode == "light" else DARK
    if n_groups <= len(fixed):
        return list(fixed[:n_groups])
    start = _HUE_OF_VIOLATIONS + _HUES_KEPT_FREE / 2
    hues = start + (360.0 - _HUES_KEPT_FREE) * np.arange(n_groups) / (n_groups - 1)
    levels = _LIGHTNESS[mode]
    return [
        oklch_to_hex(levels[group % len(levels)], _CHROMA, hue) for group, hue in enumerate(hues)
    ]


def oklch_to_hex(lightness: float, chroma: float, hue: float) -> str:
    """Turn lightness (0 to 1), chroma and hue (degrees) into ``#rrggbb``.

    A colour outside sRGB loses chroma until it fits, which keeps its lightness and hue.
    """
    while True:
        rgb = _linear_rgb(lightness, chroma, hue)
        if chroma <= 0.0 or (rgb.min() >= -1e-4 and rgb.max() <= 1.0 + 1e-4):
            break
        chroma = max(0.0, chroma - 0.005)
    linear = np.clip(rgb, 0.0, 1.0)
    encoded = np.where(
        linear <= 0.0031308, 12.92 * linear, 1.055 * np.power(linear, 1 / 2.4) - 0.055
    )
    return "#" + "".join(f"{round(255 * float(value)):02x}" for value in encoded)


def _linear_rgb(lightness: float, chroma: float, hue: float) -> npt.NDArray[np.float64]:
    angle = np.deg2rad(hue)
    lab = np.array([lightness, chroma * np.cos(angle), chroma * np.sin(angle)])
    result: npt.NDArray[np.float64] = _LMS_TO_RGB @ (_LAB_TO_LMS @ lab) ** 3
    return result
