"""The page of categories: what they are made of, what moved, and a ranking of new texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from scipy import sparse

from sidelight._words import counted, listed
from sidelight.jobs.categorize._embedded import heaviest, seeds_in_page
from sidelight.jobs.categorize._words import score_table, verdict
from sidelight.pictures.inner import flows_of, shorten
from sidelight.report.inner import (
    Cell,
    Page,
    Row,
    Strong,
    body,
    card,
    html,
    joined,
    note,
    notes,
    resource,
    row_id,
    row_names,
    side,
    size_figure,
    small,
    strong,
    table,
    table_card,
    text_table,
)

if TYPE_CHECKING:
    from sidelight.jobs.categorize._run import CategorizeRun

#: Words of a category, documents that moved, outliers, and cells of the table of flows.
TOP_WORDS, MAX_MOVED, MAX_OUTLIERS, MAX_FLOWS = 12, 1000, 200, 24
#: Classes of a category, merged and deleted classes that are listed, and words that tell why a
#: document moved.
MAX_CLASSES, MAX_FATES, TELLING = 12, 50, 4
#: Most letters of what a document says, and of a name in a table.
SNIPPET, MAX_NAME = 220, 40

TRY = """\
<section class="card full" id="try"><h2>Where would a new text go?</h2>
<label class="quiet" for="new-text">Type or paste a text: its words are counted as those of the \
documents were, and nothing leaves this page.</label>
<textarea id="new-text" rows="3" spellcheck="false"></textarea>
<ol id="ranked" class="ranked" aria-live="polite"></ol>{}</section>"""
SCRIPT = '<script type="application/json" id="seeds">{}</script><script>{}</script>'


def page(found: CategorizeRun) -> Page:
    """Return what the page of categories shows."""
    estimator, n = found.estimator, len(found.labels)
    n_categories, n_moved = len(estimator.category_names_), len(estimator.moved_)
    seeds, n_cut = seeds_in_page(estimator, found.words)
    return found.page_of(
        __package__,
        noun="Documents",
        sentence=(
            f"{counted(n, 'document')} of {counted(len(estimator.classes_), 'class')} in "
            f"{counted(n_categories, 'category', 'categories')}; "
            f"{counted(len(estimator.outliers_), 'outlier')}. {verdict(found.held_out, n_moved)}"
        ),
        status=f"{n_moved / n:.1%} of the documents moved",
        facts=[
            ("Classes", f"{len(estimator.classes_):,}"),
            ("Categories", f"{n_categories:,}"),
            ("Words", f"{len(found.words):,}"),
        ],
        settings={
            "text": ", ".join(found.request.text_columns),
            "min_df": found.preparer.min_df_,
            "max_df": found.preparer.max_df,
            "keep_words": found.request.keep_words,
        },
        cards=[
            html(TRY, _cut(n_cut)),
            _categories(found),
            _moved(found),
            _flows(estimator),
            side(
                _scores(found),
                _fates(found),
                _passes(found),
                size_figure(found.labels, "categories"),
            ),
            _outliers(found),
        ],
        script=html(SCRIPT, seeds, Markup(resource("page.js", __package__))),
    )


def _cut(n: int | None) -> Markup:
    text = "This page holds the {} heaviest words of every category; {} uses all."
    return note(html(text, n, Markup("<code>sidelight predict</code>"))) if n else Markup()


def _find(entries: str, placeholder: str) -> Markup:
    """Return the box that filters a list."""
    form = '<label>Find <input type="search" data-filter="{}" placeholder="{}"></label>{}'
    return html(form, entries, placeholder, Markup('<span class="quiet" data-count></span>'))


# --- categories ---------------------------------------------------------------------------------


def _categories(found: CategorizeRun) -> Markup:
    """Return every category with its heaviest words and the classes of its documents."""
    categories = enumerate(found.categories(TOP_WORDS))
    shown = (_category(found, one, place < 3) for place, one in categories)
    return card(
        "Categories",
        html('<div class="categories tall-list">{}</div>', joined(shown)),
        id="categories",
        controls=_find("#categories .category", "category, word or class"),
    )


def _category(found: CategorizeRun, category: dict[str, Any], is_open: bool) -> Markup:
    words, classes = category["words"], category["classes"]
    form = (
        '<details class="category" data-find="{}"{}><summary>{}{}<span class="brief">{}</span>'
        '</summary><div class="parts">{}</div></details>'
    )
    return html(
        form,
        " ".join([category["name"], *words, *list(classes)[:MAX_CLASSES]]),
        Markup(" open" if is_open else ""),
        strong(shorten(category["name"], 80)),
        small(counted(category["size"], "document")),
        ", ".join(shorten(word, 24) for word in words[:6]),
        body([_words(words, category["weights"]), _classes(found, category)]),
    )


def _words(words: Sequence[str], weights: Sequence[float]) -> Markup:
    largest = max(*weights, 1e-300) if weights else 1.0
    form = '<span class="bar" style="--v:{}"></span>{}'
    rows = [
        (shorten(word, 32), html(form, f"{weight / largest:.3f}", small(f"{weight:.3f}")))
        for word, weight in zip(words, weights, strict=True)
    ]
    return table(text_table("Word", "Weight", rows=rows, justify=("left",)), css="scores words")


def _classes(found: CategorizeRun, category: dict[str, Any]) -> Markup:
    """Return the classes of the documents; those that are not the category's own in gray."""
    estimator, classes = found.estimator, category["classes"]
    own = estimator.classes_[estimator.class_category_ == category["category"]].astype(str)
    rows: list[Sequence[object]] = [
        Row((shorten(name, 60), f"{n:,}"), "" if name in own else "quiet")
        for name, n in list(classes.items())[:MAX_CLASSES]
    ]
    if len(classes) > MAX_CLASSES:
        rows.append((Cell(f"and {len(classes) - MAX_CLASSES} more classes", "quiet", span=2),))
    if category["n_without_class"]:
        rows.append(Row(("no class", f"{category['n_without_class']:,}"), "quiet"))
    return table(text_table("Class that the documents had", "Documents", rows=rows))


# --- documents ----------------------------------------------------------------------------------


def moved_documents(found: CategorizeRun) -> list[tuple[str, ...]]:
    """Return documents that moved, those that the held-out check supports most first.

    Of each: id, what it says, class, category, words that tell why, margin and support.
    """
    estimator, rows = found.estimator, found.estimator.moved_[:MAX_MOVED]
    if not len(rows):
        return []
    labels, codes = estimator.labels_[rows], found.class_codes[rows]
    before = estimator.class_category_[codes]
    documents = estimator.compared_counts(found.X[rows])
    seeds = sparse.vstack([estimator.seeds_, sparse.csr_array((1, estimator.seeds_.shape[1]))])
    seeds = sparse.csr_array(seeds)
    gain = sparse.csr_array(documents.multiply(seeds[labels] - seeds[before]))
    margins, support = estimator.move_margins_, estimator.move_support_

    def why(k: int) -> str:
        words, gains = heaviest(gain, k, TELLING)
        return listed([str(word) for word in found.words[words[gains > 0]]])

    return [
        (
            name,
            _snippet(found.texts[rows[k]]),
            str(estimator.classes_[codes[k]]),
            str(estimator.category_names_[labels[k]]),
            why(k),
            "" if np.isnan(margins[k]) else f"{margins[k]:.2f}",
            _support(support[k], before[k]),
        )
        for k, name in enumerate(row_names(found.data.ids, rows))
    ]


def _support(support: float, before: int) -> str:
    """Return how probable it is that a document was misfiled, or why nobody asked."""
    if not np.isnan(support):
        return f"{support:.0%}"
    return "deleted class" if before < 0 else "no"


def _moved(found: CategorizeRun) -> Markup:
    rows = [
        (
            _document(name, text),
            shorten(of_class, MAX_NAME),
            Strong(shorten(category, MAX_NAME)),
            why,
            margin,
            Strong(support),
        )
        for name, text, of_class, category, why, margin, support in moved_documents(found)
    ]
    rest: Any = {
        "id": "moved",
        "controls": _find("#moved tbody tr", "id, class, category or word"),
    }
    if not rows:
        return card("Documents that moved", "No document moved.", **rest)
    headers = ("Document", "From class", "To category", "Because of", "Margin", "Support")
    sides = ("left", "left", "left", "left", "right")
    text = (
        "Margin: share of the documents of the new class that differ less from the old one. "
        "Support: estimated probability that a document with this margin was misfiled, by naive "
        "Bayes that has not seen the document. Those of most support come first"
        f"{_shown(len(rows), len(found.estimator.moved_), '; ')}."
    )
    told = text_table(*headers, rows=rows, justify=sides)
    return table_card("Documents that moved", told, text, css="scores documents", **rest)


def _outliers(found: CategorizeRun) -> Markup | None:
    """Return documents without a category."""
    outliers, cosines = found.estimator.outliers_, found.estimator.cosines_
    shown = outliers[:MAX_OUTLIERS].tolist()
    if not shown:
        return None
    rows = [
        (
            _document(name, _snippet(found.texts[row])),
            "no word that counts" if cosines[row] == 0 else f"{cosines[row]:.3f}",
        )
        for name, row in zip(row_names(found.data.ids, shown), shown, strict=True)
    ]
    headers = ("Document", "Cosine with the nearest category")
    told = text_table(*headers, rows=rows, justify=("left",))
    more = _shown(len(shown), len(outliers))
    return table_card("Outliers", told, more and f"{more}.", css="scores documents", id="outliers")


def _shown(n: int, of: int, before: str = "") -> str:
    return f"{before}{n:,} of {of:,} are shown" if n < of else ""


def _document(name: str, text: str) -> Markup:
    return html('{}<small class="snippet">{}</small>', row_id(name, 32), text)


def _snippet(text: str) -> str:
    text = " ".join(text[: 4 * SNIPPET].split())
    return text if len(text) <= SNIPPET else f"{text[: SNIPPET - 1]}…"


# --- classes ------------------------------------------------------------------------------------


def _flows(estimator: Any) -> Markup:
    """Return documents of classes in categories, shaded by the share of the class."""
    flows = flows_of(estimator, MAX_FLOWS)
    rows = [
        (
            shorten(name, 32),
            *(
                Cell(f"{n:,}", "n", share=float(share)) if n else Cell("", "n")
                for n, share in zip(counts.tolist(), shares, strict=True)
            ),
        )
        for name, counts, shares in zip(flows.classes, flows.counts, flows.shares, strict=True)
    ]
    names = (html("<span>{}</span>", shorten(name, 28)) for name in flows.categories)
    told = text_table("Class", *names, rows=rows, justify=("left",))
    text = "Number of documents; the shade is the share of the class."
    text += f" Shown are {flows.note}." if flows.note else ""
    title = "From classes to categories"
    return table_card(title, told, text, css="heat flows", scroll="scroll", size="plot")


def _scores(found: CategorizeRun) -> Markup | None:
    if not found.scores:
        return None
    return card("Agreement with the true topics", score_table(found, "Score"), size="")


def _fates(found: CategorizeRun) -> Markup:
    """Return what became of the classes."""
    merged = [
        " + ".join(shorten(name, MAX_NAME) for name in group) for group in found.merged[:MAX_FATES]
    ]
    killed = [shorten(name, 60) for name in found.killed[:MAX_FATES]]
    blocks = [
        *_listed("Merged", merged),
        *_listed("Deleted, with too few documents of their own", killed),
    ]
    if similar := found.similar():
        rows = [
            (shorten(one, MAX_NAME), shorten(other, MAX_NAME), f"{cosine:.3f}")
            for one, other, cosine in similar
        ]
        told = text_table("", "", "", rows=rows, justify=("left", "left", "right"))
        merging = Markup("They are merged where the cosine is above <code>merge_threshold</code>.")
        blocks += [Markup("<h3>Nearest categories</h3>"), table(told), note(merging)]
    if len(found.merged) > MAX_FATES or len(found.killed) > MAX_FATES:
        blocks.append(note(f"The first {MAX_FATES} of each are shown."))
    return card("What became of the classes", *blocks, size="")


def _listed(title: str, lines: Sequence[str]) -> list[Markup]:
    shown = joined(html('<p class="fate">{}</p>', line) for line in lines)
    return [html("<h3>{}</h3>", title), shown or note("None.")]


def _passes(found: CategorizeRun) -> Markup:
    """Return what happened in every pass."""
    names = ("n_words", "n_categories", "n_merged", "n_killed", "n_outliers")
    columns = (found.estimator.passes_[name].tolist() for name in names)
    rows = [
        (number, *(f"{value:,}" for value in row))
        for number, row in enumerate(zip(*columns, strict=True), start=1)
    ]
    headers = ("Pass", "Words", "Categories", "Merged", "Deleted", "Outliers")
    return card("Passes", text_table(*headers, rows=rows), notes(found.notes), size="")
