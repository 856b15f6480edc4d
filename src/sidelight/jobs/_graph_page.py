"""The page of a partition whose cost is bounded, which several jobs about graphs have."""

from __future__ import annotations

from markupsafe import Markup

from sidelight._words import counted, format_number, listed, statements
from sidelight.jobs._graph import OPTIMAL, GraphRun, gap_text
from sidelight.pictures.relational._blocks import SignBlocks, sign_cells
from sidelight.report.cards import card, figure, html, joined, note, side, terms
from sidelight.report.page import Page, agreement_card, largest_card, row_names, size_figure


def known_for_certain(found: GraphRun, sentence: str) -> str:
    """Return a sentence about what was given with what is known at its end."""
    known = statements(found.knowledge.counts)
    return f"{sentence}; known for certain: {listed(known)}." if known else f"{sentence}."


def signs_card(
    title: str, blocks: SignBlocks, ids: object, key: tuple[str, ...], text: str
) -> Markup:
    """Return the sign matrix, with ``text`` on how to read it.

    ``key`` says what a sign for, a sign against and a disagreement mean.
    """
    colors = zip(("together", "apart", "wrong"), key, strict=True)
    entries = (html('<span><i class="{}"></i>{}</span>', color, says) for color, says in colors)
    legend = html('<p class="sign-key">{}</p>', joined(entries))
    picture = sign_cells(blocks, row_names(ids, blocks.order))
    return figure(title, picture, legend, note(text), size="plot")


def partition_page(
    found: GraphRun,
    noun: str,
    given: tuple[str, str],
    *,
    signs: Markup,
    cost: str,
    asked: Markup,
    below: tuple[Markup | None, ...],
    largest: str,
) -> Page:
    """Return the page of a partition with its cost and the least that any could have.

    ``noun`` is what a row is, ``given`` what the partition is made of (name of the fact, number
    with a noun), ``signs``, ``cost`` and ``asked`` the sign matrix, what the cost is, and the card
    about what was given. The card of the ``largest`` clusters, of that size, is the last one.
    """
    name, counts = given
    gap = gap_text(found.estimator)
    nouns = f"{noun}s".capitalize()
    clusters = counted(found.n_clusters, "cluster")
    return found.page_of(
        "sidelight.report",
        styles=["signs.css"],
        noun=nouns,
        sentence=known_for_certain(
            found, f"{counted(found.data.n_rows, noun)}, {counts}, {clusters}"
        ),
        fine=True if gap == OPTIMAL else None,
        status=gap[:1].upper() + gap[1:],
        facts=[(name, counts.split()[0]), ("Clusters", f"{found.n_clusters:,}")],
        cards=[
            signs,
            side(
                _quality(found, f"{cost} No partition costs less than the lower bound."),
                asked,
                agreement_card(found),
                size_figure(found.labels, "clusters"),
            ),
            *below,
            largest_card(found.labels, found.data.ids, nouns, size=largest),
        ],
    )


def _quality(found: GraphRun, text: str) -> Markup:
    """Return cost, agreement and lower bound of a partition, and how they were found."""
    names = {"objective": "Cost", "agreement": "Agreement", "lower_bound": "Lower bound"}
    numbers = found.fitted(*names)
    facts = [(title, format_number(float(numbers[name]))) for name, title in names.items()]
    ways = found.fitted("method", "bound_method")
    facts += [
        (title, str(way))
        for title, way in zip(("Found by", "Bound by"), ways.values(), strict=True)
        if way is not None
    ]
    big = html('<p class="big">{}</p>', gap_text(found.estimator))
    return card("How good it is", big, terms(facts), note(text), size="")
