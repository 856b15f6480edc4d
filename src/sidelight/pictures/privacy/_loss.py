"""Loss of a published table against the number of its classes."""

from __future__ import annotations

import numpy as np

from sidelight._typing import Array, FloatArray
from sidelight.pictures.kinds._curves import Curve, Curves


def loss_search(n_classes: Array, losses: FloatArray, chosen: int | None) -> Curves:
    """Loss of every number of classes that was tried, with a mark at the one that was chosen."""
    order = np.argsort(n_classes, kind="stable")
    x, y = np.asarray(n_classes)[order], np.asarray(losses, np.float64)[order]
    tried = list(zip(x.tolist(), y.tolist(), strict=True))
    titles = [f"{int(n):,} classes: {loss:.4f}" for n, loss in tried]
    return Curves(
        title="Loss by number of classes",
        text=", ".join(f"{int(n):,}: {loss:.3f}" for n, loss in tried),
        curves=[Curve("loss", x, y, titles=titles, chosen=chosen)],
        axis_titles=("number of classes", "loss (NCP)"),
        css="curve search",
        size=(420, 190),
        y_limits=(0.0, 1.04 * float(np.nanmax(y, initial=0.0)) or 1.0),
        whole=True,
        mark=chosen,
    )
