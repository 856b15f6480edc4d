"""Candidates side by side: held-out scores with and without the knowledge, stability, time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight._words import counted
from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.evaluation import Comparison
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._run import shorten

#: So many of the best candidates are drawn.
MAX_CANDIDATES = 25
#: Columns of numbers that are drawn, out of those of ``Comparison.table()``.
NUMBERS = ("k", "n_clusters", "score", "error", "plain_score", "gain_error", "stability", "seconds")


@dataclass(eq=False, repr=False, kw_only=True)
class ComparisonDisplay(Display):
    """Held-out score of every candidate with its standard error, the best on top.

    A filled point is a method with what is known, its bar the standard error of the score. An open
    one is the same method without the knowledge, its bar the standard error of the *difference*
    between the two: a filled point within one or two such bars may be there by chance. The chosen
    candidate has a ring. To the right stand the stability under resampling (1: the same clusters
    again and again) and the seconds of a fit. Where no statement was held out, stability takes the
    place of the score.

    Parameters
    ----------
    table : dict of str to ndarray
        One entry per candidate in ``name`` and each of ``k``, ``n_clusters``, ``score``, ``error``,
        ``plain_score``, ``gain_error``, ``stability`` and ``seconds``; NaN for what is not known.
    chosen : int or None
        Number of the chosen candidate.

    Attributes
    ----------
    scores_, plain_scores_ : ErrorbarContainer
        Scores with and without the knowledge.
    order_ : ndarray of int
        Candidates from top to bottom, as numbers of the table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight import Constraints
    >>> from sidelight.display import ComparisonDisplay
    >>> from sidelight.evaluation import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> known = Constraints.sample(y, 40, random_state=0)
    >>> found = compare(X, "kmeans, pckmeans", constraints=known, n_clusters=[2, 3], n_jobs=1)
    >>> display = ComparisonDisplay.from_comparison(found)
    >>> len(display.order_)
    4
    """

    table: dict[str, Array]
    chosen: int | None = None

    @classmethod
    def from_comparison(cls, comparison: Any, *, ax: Any = None) -> Self:
        """Draw what a comparison found.

        Parameters
        ----------
        comparison : Comparison or dict
            What :func:`sidelight.evaluation.compare` returns, or a table like its ``table()``.
        """
        check_matplotlib(cls.__name__)
        chosen = 0 if isinstance(comparison, Comparison) else None  # the chosen one comes first
        return cls(table=_columns(comparison), chosen=chosen).plot(ax)

    @property
    def _by_score(self) -> bool:
        """Whether any candidate has a score; otherwise their stability is drawn."""
        return bool(np.isfinite(self.table["score"]).any())

    @property
    def _shown(self) -> Array:
        return self.table["score" if self._by_score else "stability"]

    @property
    def _size(self) -> tuple[float, float]:
        return 8.4, 1.8 + 0.34 * len(self._best(self._shown))

    def _draw(self, inks: Inks) -> None:
        by_score, shown = self._by_score, self._shown
        self.order_ = self._best(shown)
        drawn = len(self.order_)
        height = np.arange(drawn)[::-1].astype(np.float64)
        self.plain_scores_ = self._draw_plain(height - 0.18, inks)
        self.scores_ = self._draw_scores(shown, by_score, height + 0.18, inks)
        self._ring_chosen(shown, height + 0.18, inks)
        self.ax_.set_yticks(height, [self._name(number) for number in self.order_])
        self.ax_.set_ylim(-0.7, drawn - 0.3)
        self.ax_.grid(axis="x", color=inks.faint, alpha=0.3, linewidth=0.8)
        self.ax_.set_axisbelow(True)
        self._write_column("seconds", 88 if by_score else 34, "{:.2g}", height, inks)
        if by_score:
            self._write_column("stability", 34, "{:.2f}", height, inks)
        said = "held-out score" if by_score else "stability under resampling"
        set_titles(self.ax_, (said + self._left_out(shown), "candidate"))
        handles, texts = self.ax_.get_legend_handles_labels()
        self.ax_.legend(
            handles[::-1],
            texts[::-1],
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            fontsize="small",
            frameon=False,
        )

    def _best(self, shown: Array) -> IntArray:
        """Candidates with a figure, the best first, the chosen one among them in any case."""
        order = np.argsort(np.where(np.isnan(shown), np.inf, -shown), kind="stable")
        order = order[np.isfinite(shown[order])]
        if not len(order):
            raise InvalidRequest("No candidate of the comparison has a score: nothing to draw.")
        kept = order[:MAX_CANDIDATES]
        if self.chosen is not None and self.chosen in order[MAX_CANDIDATES:]:
            kept = np.append(kept[:-1], self.chosen)
        return np.asarray(kept, np.int64)

    def _draw_scores(self, shown: Array, by_score: bool, height: Array, inks: Inks) -> Any:
        error = np.nan_to_num(self.table["error"][self.order_]) if by_score else None
        return self.ax_.errorbar(
            shown[self.order_],
            height,
            xerr=error,
            fmt="o",
            color=inks.groups(1)[0],
            markersize=6.5,
            elinewidth=1.6,
            capsize=3,
            label="with what is known (bar: standard error)" if by_score else "stability",
        )

    def _draw_plain(self, height: Array, inks: Inks) -> Any:
        values = self.table["plain_score"][self.order_]
        if np.isnan(values).all():
            return None
        return self.ax_.errorbar(
            values,
            height,
            xerr=np.nan_to_num(self.table["gain_error"][self.order_]),
            fmt="D",
            color=inks.soft,
            markerfacecolor=inks.page,
            markersize=5,
            elinewidth=1.6,
            capsize=3,
            label="the same method without (bar: standard error of the difference)",
        )

    def _ring_chosen(self, shown: Array, height: Array, inks: Inks) -> None:
        if self.chosen is None:
            return
        self.ax_.plot(
            shown[self.chosen],
            height[self.order_ == self.chosen],
            "o",
            markersize=14,
            markerfacecolor="none",
            markeredgecolor=inks.ink,
            markeredgewidth=1.6,
            label="chosen",
        )

    def _name(self, number: int) -> str:
        name = shorten(str(self.table["name"][number]), 32)
        k, found = self.table["k"][number], self.table["n_clusters"][number]
        if np.isfinite(k):
            return f"{name}, k = {k:g}"
        return f"{name}, {found:g} found" if np.isfinite(found) else name

    def _left_out(self, shown: Array) -> str:
        """Note on what is not drawn."""
        without = int(np.isnan(shown).sum())
        parts = []
        if len(self.order_) < len(shown) - without:
            parts.append(f"the best {len(self.order_)} of {counted(len(shown), 'candidate')}")
        if without:
            parts.append(f"{counted(without, 'candidate')} not finished or failed")
        return f"\n({'; '.join(parts)})" if parts else ""

    def _write_column(self, name: str, place: float, form: str, height: Array, inks: Inks) -> None:
        """Write figures of the candidates at a distance right of the frame."""
        values = self.table[name][self.order_]
        if np.isnan(values).all():
            return
        texts = [form.format(value) if np.isfinite(value) else "" for value in values]
        for y, text in zip([len(height) - 0.35, *height], [name, *texts], strict=True):
            self.ax_.annotate(
                text,
                (1.0, y),
                xycoords=self.ax_.get_yaxis_transform(),
                xytext=(place, 0),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize="small",
                color=inks.soft,
                annotation_clip=False,
            )


def _columns(comparison: Any) -> dict[str, Array]:
    """Columns of the picture."""
    table = comparison.table() if isinstance(comparison, Comparison) else comparison
    if not isinstance(table, Mapping) or not {"name", "score"} <= set(table):
        raise InvalidRequest(
            "A comparison is what sidelight.evaluation.compare returns, or a dict of columns: name "
            f"and {', '.join(NUMBERS)}."
        )
    missing = np.full(len(table["name"]), np.nan)
    # None stands for a number of clusters that a method finds by itself.
    numbers = {column: np.array(table.get(column, missing), np.float64) for column in NUMBERS}
    return {"name": np.asarray(table["name"], dtype=object), **numbers}
