"""Distances at which rows joined their clusters."""

from __future__ import annotations

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight._words import counted, format_number
from sidelight.pictures.kinds._curves import Curve, Curves

#: Up to this many curves are named where they end.
MAX_NAMED = 8


def absorption(thresholds: FloatArray, codes: IntArray | None = None) -> Curves:
    """Distances at which rows joined, sorted; a line for every cluster where codes are given.

    Parameters
    ----------
    thresholds : ndarray of shape (n,)
        Distance at which every row joined; not finite for rows that did not.
    codes : ndarray of shape (n,), default=None
        Cluster of every row, -1 for none.
    """
    joined = np.isfinite(thresholds)
    groups = {"all": joined}
    if codes is not None:
        groups = {str(c): joined & (codes == c) for c in np.unique(codes[codes >= 0]).tolist()}
    curves = []
    for number, (name, chosen) in enumerate(groups.items()):
        values = np.sort(thresholds[chosen])
        css = "" if codes is None else f"k{number}"
        curves.append(Curve(name, np.arange(1, len(values) + 1), values, css=css))
    known, left_out = thresholds[joined], int((~joined).sum())
    return Curves(
        title="Distances at which rows joined",
        text=f"From {format_number(known.min())} to {format_number(known.max())}."
        if len(known)
        else "",
        curves=curves,
        axis_titles=("rows in the order of joining", "distance when joining"),
        note=f"{counted(left_out, 'row')} joined no cluster" if left_out else "",
        css="curve absorbed",
        size=(420, 170),
        y_limits=(0.0, 1.04 * max(float(known.max(initial=0.0)), 1e-12)),
        whole=True,
        steps=True,
        dots=False,
        area=codes is None,
        named=len(groups) <= MAX_NAMED,
    )
