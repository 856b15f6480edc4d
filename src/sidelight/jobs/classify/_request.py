"""What is asked for: which rows, whose classes are known for some of them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from sidelight.jobs._options import METHOD, word
from sidelight.jobs._shared import METHODS, MODEL, REPORT, TABLES, main_output, method, request
from sidelight.jobs._table._asked import MethodRequest


@request
class ClassifyRequest(MethodRequest):
    """Which rows, and the classes that are known of some of them.

    ``base`` may also be a classifier of scikit-learn.
    """

    job: ClassVar[str] = "classify"

    method: Annotated[
        str | None,
        method(
            f"{METHODS}. By default auto, which chooses by held-out labels, or "
            "pairwise-logistic-regression where pairs or groups are known."
        ),
    ] = None
    base: Annotated[
        Any,
        word(
            "Learner that the method is to wrap: stump, tree, forest, logistic, svm, rbf-svm, "
            "naive-bayes or neighbors.",
            panel=METHOD,
        ),
    ] = None


REQUEST = ClassifyRequest
OUTPUTS = {
    "classes": main_output(
        "Where to write id and class of every row, the probability of each class (or its decision "
        f"value), and whether the class was given ({TABLES})."
    ),
    "report": REPORT,
    "model": MODEL,
}
