"""What a method says to rows that it cannot read block by block."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tests.common.models import data_for, make
from tests.engine.processes import cut

from sidelight import catalog
from sidelight.engine import as_rows
from sidelight.engine.partitioned._local import LocalEngine
from sidelight.engine.partitioned._rows import PartitionedRows
from sidelight.exceptions import SidelightError

IN_MEMORY = [method for method in catalog.methods() if not method.tags.out_of_core]
READING = {method.cls.__name__ for method in catalog.methods() if method.tags.out_of_core}
#: Methods that read blocks with some settings.
SOMETIMES = {"SpectralClustering", "ConstraintScore"}


@pytest.mark.parametrize("method", IN_MEMORY, ids=lambda method: method.name)
def test_a_fit_in_memory_names_what_to_take_instead(method: Any) -> None:
    data = data_for(method)
    for rows in (as_rows(data.X), PartitionedRows(LocalEngine(cut(data.X, 2)))):
        with pytest.raises(SidelightError, match="in memory") as caught:
            make(method).fit(rows, constraints=data.known)
        message = str(caught.value)
        named = set(re.findall(r"\b\w+\b", message)) & (READING | SOMETIMES)
        assert named
        assert message.startswith(method.cls.__name__)
        if hasattr(method.cls, "predict") or hasattr(method.cls, "transform"):
            assert "block by block" in message
            assert "sample" in message


def test_what_goes_with_the_rows_is_refused() -> None:
    method = catalog.get("connected-kmeans")
    data = data_for(method)
    model = make(method).fit(data.X, constraints=data.known)
    none = np.zeros((len(data.X), len(data.X)))
    with pytest.raises(SidelightError, match="neighbors= goes with rows in memory"):
        model.predict(as_rows(data.X), neighbors=none)
