"""What the page of a classifier shows: classes, accuracy, rows in doubt, what changed, rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup, escape

from sidelight._words import counted, format_number, listed, statements
from sidelight.pictures.inner import (
    Given,
    Partition,
    by_step,
    certainty,
    cluster_sizes,
    count_together,
    curves_of,
    mean_by_round,
    shorten,
)
from sidelight.report.cards import (
    MAX_GROUPS,
    MAX_NAME,
    Cell,
    Panel,
    card,
    count_cells,
    figure,
    figures,
    group,
    groups_across,
    html,
    panels,
    row_id,
    side,
    small,
    strong,
    table,
    tally_table,
)
from sidelight.report.classes._classified import ClassifiedRun, make_classified
from sidelight.report.classes._picture import draw
from sidelight.report.page import Page, objective_panel
from sidelight.report.tables import tallies
from sidelight.report.text import TextTable, text_table

LEAST_CERTAIN = 12
MAX_CHANGED = 12
MAX_VALUES = 6  # columns of probabilities; of more classes the best two are shown
FEW_VALUES = 4  # columns beside which there is room for another card
_WIDE_TABLE = 7
SURE = 0.9
#: What boosting keeps of every round: attribute, title, and what it says.
ROUNDS = {
    "mean_margins_": (
        "Mean margin by round",
        "How far the right side of the boundary the rows lie, on average, after every round.",
    ),
    "estimator_weights_": ("Step size by round", "Weight of the learner of every round."),
}


def class_page(given: Given, contrast: Any) -> Page:
    """Return what the page of a classifier shows.

    ``contrast`` is the same classifier on the labels alone
    (:attr:`sidelight.jobs.ClassRun.contrast`), or None.
    """
    run = make_classified(given, contrast)
    fine, status = _status(run)
    drawn = draw(run)
    return Page(
        estimator=run.estimator,
        n_rows=run.n_rows,
        sentence=_sentence(run),
        fine=fine,
        status=status,
        facts=[
            ("Features", f"{run.source.n_features:,}"),
            ("Classes", f"{len(run.names):,}"),
            ("Labels", f"{int(run.stated.sum()):,}"),
        ],
        cards=[
            drawn.map,
            side(_contrast_card(run), _asked(run), _sizes(run)),
            _candidates(run),
            *_confusions(run),
            *_changes(run),
            _doubts(run),
            _how_sure(run),
            drawn.statements,
        ],
        n_colors=max(len(run.names), int(run.truth_numbers.max(initial=-1)) + 1),
        script=drawn.script,
    )


def _sentence(run: ClassifiedRun) -> str:
    said = statements(run.constraints.counts)
    n_free = int((~run.stated).sum())
    sentence = f"{counted(run.n_rows, 'row')} of {counted(len(run.names), 'class', 'classes')}; "
    sentence += f"known: {listed(said)}" if said else "what was known is not told"
    return sentence + (f"; the class of {counted(n_free, 'row')} was predicted." if n_free else ".")


def _status(run: ClassifiedRun) -> tuple[bool | None, str]:
    if run.contrast is None:
        return None, f"{int((~run.stated).sum()):,} predicted"
    what = run.contrast.what
    named = f"{what[:1].upper()}{what[1:]}"
    answers = {
        "helped": (True, f"{named} helped"),
        "hurt": (False, f"{named} did not help"),
        "unclear": (None, "No difference to the labels alone could be shown"),
        "none": (None, "Supervised: every row is labeled"),
    }
    return answers[run.contrast.answer]


def _sizes(run: ClassifiedRun) -> Markup:
    """Return the rows of every class, and how many of these were given."""
    text = f"{counted(int(run.stated.sum()), 'class was', 'classes were')} given."
    if run.constraints.labels is not None and len(run.names) <= MAX_VALUES:
        given = np.bincount(run.clusters.codes[run.stated], minlength=len(run.names))
        pairs = zip(run.names, given.tolist(), strict=True)
        text = f"Given: {', '.join(f'{name} {n:,}' for name, n in pairs)}."
    if run.clusters.n_outside:
        text += f" {counted(run.clusters.n_outside, 'row')} got no class."
    bars = cluster_sizes(run.clusters.names, run.clusters.sizes, noun="class")
    return figure("Rows of each class", bars, text)


def _asked(run: ClassifiedRun) -> Markup | None:
    """Return how much of what was asked of pairs and groups is kept."""
    asked = [tally for tally in tallies(run) if tally.kind != "known label"]
    if not asked:
        return None
    title = "What was asked of pairs and groups"
    return card(title, tally_table(asked), *run.constraints.notes, size="")


def _candidates(run: ClassifiedRun) -> Markup | None:
    """Return the classifiers that were compared on held-out labels, where one was chosen so."""
    found = getattr(run.estimator, "cv_results_", None)
    if found is None:
        return None
    rows = []
    for name, _, accuracy, ahead, error in zip(*found.values(), strict=True):
        figures = ("not ahead", "")
        if accuracy == accuracy:  # NaN: given up
            figures = (f"{accuracy:.1%}", f"{ahead:+.1f} ± {error:.1f}" if error else "")
        rows.append((strong(name) if name == run.estimator.chosen_ else name, *figures))
    told = text_table("Candidate", "Right", "Labels ahead", rows=rows)
    return card(
        "Chosen by held-out labels",
        table(told),
        run.estimator.reason_,
        "Ahead of plain logistic regression, with the standard error. The accuracy of the best of "
        "several is somewhat too good.",
        size="half",
    )


# --- the labels alone -------------------------------------------------------------------------


def _contrast_card(run: ClassifiedRun) -> Markup | None:
    """Return what rows without a label, and pairs, changed."""
    contrast = run.contrast
    if contrast is None:
        return None
    judged = {
        "Cross-validation on the labeled rows": contrast.cross_validated,
        "True classes of the other rows": contrast.by_truth,
    }
    rows = [
        (
            html("{}<br>{}", name, small(f"{len(one.rows):,} rows")),
            _share(one.accuracy, strong),
            *(
                _share(one.accuracies[which], escape) if which in one.accuracies else ""
                for which in ("alone", "plain")
            ),
        )
        for name, one in judged.items()
        if one is not None
    ]
    text = (
        "Below: 95% intervals; those of cross-validation are approximate and allow for the labels "
        "that its fits share. Logistic: plain logistic regression of the labels. "
        if rows
        else ""
    )
    if contrast.alone is not None and contrast.n_open:
        text += (
            f"{len(contrast.changed):,} of {counted(contrast.n_open, 'row')} without a given class "
            "have another one than by the same method on the labels alone."
        )
    told = text_table("Right by", "This run", "Labels alone", "Logistic", rows=rows)
    return card(
        f"What {contrast.what} changed" if contrast.what else "How far it can be trusted",
        html('<p class="answer">{}</p>', contrast.verdict),
        table(told, css="scores accuracy") if rows else None,
        text,
        *(html('<p class="note remark">{}</p>', remark) for remark in contrast.remarks),
        size="",
    )


def _share(share: Any, form: Callable[[str], Markup]) -> Markup:
    low, high = share.interval
    interval = small(f"{100 * low:.0f}-{high:.0%}")
    return html("{}<br>{}", form(f"{share.value:.1%}"), interval)


def _changes(run: ClassifiedRun) -> list[Markup]:
    """Return how classes moved against the labels alone, and the most decided rows that did."""
    contrast = run.contrast
    if contrast is None or not len(contrast.changed):
        return []
    free = ~run.stated
    before = Partition(contrast.alone[free], run.names)
    moves = _counts(before, Partition(run.clusters.codes[free], run.names), "Labels alone")
    label = "Classes on the labels alone and in this run"
    order = np.argsort(-run.margins[contrast.changed], kind="stable")[:MAX_CHANGED]
    rows = []
    for row in contrast.changed[order]:
        codes = int(contrast.alone[row]), int(run.clusters.codes[row])
        names = [group(code, run.clusters.name(code)) for code in codes]
        truth = []
        if run.truth is not None:
            truth = [shorten(run.truth.name(int(run.truth.codes[row])), MAX_NAME)]
        rows.append((row_id(run.row_names([row])[0]), *names, *truth))
    headers = ("Row", "Labels alone", "This run", "True class")
    changed = text_table(*headers[: len(rows[0])], rows=rows, justify=("left",))
    return [
        card(
            "From the labels alone to this run",
            table(moves.table, css="heat", scroll="scroll tall", label=label),
            "Rows whose class was not given. Across: the class in this run.",
            size=moves.size,
        ),
        card(
            "Rows whose class changed against the labels alone",
            changed,
            "The most decided first.",
            size="half",
        ),
    ]


# --- accuracy ---------------------------------------------------------------------------------


def _confusions(run: ClassifiedRun) -> list[Markup]:
    """Return known classes against those found: by cross-validation, and by the truth."""
    contrast, found = run.contrast, []
    if contrast is None:
        return []
    if (judged := contrast.cross_validated) is not None:
        text = "Every labeled row as a fit finds it that was not told its label."
        found.append(_confusion(run, judged, "Cross-validation", "Known class", text))
    if (judged := contrast.by_truth) is not None:
        text = "Rows whose class was not given."
        if others := int((judged.known < 0).sum()):
            text += f" {counted(others, 'row')} of classes without any label are left out."
        found.append(_confusion(run, judged, "True classes", "True class", text))
    return found


def _confusion(run: ClassifiedRun, judged: Any, how: str, what: str, text: str) -> Markup:
    title = f"{how}: {judged.accuracy.value:.1%} right"
    known = Partition(np.maximum(judged.known, -1), run.names)
    each = np.atleast_2d(judged.found)
    counts = _counts(known, Partition(each[0], run.names), what)
    if len(each) > 1:
        text += f" Counts are those of one of {len(each)} repetitions."
    shown = table(counts.table, css="heat", scroll="scroll tall", label=title)
    text += f" Across: the class that was found.{counts.hidden}"
    return card(title, shown, text, size=counts.size)


class _Counts(NamedTuple):
    """Counts by class and class, the place of their card, and what is not shown."""

    table: TextTable
    size: str
    hidden: str


def _counts(known: Partition, found: Partition, what: str) -> _Counts:
    """Return counts by class and class, the same order on both sides."""
    counts = count_together(known, found)
    shown = np.arange(min(len(known.names), MAX_GROUPS))
    columns = np.append(shown, -1) if counts[:, -1].any() else shown
    rows = []
    for code in shown.tolist():
        total = int(counts[code].sum())
        css = ["up" if column == code else "down" for column in columns]
        cells = count_cells(counts[code, columns], total, css)
        rows.append((group(code, known.names[code]), *cells, Cell(f"{total:,}", "quiet")))
    n_hidden = len(known.names) - len(shown)
    return _Counts(
        text_table(what, *groups_across(found, columns), "Rows", rows=rows),
        "full" if len(columns) > _WIDE_TABLE else "half",
        f" {n_hidden} more classes are not shown." if n_hidden else "",
    )


# --- certainty --------------------------------------------------------------------------------


def _doubts(run: ClassifiedRun) -> Markup | None:
    """Return the least certain rows with their probabilities or decision values."""
    rows, decisions = run.least_certain(LEAST_CERTAIN), run.decisions
    if not len(rows):
        return None
    all_shown = len(run.names) <= MAX_VALUES
    cells: list[tuple[object, ...]] = []
    for row, name in zip(rows, run.row_names(rows), strict=True):
        found = int(run.clusters.codes[row])
        values = [decisions.shown(row, code) for code in range(len(run.names)) if all_shown]
        if not all_shown:
            best = [int(code) for code in decisions.best_two[row]]
            names = [shorten(run.names[code], MAX_NAME) for code in best]
            shown = (decisions.shown(row, code) for code in best)
            values = [", ".join(map(" ".join, zip(names, shown, strict=True)))]
        cells.append((row_id(name), group(found, run.clusters.name(found)), *values))
    headers: list[str] = ["Best two"]
    if all_shown:
        headers = list(groups_across(run.clusters, range(len(run.names))))
    sides = ("left", "left", "right" if all_shown else "left")
    title = "Least certain rows"
    told = text_table("Row", "Class", *headers, rows=cells, justify=sides)
    what = "probability" if decisions.are_probabilities else "decision value"
    return card(
        title,
        table(told, scroll="scroll", label=title),
        f"With the {what} of {'every class' if all_shown else 'the best two'}.",
        size="half" if not all_shown or len(run.names) <= FEW_VALUES else "full",
    )


def _how_sure(run: ClassifiedRun) -> Markup | None:
    """Return how sure the classifier is, and how boosting got there."""
    shown = [*_certainty(run), *_curves(run.estimator)]
    if len(shown) > 2:
        return card("How sure it is, and how it got there", panels(*shown))
    return side(figures(*shown), css="half stack") if shown else None


def _certainty(run: ClassifiedRun) -> list[Panel]:
    """Return how sure the classifier is of the rows whose class was not given."""
    free = np.flatnonzero(~run.stated)
    if not run.decisions.are_probabilities or not len(free):
        return []
    largest = run.decisions.values[free].max(axis=1)
    share = float(np.mean(largest >= SURE))
    return [
        Panel(
            "How sure: rows by the probability of their class",
            certainty(largest, len(run.names), "Rows by the probability of their class"),
            f"{share:.0%} of the rows whose class was not given have one of {SURE:.0%} or more. "
            "Probabilities are the model's own opinion, not how often it is right.",
        )
    ]


# --- boosting ---------------------------------------------------------------------------------


def _curves(estimator: Any) -> list[Panel]:
    """Return the objective by iteration, and what boosting keeps of its rounds."""
    many = np.size(getattr(estimator, "history_", ())) > 1
    curve = objective_panel(estimator) if many else None
    found = [] if curve is None else [curve]
    for number, (attribute, (title, note)) in enumerate(ROUNDS.items()):
        machines = curves_of(estimator, attribute)
        if not machines:
            continue
        values = mean_by_round(machines)
        if len(machines) > 1:
            note += f" Mean over {len(machines)} pairs of classes."
        ends = f"From {format_number(values[0])} to {format_number(values[-1])}. {note}"
        what, css = title.partition(" by ")[0], f"curve rounds{number}"
        picture = by_step({what: values}, what, step="round", css=css)
        found.append(Panel(title, picture, ends))
    return found
