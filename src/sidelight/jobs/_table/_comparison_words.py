"""What a comparison of candidates says: the table of them, the verdict, the chosen one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidelight._words import counted, two_digits
from sidelight.evaluation.inner import HEADINGS
from sidelight.jobs._table._words import words
from sidelight.report.inner import Strong, TextTable, Told, text_table

if TYPE_CHECKING:
    from sidelight.jobs._table._comparison import CompareRun

#: Largest number of candidates that are listed.
MAX_CANDIDATES = 24


def comparison_words(found: CompareRun) -> list[Told]:
    """Return the candidates, what they say about the knowledge, and the chosen one."""
    again = found.chosen_command()
    alone: list[Told] = [] if again is None else [f"The chosen one alone: {again}"]
    verdict: list[Told] = [(Strong("•"), f" {sentence}") for sentence in found.verdict]
    return [_candidate_table(found), *verdict, "", *words(found), *alone]


def _candidate_table(found: CompareRun) -> TextTable:
    """Return the candidates with their figures, the chosen one first; of very many, the best."""
    candidates, comparison = found.candidates(), found.comparison
    truth = "adjusted_rand_index" in candidates[0]
    title = f"{counted(len(comparison.scored), 'candidate')} scored in {comparison.seconds:.1f} s"
    if comparison.n_statements:
        title += f" by {counted(comparison.n_statements, 'statement')} that each was not told"
    rows: list[tuple[str, ...]] = []
    for place, (cells, facts) in enumerate(zip(comparison.rows(), candidates, strict=True)):
        if place == MAX_CANDIDATES:
            rows.append((f"and {len(candidates) - place} more (--json lists all)",))
            break
        rows.append((*cells, *([two_digits(facts["adjusted_rand_index"])] if truth else [])))
    return text_table(
        *HEADINGS,
        *(["ARI"] if truth else []),
        rows=rows,
        title=f"{title}; the chosen one first",
        strong_first=True,
        narrow=True,  # names are long, and a terminal has 80 columns
    )
