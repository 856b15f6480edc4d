"""What a fit is, as a line of text: by it a checkpoint knows whether it is of the same fit."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from sidelight.constraints import Constraints


def described(estimator: Any, known: Constraints) -> str:
    """Return the method, its parameters and a digest of what is known.

    Parameters
    ----------
    estimator : estimator
        The method.
    known : Constraints
        What is known about the rows.
    """
    from sidelight import __version__

    params = ", ".join(
        f"{name}={_text(value)}"
        for name, value in sorted(estimator.get_params(deep=False).items())
        if name != "verbose"
    )
    return f"{type(estimator).__name__}({params}) {_digest_of(known)} Sidelight {__version__}"


def _text(value: Any) -> str:
    if isinstance(value, np.random.RandomState):
        return _text(value.get_state(legacy=False)["state"]["key"])
    if isinstance(value, np.ndarray):
        return hashlib.blake2b(np.ascontiguousarray(value).tobytes(), digest_size=8).hexdigest()
    return repr(value)


def _digest_of(known: Constraints) -> str:
    parts = (
        known.must_link,
        known.cannot_link,
        known.must_link_weight,
        known.cannot_link_weight,
        known.labels,
    )
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(b"-" if part is None else np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
