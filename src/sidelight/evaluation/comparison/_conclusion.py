"""The end of a comparison: figures of the candidates, the choice, and its fit to all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sidelight._typing import FloatArray
from sidelight._words import counted, worded
from sidelight.evaluation._candidates import fit_with, labels_of, n_clusters_of
from sidelight.evaluation.comparison._choice import choose, shrink
from sidelight.evaluation.comparison._comparison import Candidate, Comparison, in_order, restore
from sidelight.evaluation.comparison._held_out import HeldOut
from sidelight.evaluation.comparison._race import Entry, Fit, FitAll, Race, Task
from sidelight.evaluation.comparison._setting import Clock, Setting
from sidelight.evaluation.comparison._stability import agreement
from sidelight.evaluation.comparison._verdict import Verdict
from sidelight.evaluation.comparison._workers import run_tasks
from sidelight.exceptions import SidelightError


def conclude(
    race: Race,
    setting: Setting,
    clock: Clock,
    remarks: list[str],
    n_workers: int,
    interrupted: bool,
) -> Comparison:
    """Choose among the candidates that are finished, and fit the best to all rows."""
    candidates = [_candidate(race, entry) for entry in race.entries]
    while True:
        scored = [place for place, one in enumerate(candidates) if one.status == "scored"]
        if not scored:
            raise _nothing_scored(candidates, clock, interrupted)
        finished = [candidates[place] for place in scored]
        matrix = agreement([one.labels for one in finished], np.random.RandomState(0))
        at = _choose(finished, matrix, setting.held_out)
        chosen = scored[at]
        entry = race.entries[chosen]
        try:
            model, labels, notes = _fit_all(candidates[chosen], entry, setting, clock, n_workers)
            break
        except SidelightError as error:  # with all rows the constraints cannot be met
            candidates[chosen] = replace(candidates[chosen], status="failed", reason=str(error))
    others = [one for place, one in enumerate(finished) if place != at]
    verdict = Verdict(finished[at], others, setting.held_out, np.delete(matrix[at], at).tolist())
    remarks = [*remarks, *notes, *_unscored(candidates, clock, interrupted), *finished[at].notes]
    return Comparison(
        candidates=in_order(candidates, chosen, _merit(candidates, setting.held_out)),
        best_=finished[at],
        best_estimator_=model,
        labels_=labels,
        seconds=clock.seconds,
        n_statements=setting.held_out.n_statements if setting.n_folds else 0,
        compared=setting.rows,
        remarks=tuple(remarks),
        _verdict=verdict,
    )


def _candidate(race: Race, entry: Entry) -> Candidate:
    """Compute the figures of a candidate."""
    contestant = entry.contestant
    known: dict[str, Any] = {"name": contestant.name, "k": entry.k, "learns": contestant.learns}
    if entry.failed is not None:
        return Candidate(**known, status="failed", reason=entry.failed)
    if not entry.finished or entry.all is None:
        return Candidate(**known, status="not finished")
    known |= {
        "status": "scored",
        "stability": race.stability(entry),
        "seconds": entry.seconds,
        "n_clusters": n_clusters_of(entry.all.labels),
        "labels": entry.all.labels,
        "notes": entry.all.notes,
        "model": entry.all.model,
    }
    if not race.n_folds:
        return Candidate(**known)
    held_out, hits = race.held_out, race.hits(entry)
    score = held_out.score(hits)
    known |= {
        "score": score.value,
        "error": score.error,
        "must_link": held_out.share(hits, True),
        "cannot_link": held_out.share(hits, False),
        "hits": hits,
    }
    if entry.plain is not None:
        plain = held_out.hits([entry.plain])
        gain = held_out.difference(hits, plain)
        known |= {
            "plain": entry.plain_name,
            "plain_score": held_out.score(plain).value,
            "gain": gain.value,
            "gain_error": gain.error,
        }
    return Candidate(**known)


def _column(candidates: Sequence[Candidate], name: str) -> FloatArray:
    return np.array([getattr(one, name) for one in candidates], dtype=np.float64)


def _choose(finished: Sequence[Candidate], matrix: FloatArray, held_out: HeldOut) -> int:
    return choose(
        _column(finished, "score"),
        _column(finished, "error"),
        _column(finished, "stability"),
        [one.n_clusters or 0 for one in finished],
        matrix,
        held_out.n_statements if len(held_out) else 0,
    )


def _merit(candidates: Sequence[Candidate], held_out: HeldOut) -> FloatArray:
    """Figure by which candidates are listed; NaN for those without."""
    score, stability = _column(candidates, "score"), _column(candidates, "stability")
    merit = shrink(score, stability, held_out.n_statements if len(held_out) else 0)
    return np.where([one.status == "scored" for one in candidates], merit, np.nan)


def _fit_all(
    best: Candidate, entry: Entry, setting: Setting, clock: Clock, n_workers: int
) -> tuple[Any, Any, list[str]]:
    """Return the chosen estimator fitted to all rows, their clusters, and a remark if need be."""
    if not setting.is_sample and best.model is not None:
        model = restore(best.model)
        return model, labels_of(model, setting.X), []
    deadline = clock.last_refit()
    if deadline is None or best.model is None:
        model = fit_with(entry.contestant.make(entry.k, setting.seed), setting.X, setting.known)
        return model, labels_of(model, setting.X), []
    found: list[tuple[Fit | None, str | None]] = []
    everything = FitAll(
        setting.X, setting.known, [], [], [(entry.contestant, entry.k)], setting.seed
    )
    tasks = [Task(0, "all", 0)]
    run_tasks(
        everything,
        lambda: tasks.pop() if tasks else None,
        lambda _, outcome: found.append(outcome),
        n_workers=min(n_workers, 1),
        deadline=lambda: deadline,
    )
    fitted, trouble = found[0] if found else (None, None)
    if trouble is not None:
        raise SidelightError(trouble)
    if fitted is not None and fitted.model is not None:
        return restore(fitted.model), fitted.labels, []
    model = restore(best.model)
    return (
        model,
        model.predict(setting.X),
        [
            "Time was up before the chosen one was fitted to all rows: rows that were not compared "
            "were assigned to the clusters of the others."
        ],
    )


def _unscored(candidates: Sequence[Candidate], clock: Clock, interrupted: bool) -> list[str]:
    """Sentence about the candidates without scores."""
    notes = []
    late = [one for one in candidates if one.status == "not finished"]
    if late:
        why = "It was interrupted" if interrupted else f"Time was up after {clock.limit:.3g} s"
        of = counted(len(candidates), "candidate")
        notes.append(f"{why}: {len(late)} of {of} were not finished.")
    failed = [one for one in candidates if one.status == "failed"]
    if failed:
        first = failed[0]
        notes.append(f"{counted(len(failed), 'candidate')} failed; {first.title}: {first.reason}")
    return notes


def _nothing_scored(
    candidates: Sequence[Candidate], clock: Clock, interrupted: bool
) -> SidelightError:
    failed = next((one for one in candidates if one.status == "failed"), None)
    if failed is not None and all(one.status == "failed" for one in candidates):
        return SidelightError(f"No candidate could be fitted. {failed.title}: {failed.reason}")
    if interrupted or clock.limit is None:
        return SidelightError("The comparison was interrupted before a candidate was scored.")
    return SidelightError(
        f"No candidate was finished within {clock.limit:.3g} s: give more time with "
        + worded("budget=", "--budget")
        + ", or name fewer methods and numbers of clusters."
    )
