"""The contract of estimators, by kind, and what else holds for everything that is public.

``contract.KINDS`` names for every kind of estimator the modules that hold its checks; a new kind
adds a module and a row there.
"""

import pytest

pytest.register_assert_rewrite(
    "tests.common.estimator",
    "tests.common.knowledge",
    "tests.common.clusterer",
    "tests.common.transformer",
    "tests.common.embedding",
    "tests.common.selector",
    "tests.common.limits",
)
