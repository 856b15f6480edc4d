"""Partial labels as components: class number ``c`` of those present is component ``c``."""

from __future__ import annotations

import numpy as np

from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError


def known_classes(known: Constraints, n_components: int) -> tuple[Array, Array]:
    """Return the component of every row (-1 where unknown) and the class each stands for.

    Must-links and groups pass a label on to all rows they join.
    """
    if not known.has_labels:
        return np.full(known.n_samples, -1), np.empty(0, dtype=np.int64)
    closure = known.closure()
    codes = closure.component_label[closure.component]
    present = np.unique(codes[codes >= 0])
    if len(present) > n_components:
        names = ", ".join(str(name) for name in known.label_names[present])
        raise SidelightError(
            f"There are {len(present)} classes among the labels ({names}) but only "
            f"n_components={n_components}; ask for at least {len(present)} components."
        )
    components = np.where(codes >= 0, np.searchsorted(present, codes), -1)
    return components, known.label_names[present]
