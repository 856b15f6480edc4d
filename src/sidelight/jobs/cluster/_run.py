"""``sidelight cluster``: clusters of the rows of a table."""

from __future__ import annotations

import dataclasses

from sidelight import catalog
from sidelight._words import worded
from sidelight.catalog import Method
from sidelight.constraints import Conditions, Constraints
from sidelight.exceptions import InvalidRequest
from sidelight.io import Table
from sidelight.jobs._large._when import in_blocks
from sidelight.jobs._table._estimator import named_method
from sidelight.jobs._table._request import kmeans_or_pckmeans, several
from sidelight.jobs._table._request import prepare as prepare_table
from sidelight.jobs._table._run import Prepared
from sidelight.jobs.cluster._conditions import DEFAULT, check_takes_conditions, read_conditions
from sidelight.jobs.cluster._request import ClusterRequest


def prepare(request: ClusterRequest) -> Prepared:
    """Read the rows and what is known, and make the clusterer.

    Of several numbers of clusters, the fit takes the one that suits best.
    """
    has_conditions = isinstance(request.conditions, Conditions) or bool(request.conditions)
    method = None if request.method is None else named_method(request.job, request.method)
    if has_conditions and method is not None:
        check_takes_conditions(method)
    if in_blocks(request, method):
        if has_conditions:
            raise InvalidRequest(
                f"{worded('conditions=', '--at-least')} needs all rows in memory, and these are "
                "read block by block."
            )
        if several(request.k):
            _check_compares(request)
        else:
            # Here, since a table in memory does without these imports.
            from sidelight.jobs._large._request import prepare_large

            return prepare_large(request)
    if several(request.k):
        # Here, since a single fit does without the imports of a comparison.
        from sidelight.jobs._table._comparison import prepare_comparison

        names = None if request.method is None else (request.method,)
        prepared = prepare_comparison(request, names)
        return dataclasses.replace(prepared, names=(prepared.method.name,))

    def choose(data: Table, knowledge: Constraints) -> tuple[Method, tuple[str, ...]]:
        return (catalog.get(DEFAULT), ()) if has_conditions else kmeans_or_pckmeans(data, knowledge)

    found = prepare_table(request, choose)
    if not has_conditions:
        return found
    conditions = read_conditions(request, found.data)
    return dataclasses.replace(
        found, conditions=conditions, notes=(*found.notes, *conditions.notes)
    )


def _check_compares(request: ClusterRequest) -> None:
    """Refuse what has no use where several numbers of clusters are tried on a sample."""
    for name, option in (("engine", "--engine"), ("checkpoint", "--checkpoint")):
        if getattr(request, name) is not None:
            raise InvalidRequest(
                f"{worded(name + '=', option)} is for the fit of one number of clusters; "
                "`sidelight compare` tells which number suits, by a sample of the rows."
            )
