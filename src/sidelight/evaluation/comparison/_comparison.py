"""Result of a comparison: its candidates, the chosen one, and a verdict in words."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, Literal

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import two_digits
from sidelight.evaluation.comparison._stability import agreement
from sidelight.evaluation.comparison._verdict import Ask, Verdict, ask_in_general

#: Candidates that a short table shows.
SHOWN = 12


@dataclass(frozen=True, eq=False, repr=False)
class Candidate:
    """A method with a number of clusters, and how it did.

    Attributes
    ----------
    name : str
        Name of the method.
    k : int or None
        Number of clusters that it was given; None where the method finds the number.
    status : {"scored", "not finished", "failed"}
        Whether all figures are there, time ran out, or a fit failed.
    reason : str or None
        Why a fit failed.
    score, error : float
        Balanced share of the held-out statements that the candidate keeps, and its standard error;
        NaN where nothing was held out.
    must_link, cannot_link : float
        The two shares whose mean is the score.
    plain : str or None
        What the candidate is compared with: the name of the same method, fitted without any
        knowledge, or of the baseline where the method cannot do without; None where the method
        uses nothing of what is known.
    plain_score : float
        Score of that fit on the same statements.
    gain, gain_error : float
        Score minus ``plain_score``, and the standard error of this paired difference.
    stability : float
        Mean adjusted Rand index of fits on overlapping subsamples of the rows.
    seconds : float
        Median time of a fit to all rows.
    n_clusters : int or None
        Number of clusters that were found with all knowledge.
    labels : ndarray or None
        Those clusters, for the rows that were compared.
    learns : bool
        Whether the method uses anything of what is known.
    notes : tuple of str
        What the method warned of.
    hits : ndarray or None
        For every held-out pair, whether it was kept.
    model : bytes or None
        The fitted estimator, pickled.
    """

    name: str
    k: int | None
    status: Literal["scored", "not finished", "failed"]
    reason: str | None = None
    score: float = np.nan
    error: float = np.nan
    must_link: float = np.nan
    cannot_link: float = np.nan
    plain: str | None = None
    plain_score: float = np.nan
    gain: float = np.nan
    gain_error: float = np.nan
    stability: float = np.nan
    seconds: float = np.nan
    n_clusters: int | None = None
    labels: Array | None = None
    learns: bool = False
    notes: tuple[str, ...] = ()
    hits: Any = None
    model: bytes | None = None

    @property
    def title(self) -> str:
        """Name and number of clusters."""
        if self.k is not None:
            return f"{self.name} with k = {self.k}"
        return self.name if self.n_clusters is None else f"{self.name} ({self.n_clusters} clusters)"

    def __repr__(self) -> str:
        if self.status != "scored":
            return f"<Candidate {self.title}: {self.status}>"
        return f"<Candidate {self.title}: {self.score:.2f} ± {self.error:.2f}>"


#: Columns of :meth:`Comparison.table`.
COLUMNS = (
    "name",
    "k",
    "status",
    "score",
    "error",
    "must_link",
    "cannot_link",
    "plain",
    "plain_score",
    "gain",
    "gain_error",
    "stability",
    "seconds",
    "n_clusters",
    "reason",
)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Candidates side by side; made by :func:`sidelight.evaluation.compare`.

    Attributes
    ----------
    candidates : list of Candidate
        All of them: the chosen one first, then by score, those without one at the end.
    best_ : Candidate
        The chosen one.
    best_estimator_ : estimator
        It, fitted to all rows with all knowledge.
    labels_ : ndarray of shape (n_samples,)
        Its clusters.
    seconds : float
        Time of the whole comparison.
    n_statements : int
        Number of statements that candidates were scored by.
    compared : ndarray
        Positions of the rows that candidates were fitted to: all, or a sample of very many.
    remarks : tuple of str
        What happened on the way: rows left out, time that ran out, fits that failed.
    """

    candidates: list[Candidate]
    best_: Candidate
    best_estimator_: Any
    labels_: Array
    seconds: float
    n_statements: int
    compared: IntArray
    remarks: tuple[str, ...]
    _verdict: Verdict = field(repr=False)

    @property
    def verdict(self) -> list[str]:
        """Verdict in sentences: the choice, whether it is clear, whether constraints helped.

        Examples
        --------
        >>> from sidelight.datasets import load_uci
        >>> from sidelight import Constraints
        >>> from sidelight.evaluation import compare
        >>> iris = load_uci("iris")
        >>> known = Constraints.sample(iris.target, 30, random_state=0)
        >>> found = compare(iris.data, "pckmeans", constraints=known, n_clusters=3)
        >>> found.verdict[0].startswith("Chosen: pckmeans with k = 3. It keeps 0.")
        True
        """
        return self.sentences(ask_in_general)

    def sentences(self, ask: Ask) -> list[str]:
        """Return the verdict with other advice on how to get more statements.

        Parameters
        ----------
        ask : callable
            Called with the number of statements that are missing and the number of clusters;
            returns a sentence.
        """
        return [*self._verdict.sentences(ask), *self.remarks]

    @property
    def scored(self) -> list[Candidate]:
        """Candidates that have all their figures."""
        return [one for one in self.candidates if one.status == "scored"]

    @cached_property
    def leaders(self) -> list[Candidate]:
        """The best candidate of every method, the chosen one first."""
        found: dict[str, Candidate] = {}
        for one in self.scored:  # in the order of their merit
            found.setdefault(one.name, one)
        return list(found.values())

    def agreement(self) -> FloatArray:
        """Return the adjusted Rand index between the best candidates of the methods.

        Returns
        -------
        ndarray of shape (n_methods, n_methods)
            Rows and columns are :attr:`leaders`.
        """
        labels = [one.labels for one in self.leaders]
        return agreement(labels, np.random.RandomState(0))

    def table(self) -> dict[str, Array]:
        """Return the figures as columns, in the manner of ``cv_results_``.

        Returns
        -------
        dict of str to ndarray
            One entry per candidate in each of ``name``, ``k``, ``status``, ``score``, ``error``,
            ``must_link``, ``cannot_link``, ``plain``, ``plain_score``, ``gain``, ``gain_error``,
            ``stability``, ``seconds``, ``n_clusters`` and ``reason``; see :class:`Candidate`.
        """
        columns = {name: [getattr(one, name) for one in self.candidates] for name in COLUMNS}
        numbers = {name for name, values in columns.items() if isinstance(values[0], float)}
        return {
            name: np.array(values, dtype=np.float64 if name in numbers else object)
            for name, values in columns.items()
        }

    def rows(self) -> list[list[str]]:
        """Return the figures as text, one line per candidate, without a heading."""
        return [_cells(one) for one in self.candidates]

    def __repr__(self) -> str:
        lines = [list(HEADINGS), *self.rows()[:SHOWN]]
        widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
        text = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in lines]
        hidden = len(self.candidates) - SHOWN
        more = [f"and {hidden} more, see .table()"] if hidden > 0 else []
        return "\n".join([*(line.rstrip() for line in text), *more, *self.verdict])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in HEADINGS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows()
        )
        paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.verdict)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<div>{paragraphs}{table}</div>"


HEADINGS = ("Method", "k", "Score", "Without", "Gain", "Stable", "Time")


def _cells(one: Candidate) -> list[str]:
    name = [one.name, "" if one.k is None else str(one.k)]
    if one.status != "scored":
        return [*name, one.status, "", "", "", ""]
    return [
        *name,
        pair(one.score, one.error),
        two_digits(one.plain_score) + _other(one),
        pair(one.gain, one.gain_error, "+"),
        two_digits(one.stability),
        f"{one.seconds:.2f}s",
    ]


def _other(one: Candidate) -> str:
    """Name of the method that stands for the candidate without knowledge, if it is another."""
    return f" ({one.plain})" if one.plain not in (None, one.name) else ""


def pair(value: float, error: float, sign: str = "") -> str:
    """Write a number with its standard error."""
    return "–" if np.isnan(value) else f"{two_digits(value, sign)}±{two_digits(error)}"


def restore(model: bytes) -> Any:
    """Return the estimator that a worker has fitted."""
    return pickle.loads(model)


def in_order(candidates: Sequence[Candidate], chosen: int, merit: FloatArray) -> list[Candidate]:
    """Put the chosen candidate first, then the others by merit, NaN last."""
    places = [place for place in range(len(candidates)) if place != chosen]
    places.sort(key=lambda place: (np.isnan(merit[place]), -np.nan_to_num(merit[place]), place))
    return [candidates[chosen], *(candidates[place] for place in places)]
