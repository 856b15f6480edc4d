"""The page of other splits: maps side by side, old against new, similarities, what clusters are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from sidelight._words import counted, listed
from sidelight.constraints import KnownSplits
from sidelight.evaluation import SplitSimilarity, similarity_to_splits
from sidelight.exceptions import SidelightError
from sidelight.pictures._points import small_map
from sidelight.pictures._projection import project
from sidelight.pictures._run import Given, Partition, make_given, make_run, sample_rows
from sidelight.pictures._splits import known_partitions
from sidelight.pictures.svg._render import svg_of
from sidelight.preparation import TypedColumn
from sidelight.report import sections
from sidelight.report._explained import explained
from sidelight.report.page import render_page
from sidelight.report.sections import MAX_GROUPS, Section, chips, status
from sidelight.report.tables import confusion, scores

#: Most points of a small map.
MAX_POINTS = 1200
#: Known splits with an alternative that tells at most so much of them are avoided.
AVOIDED = 0.1


def render_alternatives(
    estimators: Sequence[Any],
    X: Any,
    *,
    known: KnownSplits,
    labels_true: Any = None,
    ids: Sequence[Any] | None = None,
    feature_names: Sequence[str] | None = None,
    columns: Sequence[TypedColumn] | None = None,
    preparation: Sequence[tuple[str, str, str]] = (),
    title: str | None = None,
    settings: Mapping[str, Any] | None = None,
    command: str | None = None,
    seconds: float | None = None,
) -> str:
    """Return the report of several splits of the same rows as HTML.

    Parameters
    ----------
    estimators : sequence of fitted estimators
        The alternatives, in the order in which they were found
        (:func:`sidelight.cluster.find_alternatives`).
    X : array or CSR matrix of shape (n_samples, n_features)
        The rows that they were fitted to.
    known : KnownSplits
        The splits that were known before; empty for none.
    labels_true, ids, feature_names, columns, preparation, title, settings, command, seconds
        As for :func:`sidelight.report.render_report`.
    """
    if not estimators:
        raise SidelightError("There is no alternative to report on.")
    given = [
        make_given(
            one,
            X,
            constraints=None,
            labels_true=labels_true,
            ids=ids,
            feature_names=feature_names,
        )
        for one in estimators
    ]
    names = [f"alternative {number}" for number in range(1, len(estimators) + 1)]
    found, beside = _found(given, names, known, columns)
    cards = {
        "sentence": _sentence(given[0].n_rows, known, len(estimators)),
        "status": _status(beside[: len(estimators)], known),
        "facts_of_its_own": [
            ("Known", f"{len(known.names):,}"),
            ("Found", f"{len(estimators):,}"),
        ],
        "alternatives": found,
        **_maps(given[0], known, names, [make_run(one).clusters for one in given]),
        "similarities": [row for rows in beside for row in rows],
        "notes": known.notes,
    }
    return render_page(
        "page.html.j2",
        cards,
        style="page.css",
        package=__package__,
        estimator=estimators[0],
        n_rows=given[0].n_rows,
        noun="Rows",
        title=title,
        settings=settings,
        command=command,
        seconds=seconds,
        preparation=preparation,
    )


def _sentence(n_rows: int, known: KnownSplits, n_found: int) -> str:
    rows, splits = counted(n_rows, "row"), counted(n_found, "split")
    if known.is_empty:
        return f"{rows}; {splits}, the first without anything to avoid, each unlike those before."
    return f"{rows}; {splits} that {'differs' if n_found == 1 else 'differ'} from " + (
        f"{listed(known.describe())}."
    )


def _status(beside: list[list[Section]], known: KnownSplits) -> Section:
    """Whether the alternatives tell little of the splits that were to be avoided."""
    told = [
        float(row["nmi_reference"])
        for rows in beside
        for row in rows
        if row["beside"] in known.names
    ]
    if not told:
        return status(None, "Nothing was to be avoided")
    if max(told) <= AVOIDED:
        return status(True, f"Known splits avoided: at most {max(told):.0%} of one is told")
    return status(None, f"{max(told):.0%} of a known split is told again")


def _found(
    given: Sequence[Given],
    names: Sequence[str],
    known: KnownSplits,
    columns: Sequence[TypedColumn] | None,
) -> tuple[list[Section], list[list[Section]]]:
    """Cards of every alternative, and rows of its similarity to the splits before."""
    splits, cards, beside = known, [], []
    for name, one in zip(names, given, strict=True):
        run = make_run(one)
        similar = similarity_to_splits(run.clusters.codes, splits)
        beside.append([_similarity(name, found) for found in similar])
        cards.append(
            {
                "name": name,
                "tables": [
                    {"beside": other, **confusion(split, run.clusters, MAX_GROUPS)}
                    for other, split in known_partitions(splits)
                ],
                "scores": scores(run),
                **explained(run, columns),
                **sections.objective(run.estimator),
            }
        )
        splits = splits.adding(name, run.clusters.codes)
    return cards, beside


def _similarity(name: str, found: SplitSimilarity) -> Section:
    """One row of the table of similarities; numbers have a share of their variance only."""
    numbers = np.isnan(found.variation_of_information)
    return {
        "name": name,
        "beside": found.name,
        "variation": "–" if numbers else f"{found.variation_of_information:.3f}",
        "largest": "–" if numbers else f"{found.largest:.3f}",
        "share": None if numbers else found.variation_of_information / max(found.largest, 1e-12),
        "nmi": "–" if numbers else f"{found.nmi:.3f}",
        "nmi_reference": f"{found.nmi_reference:.3f}",
    }


def _maps(
    given: Given, known: KnownSplits, names: Sequence[str], clusters: Sequence[Partition]
) -> Section:
    """The same small map for every split, colored by it."""
    rng = np.random.default_rng(0)
    rows = sample_rows(given.n_rows, MAX_POINTS, rng)
    placed = project(given.source, rows, given.feature_names, rng)
    splits = [(name, one, True) for name, one in known_partitions(known)]
    splits += [(name, one, False) for name, one in zip(names, clusters, strict=True)]
    maps = [
        {
            "name": name,
            "old": old,
            "svg": Markup(
                svg_of(
                    small_map(
                        placed.xy,
                        split.codes[rows],
                        "scatter small",
                        f"The rows colored by {name}",
                    )
                )
            ),
            "chips": chips(split, np.arange(len(split.names))),
            "n_hidden": max(len(split.names) - MAX_GROUPS, 0),
        }
        for name, split, old in splits
    ]
    note = placed.note
    if len(rows) < given.n_rows:
        note += f" {len(rows):,} of {counted(given.n_rows, 'row')} are drawn."
    n_colors = max(len(split.names) for _, split, _ in splits)
    return {"maps": maps, "map_note": note, "n_colors": n_colors}
