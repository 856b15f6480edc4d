"""``sidelight ask``: ask which rows belong together, then cluster or classify by the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sidelight import catalog
from sidelight._words import counted
from sidelight.active import Answers, make_strategy
from sidelight.active._strategies import NAMES
from sidelight.cli import _run
from sidelight.cli._errors import UsageError
from sidelight.cli._screen import Screen, preparation_lines
from sidelight.cli.ask._dialogue import Dialogue
from sidelight.cli.ask._pair_view import PairView
from sidelight.cli.ask._talk import talk
from sidelight.exceptions import SidelightError
from sidelight.io import Table
from sidelight.jobs import Prepared, Request, prepare
from sidelight.jobs._table._request import numbers_text, several

#: Strategies that ask where a classifier is in doubt, and those that need clusters on the way.
OF_CLASSIFIERS = "ambiguous-"
OF_CLUSTERERS = ("npu",)
DEFAULT = "explore-consolidate"
CLUSTERER, CLASSIFIER = "pckmeans", "pairwise-logistic-regression"


def run(
    request: Request,
    screen: Screen,
    outputs: Mapping[str, Path | None],
    *,
    strategy: str | None,
    budget: int | None,
    answers_file: Path | None,
    spreadsheet_safe: bool,
    force: bool,
) -> None:
    """Ask until the person has had enough, then do what ``cluster`` or ``classify`` does."""
    method, strategy = choose(request.method, strategy)
    if method.tags.kind == "classifier":
        request = replace(request, method=method.name, command="classify")
        outputs = {"classes": outputs["labels"], "report": outputs["report"]}
    if several(request.k):
        raise UsageError(
            f"Questions are chosen for one number of clusters, not for -k {numbers_text(request.k)}"
            "; `sidelight compare` tells which number suits."
        )
    if budget is not None and budget < 0:
        raise UsageError(f"--budget must not be negative, got {budget}.")
    name = request.data.name.removesuffix(".gz")
    answers_file = answers_file or Path(f"{Path(name).stem}.answers.jsonl")
    constraints_file = answers_file.with_suffix(".constraints.csv")
    kept = {"answers": answers_file, "constraints": constraints_file}
    _run.claim(screen, request.inputs, force=force, **kept, **outputs)
    prepared = prepare(replace(request, method=method.name))
    _check_labels(prepared)
    screen.note(*prepared.data.notes)
    screen.show(*preparation_lines(prepared.preparer, raw=not prepared.request.prepare))
    facts = _talk(
        prepared,
        strategy,
        budget,
        answers_file,
        constraints_file,
        as_json=screen.as_json,
        spreadsheet_safe=spreadsheet_safe,
    )
    request = replace(_by_the_same_names(request, prepared.data), constraints=constraints_file)
    again = Screen(quiet=screen.as_json, knows_columns=True)
    result = _run.work(request, again, spreadsheet_safe=spreadsheet_safe, **outputs)
    screen.result({**result, "command": "ask", "answers": facts})


def choose(name: str | None, strategy: str | None) -> tuple[catalog.Method, str]:
    """The method and the strategy that are meant, where they fit together."""
    if strategy is not None and strategy not in NAMES:
        raise UsageError(f"There is no strategy {strategy!r}; there are {', '.join(NAMES)}.")
    in_doubt = strategy is not None and strategy.startswith(OF_CLASSIFIERS)
    method = catalog.get(name or (CLASSIFIER if in_doubt else CLUSTERER))
    suggests = _suggests(method)
    if strategy is None:
        strategy = next((n for n in NAMES if suggests and n.startswith(OF_CLASSIFIERS)), DEFAULT)
    if in_doubt and not suggests:
        able = [m.name for m in catalog.methods(kind="classifier") if _suggests(m)]
        raise UsageError(
            f"The strategy {strategy} asks where a classifier of pairs is in doubt: -m "
            f"{' or '.join(able)}, not {method.name}."
        )
    if strategy in OF_CLUSTERERS and method.tags.kind == "classifier":
        others = [n for n in NAMES if n not in OF_CLUSTERERS]
        raise UsageError(
            f"The strategy {strategy} clusters the rows on the way, and {method.name} does not; "
            f"there are {', '.join(others)}."
        )
    return method, strategy


def _suggests(method: catalog.Method) -> bool:
    return hasattr(method.cls, "suggest_pairs")


def _by_the_same_names(request: Request, data: Table) -> Request:
    """Read the rows again by the ids under which the answers were written, or by position."""
    if data.id_column is not None:
        return replace(request, id_column=data.id_column)
    return replace(request, columns=list(data.feature_names))


def _check_labels(prepared: Prepared) -> None:
    """Refuse before the first question what a classifier would refuse behind the last."""
    if prepared.method.tags.kind == "classifier" and len(prepared.knowledge.label_names) < 2:
        raise SidelightError(
            f"{prepared.method.cls.__name__} needs labels, which answers about pairs do not give: "
            "at least one row of two classes, in the column that --label-column names or among the "
            "constraints."
        )


def _number(prepared: Prepared) -> int | None:
    """Number of clusters, or of the classes that labels name; None if nobody knows."""
    if prepared.method.tags.kind == "classifier":
        return len(prepared.knowledge.label_names) or None
    k = prepared.request.k
    return None if k is None else int(k)  # type: ignore[arg-type]


def _talk(
    prepared: Prepared,
    strategy: str,
    budget: int | None,
    answers_file: Path,
    constraints_file: Path,
    *,
    as_json: bool,
    spreadsheet_safe: bool,
) -> dict[str, Any]:
    """Hold the dialogue and write what it brought as constraints."""
    from rich.console import Console

    # Standard output belongs to the JSON object, if that was asked for.
    console = Console(highlight=False, stderr=as_json)
    request, data = prepared.request, prepared.data
    with Answers.open(answers_file, known=prepared.knowledge) as answers:
        chooser = make_strategy(strategy, prepared.estimator)
        chooser.start(prepared.X, answers, _number(prepared), request.seed)
        dialogue = Dialogue(answers, chooser, PairView(prepared), console, budget)
        return talk(
            dialogue,
            counted(data.n_rows, "row"),
            request.data,
            answers_file,
            constraints_file,
            spreadsheet_safe=spreadsheet_safe,
        )
