"""Fits of metric-learn, one per line of requests; run by the Python of its own environment.

``python peer_metric_learn.py data.npz matrix.npy`` reads requests from standard input, such as
``{"learner": "MMC", "params": {"diagonal": true}}``. It answers each with the seconds that the fit
alone took, on one thread, and writes the matrix found to ``matrix.npy``. Nothing of Sidelight is
imported here.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import metric_learn
import numpy as np
from threadpoolctl import threadpool_limits


def fit(data: Any, learner: str, params: dict[str, Any]) -> Any:
    """Fit on the pairs, or on the chunklets; the rows are handed over once, as a preprocessor."""
    if learner == "RCA":
        return metric_learn.RCA(**params).fit(data["X"], data["chunklet"])
    model = getattr(metric_learn, learner)(preprocessor=data["X"], **params)
    if learner == "ITML":
        return model.fit(data["pairs"], data["sign"], bounds=data["bounds"])
    return model.fit(data["pairs"], data["sign"])


def main() -> None:
    with np.load(sys.argv[1]) as held:
        data = dict(held)
    warnings.simplefilter("ignore")  # it calls scikit-learn by old names
    with threadpool_limits(1):
        for line in sys.stdin:
            started = time.perf_counter()
            model = fit(data, **json.loads(line))
            seconds = time.perf_counter() - started
            np.save(sys.argv[2], model.get_mahalanobis_matrix())
            answer = {"seconds": seconds, "n_iter": getattr(model, "n_iter_", None)}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
