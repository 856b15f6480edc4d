"""``sidelight ask``: ask which rows belong together, then cluster or classify by the answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sidelight import catalog
from sidelight._words import counted
from sidelight.active import Answers, make_strategy
from sidelight.active.inner import NAMES
from sidelight.cli._errors import UsageError
from sidelight.cli._perform import Files, perform
from sidelight.cli._screen import Screen
from sidelight.cli.ask._pair_view import PairView
from sidelight.cli.ask._talk import answer_files, talk
from sidelight.exceptions import SidelightError
from sidelight.io import Table
from sidelight.jobs import JOBS, AskRequest, Job, Prepared, Result
from sidelight.jobs.inner import fields_of, make_request

#: Strategies that ask where a classifier is in doubt, and those that need clusters on the way.
OF_CLASSIFIERS = "ambiguous-"
OF_CLUSTERERS = ("npu",)
DEFAULT = "explore-consolidate"
CLUSTERER, CLASSIFIER = "pckmeans", "pairwise-logistic-regression"


def run(job: Job, request: AskRequest, files: Files, screen: Screen) -> Result | None:
    """Ask until the person has had enough, then do what ``cluster`` or ``classify`` does."""
    if request.pairs is not None:
        from sidelight.cli.ask._listed import run_listed

        run_listed(request, files, screen)
        return None
    method, strategy = choose(request.method, request.strategy)
    after, kind = JOBS["cluster"], "labels"
    if method.tags.kind == "classifier":
        after, kind = JOBS["classify"], "classes"
    written = {kind: files.outputs["labels"], "report": files.outputs["report"]}
    kept = answer_files(request, files)
    everything = replace(files, outputs={**kept, **written})
    everything.check_free(request.inputs)
    asked = _asked(request) | {"method": method.name}
    if after.name == "classify" and asked.pop("k") is not None:
        raise UsageError(f"{method.cls.__name__} has no number to choose by -k.")
    prepared = after.prepare(make_request(after.name, asked))
    _check_labels(prepared)
    screen.note(*prepared.data.notes)
    screen.tell(*prepared.tell())

    def chosen(answers: Answers) -> tuple[Any, PairView]:
        chooser = make_strategy(strategy, prepared.estimator)
        chooser.start(prepared.X, answers, _number(prepared), prepared.request.seed)
        return chooser, PairView(prepared.data, prepared)

    about = counted(prepared.data.n_rows, "row")
    facts = talk(request, prepared.knowledge, chosen, about, files, screen)
    asked |= _by_the_same_names(prepared.data) | {"constraints": kept["constraints"]}
    if request.method is None:
        asked["method"] = None if after.name == "classify" else asked["method"]
    again = Screen(quiet=screen.as_json, knows_columns=True, keeps_facts=screen.as_json)
    written_files = replace(files, outputs=written, force=True)
    found = perform(after, make_request(after.name, asked), written_files, again)
    screen.notes += [note for note in again.notes if note not in screen.notes]
    screen.result({**again.facts, "command": job.name, "answers": facts})
    return found


def _asked(request: AskRequest) -> dict[str, Any]:
    """Return what the request says about rows, columns and knowledge."""
    only_asked = ("questions", "strategy", "pairs")
    return {
        name: getattr(request, name) for name in fields_of(AskRequest) if name not in only_asked
    }


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


def _by_the_same_names(data: Table) -> dict[str, Any]:
    """Read the rows again by the ids under which the answers were written, or by position."""
    if data.id_column is not None:
        return {"id_column": data.id_column}
    return {"columns": list(data.feature_names)}


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
    return None if k is None else int(k)
