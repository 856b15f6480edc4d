"""``sidelight compare``: which method, which number of clusters, and did the knowledge help?"""

from __future__ import annotations

import time

from sidelight.evaluation.inner import seconds_of
from sidelight.jobs._table._comparison import method_names, prepare_comparison
from sidelight.jobs._table._run import Prepared
from sidelight.jobs.compare._request import CompareRequest


def prepare(request: CompareRequest) -> Prepared:
    """Read the rows and what is known, and make features that every method takes."""
    started = time.monotonic()
    if isinstance(request.budget, str):
        seconds_of(request.budget)  # a mistake is reported before the data is read
    names = method_names(request.methods)
    prepared: Prepared = prepare_comparison(request, names, request.budget, started)
    return prepared
