"""``sidelight cluster``: read, fit, say what came out, write it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sidelight import catalog
from sidelight.cli._common import (
    Screen,
    check_output,
    class_codes,
    counted,
    knowledge_facts,
    number,
    plain_text,
    read_knowledge,
    show_violations,
    table,
    violation_facts,
    write_all,
)
from sidelight.cli._settings import choose_method, make_estimator
from sidelight.constraints import Constraints
from sidelight.io import Table, read_table, write_labels
from sidelight.io._labels import check_labels_path

SHOWN_CLUSTERS = 30
KINDS = {"must_link": "must-link", "cannot_link": "cannot-link"}


@dataclass
class Request:
    """What the user asked for."""

    data: Path
    k: int | None = None
    method: str | None = None
    constraints: Path | None = None
    must_link: Path | None = None
    cannot_link: Path | None = None
    label_column: str | None = None
    truth_column: str | None = None
    settings: tuple[str, ...] = ()
    id_column: str | None = None
    columns: list[str] | None = None
    drop: list[str] | None = None
    standardize: bool = False
    seed: int = 0
    output: Path | None = None
    report: Path | None = None
    save: Path | None = None
    command: str = "sidelight cluster"


@dataclass
class Fit:
    """A fitted estimator with all that it was given."""

    estimator: Any
    method: str
    scaler: Any
    X: Any  # as the estimator saw it
    data: Table
    known: Constraints
    seconds: float

    @property
    def labels(self) -> Any:
        """Cluster of every row."""
        return self.estimator.labels_


def run(request: Request, screen: Screen) -> dict[str, Any]:
    """Do the whole job and return the facts that ``--json`` prints."""
    _check_outputs(request)
    fit = fit_rows(request, screen)
    scores = score(fit)
    facts = _facts(fit, scores, request)
    write_all(_outputs(fit, request))
    _show(fit, scores, request, screen)
    screen.result(facts)
    return facts


def read_rows(request: Request, screen: Screen) -> tuple[Table, Constraints]:
    """Read the data and what is known about it."""
    data = read_table(
        request.data,
        id_column=request.id_column,
        label_column=request.label_column,
        truth_column=request.truth_column,
        columns=request.columns,
        drop=request.drop or (),
        allow_missing=request.method is not None and catalog.get(request.method).tags.missing,
    )
    known = read_knowledge(
        data,
        constraints=request.constraints,
        must_link=request.must_link,
        cannot_link=request.cannot_link,
    )
    for sentence in (*data.notes, *known.notes):
        screen.note(sentence)
    return data, known


def fit_rows(request: Request, screen: Screen) -> Fit:
    """Read the data and what is known, and fit."""
    data, known = read_rows(request, screen)
    method = choose_method(request.method, something_known=not known.is_empty)
    estimator = make_estimator(
        method,
        k=request.k,
        seed=request.seed,
        settings=request.settings,
        n_classes=len(known.label_names),
    )
    say_what_is_ignored(known, method, screen)
    scaler, X = scale(data.X) if request.standardize else (None, data.X)
    start = time.perf_counter()
    with screen.progress():
        estimator.fit(X, constraints=known)
    seconds = time.perf_counter() - start
    return Fit(estimator, method.name, scaler, X, data, known, seconds)


def say_what_is_ignored(known: Constraints, method: Any, screen: Screen) -> None:
    """Name the kinds of knowledge that were given and that the method has no use for."""
    given = [KINDS.get(kind, kind) for kind, n in knowledge_facts(known).items() if n]
    ignored = [kind for kind in given if kind not in method.tags.knowledge]
    if ignored:
        screen.note(
            f"{method.cls.__name__} makes no use of {' and '.join(ignored)} information; it is "
            "only compared with the result."
        )


def scale(X: Any) -> tuple[Any, Any]:
    """Standardise; sparse rows keep their zeros, so their mean stays."""
    from scipy import sparse
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=not sparse.issparse(X))
    return scaler, scaler.fit_transform(X)


def score(fit: Fit) -> dict[str, dict[str, float]]:
    """Scores against the true classes: over all rows, and over those that nothing gave away."""
    if fit.data.truth is None:
        return {}
    from sidelight.evaluation import partition_scores

    truth = class_codes(fit.data.truth)
    scores = {"all": partition_scores(truth, fit.labels)}
    free = truth >= 0
    free[fit.known.mentioned] = False
    if 0 < np.count_nonzero(free) < np.count_nonzero(truth >= 0):
        scores["unconstrained"] = partition_scores(truth, fit.labels, rows=free)
    return scores


# --- writing ----------------------------------------------------------------------------------


def _check_outputs(request: Request) -> None:
    if request.output is not None:
        check_labels_path(request.output)
        check_output(request.output, ("",))
    check_output(request.report, (".html", ".htm"))
    check_output(request.save, (".skops",))


def _outputs(fit: Fit, request: Request) -> dict[Path, Callable[[Path], None]]:
    outputs: dict[Path, Callable[[Path], None]] = {}
    if request.output is not None:
        outputs[request.output] = lambda path: write_labels(path, fit.data.ids, fit.labels)
    if request.save is not None:
        outputs[request.save] = lambda path: save_run(fit, path)
    if request.report is not None:
        outputs[request.report] = lambda path: report_run(fit, request, path)
    return outputs


def save_run(fit: Fit, path: Path) -> None:
    """Keep the model with all that new rows need."""
    from sidelight.cli._model import Model, save_model

    model = Model(
        estimator=fit.estimator,
        scaler=fit.scaler,
        method=fit.method,
        feature_names=list(fit.data.feature_names),
        id_column=fit.data.id_column,
        zero_based=fit.data.zero_based,
    )
    save_model(model, path)


def report_run(fit: Fit, request: Request, path: Path) -> None:
    """Write the report."""
    from sidelight.report import write_report

    write_report(
        path,
        estimator=fit.estimator,
        X=fit.X,
        constraints=None if fit.known.is_empty else fit.known,
        labels_true=fit.data.truth,
        ids=None if fit.data.ids is None else fit.data.ids.tolist(),
        feature_names=fit.data.feature_names,
        title=f"{request.data.name}: {type(fit.estimator).__name__}",
        settings={"data": str(request.data), "standardised": request.standardize},
        command=request.command,
        seconds=fit.seconds,
    )


# --- what came out ----------------------------------------------------------------------------


def _sizes(labels: Any) -> tuple[Any, Any]:
    return np.unique(labels, return_counts=True)


def _facts(fit: Fit, scores: dict[str, dict[str, float]], request: Request) -> dict[str, Any]:
    clusters, sizes = _sizes(fit.labels)
    estimator = fit.estimator
    outputs = {"labels": request.output, "report": request.report, "model": request.save}
    facts = {
        "command": "cluster",
        "data": str(request.data),
        "method": fit.method,
        "parameters": estimator.get_params(),
        "n_rows": fit.data.n_rows,
        "n_features": len(fit.data.feature_names),
        "sizes": {str(cluster): int(n) for cluster, n in zip(clusters, sizes, strict=True)},
        "objective": estimator.objective_,
        "n_iter": estimator.n_iter_,
        "converged": estimator.converged_,
        "seconds": fit.seconds,
        "knowledge": knowledge_facts(fit.known),
        "violations": violation_facts(fit.known, fit.labels),
        "scores": scores or None,
        "outputs": {kind: str(path) for kind, path in outputs.items() if path is not None},
    }
    if request.output is None:
        facts["ids"], facts["labels"] = fit.data.row_ids, fit.labels
    return facts


def _show(fit: Fit, scores: dict[str, dict[str, float]], request: Request, screen: Screen) -> None:
    if not screen.talks:
        return
    estimator, n_rows = fit.estimator, fit.data.n_rows
    ended = "converged" if estimator.converged_ else "not converged"
    screen.show(
        f"[bold]{type(estimator).__name__}[/] on {plain_text(request.data)}: "
        f"{counted(n_rows, 'row')}, {counted(len(fit.data.feature_names), 'feature')}; "
        f"{ended} after {counted(estimator.n_iter_, 'iteration')} in {fit.seconds:.2f} s, "
        f"objective {number(estimator.objective_)}",
        size_table(fit.labels),
    )
    if not fit.known.is_empty:
        show_violations(fit.known, fit.labels, screen)
    if scores:
        screen.show(score_table(scores, f"Agreement with the column {request.truth_column!r}"))
    written = [path for path in (request.output, request.report, request.save) if path is not None]
    if written:
        screen.show(f"Written: {', '.join(plain_text(path) for path in written)}")
    else:
        screen.show("Nothing was written; -o labels.csv keeps the labels, --report a report.")


def size_table(labels: Any) -> Any:
    """The clusters with their numbers of rows; of very many, the largest."""
    clusters, sizes = _sizes(labels)
    order = np.argsort(-sizes, kind="stable") if len(sizes) > SHOWN_CLUSTERS else slice(None)
    rows = [
        (cluster, f"{n:,}", f"{n / len(labels):.1%}")
        for cluster, n in zip(clusters[order], sizes[order], strict=True)
    ]
    hidden = rows[SHOWN_CLUSTERS:]
    if hidden:
        rows = [*rows[:SHOWN_CLUSTERS], (f"and {len(hidden)} smaller ones", "", "")]
    return table("Cluster", "Rows", "Share", rows=rows)


def score_table(scores: dict[str, dict[str, float]], title: str) -> Any:
    """The usual scores side by side."""
    names = {
        "adjusted_rand_index": "Adjusted Rand index",
        "nmi_arithmetic": "Normalised mutual information",
        "clustering_accuracy": "Accuracy (best matching)",
        "pairwise_f1": "Pairwise F1",
        "purity": "Purity",
    }
    headers = {"all": "all rows", "unconstrained": "unconstrained rows"}
    rows: list[list[str]] = [["Rows", *(f"{int(s['n_rows']):,}" for s in scores.values())]]
    rows += [[text, *(f"{s[name]:.3f}" for s in scores.values())] for name, text in names.items()]
    return table(title, *(headers[which] for which in scores), rows=rows)
