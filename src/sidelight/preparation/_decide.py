"""Kind of a column, decided by its type, its values and its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sidelight._typing import FloatArray
from sidelight._words import counted
from sidelight.exceptions import SidelightError
from sidelight.io.inner import quoted, sounds_like_ids
from sidelight.preparation._known import ColumnValues, DateValues, NumberValues
from sidelight.preparation._plan import ASIDE, ColumnPlan
from sidelight.preparation._texts import EXAMPLES, Levels
from sidelight.preparation._vocabulary import CODE_NAME, in_order, no_and_yes

#: Levels in less than this share of the rows are joined, and so are those beyond this number.
RARE, MAX_LEVELS = 0.01, 30
#: Texts of this many words on average, most of them different, are texts, not categories.
TEXT_WORDS, TEXT_DIFFERENT = 3.0, 0.3
#: Other texts of which more than this share is different name rows rather than describe them.
ALL_DIFFERENT = 0.5
#: Columns with fewer values than this share of the rows say next to nothing.
NEARLY_EMPTY = 0.05
#: Positive numbers of a larger skewness go through a logarithm if that halves it.
SKEWED = 1.0
#: Codes such as those of shops are categories if there are no more than this many.
MAX_CODES = 10
#: A column that counts the rows is recognized from this many rows on.
COUNTER_ROWS = 20

#: Kinds that can be asked for, with what they mean where it is not the word itself.
ASKED = {
    "number": "number",
    "log": "number",
    "yes-no": "yes-no",
    "category": "category",
    "ordered": "ordered",
    "date": "date",
    "time": "time",
    "text": "text",
    ASIDE: ASIDE,
}


@dataclass(frozen=True)
class ColumnChoice:
    """The user's choices for a column.

    Attributes
    ----------
    kind : str or None
        A key of :data:`ASKED`; None to find out.
    levels : tuple of str
        Order of the levels of an ordered category, if it is given.
    """

    kind: str | None = None
    levels: tuple[str, ...] = ()


def decide(raw: ColumnValues, asked: ColumnChoice) -> ColumnPlan:
    """Decide what becomes of a column.

    Parameters
    ----------
    raw : ColumnValues
        What is known of the column.
    asked : ColumnChoice
        What the user says about it.
    """
    import pyarrow as pa

    types, name = pa.types, raw.name
    if asked.kind == ASIDE:
        return ColumnPlan(name, ASIDE, "as asked for")
    if raw.n_null == raw.n_rows or types.is_null(raw.type):
        return ColumnPlan(name, ASIDE, "empty", raw.n_rows)
    if types.is_nested(raw.type):
        return ColumnPlan(name, ASIDE, "holds lists or records, not values", raw.n_null)
    if asked.kind is not None:
        return _plan_as_chosen(raw, asked)
    if types.is_boolean(raw.type):
        return _levels_plan(name, raw.coded)
    if types.is_dictionary(raw.type) and raw.type.ordered:
        return _ordered_plan(raw, ())
    if raw.numbered is not None:
        return _number_plan(raw, raw.numbered)
    if raw.dated is not None:
        return _dated_plan(name, raw.dated)
    return _names_plan(raw) or _levels_plan(name, raw.coded)


def _plan_as_chosen(raw: ColumnValues, asked: ColumnChoice) -> ColumnPlan:
    """Follow the user; raise where the column cannot be read like that."""
    name, kind = raw.name, ASKED[asked.kind or ""]
    if kind == "number":
        if raw.numbered is None:
            return _empty_or_raise(raw, "number")
        plan = _plain_number(name, raw.numbered)
        if plan.n_missing == raw.n_rows:
            return ColumnPlan(name, ASIDE, "empty", plan.n_missing)
        if asked.kind == "log":
            return replace(plan, log_scale=_log_scale(name, raw.numbered), how="logarithm")
        return plan
    if kind in ("date", "time"):
        if raw.dated is None:
            return _empty_or_raise(raw, kind)
        if raw.dated.kind != kind:
            raise SidelightError(
                f"Column {name!r} holds {raw.dated.kind}s; say {name}={raw.dated.kind}."
            )
        return _dated_plan(name, raw.dated)
    coded = raw.coded
    if not coded.n_levels:
        return ColumnPlan(name, ASIDE, "empty", coded.n_missing)
    if kind == "text":
        return ColumnPlan(name, "text", "", coded.n_missing)
    if coded.n_levels == 1 and not coded.n_missing:
        return _constant(name, coded.levels[0], 0)
    if kind == "ordered":
        return _ordered_plan(raw, asked.levels)
    if kind == "yes-no" and coded.n_levels != 2:
        raise SidelightError(
            f"Column {name!r} has {coded.n_levels} different values "
            f"({quoted(coded.levels, limit=3)}), not two: it is no yes-no; say {name}=category."
        )
    return _category_plan(name, coded, at_least=0) if kind == "category" else _two(name, coded)


def _empty_or_raise(raw: ColumnValues, kind: str) -> ColumnPlan:
    """Set a column aside that only has words for missing values; raise for another one."""
    if raw.is_empty:
        return ColumnPlan(raw.name, ASIDE, "empty", raw.n_rows)
    raise raw.unreadable(kind)


# --- numbers ----------------------------------------------------------------------------------


def _plain_number(name: str, numbered: NumberValues) -> ColumnPlan:
    return ColumnPlan(
        name,
        "number",
        numbered.how,
        numbered.n_missing,
        written=numbered.convention,
        n_unreadable=numbered.n_unreadable,
    )


def _number_plan(raw: ColumnValues, numbered: NumberValues) -> ColumnPlan:
    name, named = raw.name, raw.source.named
    n_rows, n_missing = numbered.n_rows, numbered.n_missing
    present = n_rows - n_missing
    if not present:
        return ColumnPlan(name, ASIDE, "empty", n_missing)
    low, high = numbered.extent
    if low == high:
        return _constant(name, f"{low:g}", n_missing)
    if present < NEARLY_EMPTY * n_rows:
        return _nearly_empty(name, present, n_rows, n_missing)
    if named and (aside := _names_rows(name, numbered)):
        return ColumnPlan(name, ASIDE, aside, n_missing)
    if numbered.has_two_values:
        return _two(name, raw.coded)
    if named and is_code(name):
        return _code_plan(name, raw.coded)
    scale = _skewed(numbered.sample, low)
    note = "skewed, so its logarithm" if scale else ""
    if named and _numbers_rows(numbered):
        note = f"each of {low:.0f} to {high:.0f} once; drop it if it only names the rows"
    plan = _plain_number(name, numbered)
    return replace(plan, log_scale=scale, how="; ".join(filter(None, [plan.how, note])))


def is_code(name: str) -> bool:
    """Whether the name of a column suggests codes, not amounts or kinds."""
    return bool(CODE_NAME.search(name)) or sounds_like_ids(name)


def _code_plan(name: str, coded: Levels) -> ColumnPlan:
    """Plan for codes: few become categories; many are set aside as finer steps of other columns."""
    if coded.n_levels > MAX_CODES:
        how = f"{coded.number} different codes, by its name; {name}=category counts them"
        return ColumnPlan(name, ASIDE, how, coded.n_missing)
    return _category_plan(name, coded, at_least=2, because="codes, by its name")


def _names_rows(name: str, numbered: NumberValues) -> str:
    """Why a column of numbers only names or counts the rows; nothing if it does not."""
    if not numbered.is_whole:
        return ""
    if numbered.n_rows >= COUNTER_ROWS and numbered.counts_rows:
        first, last = numbered.ends
        return f"counts the rows, {first:.0f} to {last:.0f}"
    if sounds_like_ids(name) and numbered.n_different > ALL_DIFFERENT * numbered.n_rows:
        return "ids, by its name and since most are different"
    return ""


def _numbers_rows(numbered: NumberValues) -> bool:
    """Whether a column holds every whole number of a range once, in whatever order."""
    low, high = numbered.extent
    n_rows = numbered.n_rows
    if n_rows < COUNTER_ROWS or high - low != n_rows - 1 or low != round(low):
        return False
    return numbered.has_each_once


def _skewed(sample: FloatArray, low: float) -> float:
    """Scale c of log(1 + x / c) for a skewed positive column; 0 where it is none."""
    if low < 0 or len(sample) < 10 or len(np.unique(sample)) <= 10:
        return 0.0
    before = skewness(sample)
    if not before > SKEWED:
        return 0.0
    scale = float(np.quantile(sample[sample > 0], 0.25))
    return scale if abs(skewness(np.log1p(sample / scale))) < before / 2 else 0.0


def skewness(values: FloatArray) -> float:
    """Third standardized moment; 0 for constant values."""
    apart = values - values.mean()
    apart /= np.abs(apart).max(initial=0.0) or 1.0  # its cubes are finite
    deviation = float(np.sqrt(np.mean(apart**2)))
    return float(np.mean((apart / deviation) ** 3)) if deviation > 0 else 0.0


def _log_scale(name: str, numbered: NumberValues) -> float:
    low, high = numbered.extent
    if low < 0 or high == 0:
        raise SidelightError(
            f"Column {name!r} has numbers below 0, or no other than 0: it has no logarithm; say "
            f"{name}=number."
        )
    return numbered.positive_quartile()


# --- dates ------------------------------------------------------------------------------------


def _dated_plan(name: str, dated: DateValues) -> ColumnPlan:
    n_missing = dated.n_missing
    if n_missing == dated.n_rows:
        return ColumnPlan(name, ASIDE, "empty", n_missing)
    if dated.extent[0] == dated.extent[1]:
        return _constant(name, "one moment", n_missing)
    return ColumnPlan(
        name,
        dated.kind,
        dated.how,
        n_missing,
        written=dated.format,
        n_unreadable=dated.n_unreadable,
    )


# --- texts ------------------------------------------------------------------------------------


def _levels_plan(name: str, coded: Levels) -> ColumnPlan:
    """Yes or no, ordered, category, text, or a name."""
    n_rows, levels, n_levels = coded.n_rows, coded.levels, coded.n_levels
    present = n_rows - coded.n_missing
    if not n_levels:
        return ColumnPlan(name, ASIDE, "empty", coded.n_missing)
    if n_levels == 1 and not coded.n_missing:
        return _constant(name, levels[0], 0)
    if present < NEARLY_EMPTY * n_rows:
        return _nearly_empty(name, present, n_rows, coded.n_missing)
    if n_levels == 1:  # it is there, or it is not
        return ColumnPlan(name, "category", levels[0], coded.n_missing, levels=(levels[0],))
    if n_levels == 2:
        return _two(name, coded)
    ordered = in_order(levels) if n_levels <= MAX_LEVELS else None
    if ordered is not None:
        return ColumnPlan(name, "ordered", _order_words(ordered), coded.n_missing, levels=ordered)
    if _is_prose(coded):
        return ColumnPlan(name, "text", "", coded.n_missing)
    if CODE_NAME.search(name):
        return _code_plan(name, coded)
    if n_levels > ALL_DIFFERENT * present and n_levels > 10:
        how = "all different" if coded.number == f"{present:,}" else "nearly all different"
        return ColumnPlan(name, ASIDE, f"{how} ({coded.number} of {present:,})", coded.n_missing)
    return _category_plan(name, coded, at_least=2)


def _names_plan(raw: ColumnValues) -> ColumnPlan | None:
    """Set very many texts that differ aside without coding them; None for all others."""
    texts = raw.differing
    if not texts or _mean_words(texts[:EXAMPLES]) >= TEXT_WORDS:
        return None
    how = f"nearly all different ({len(set(texts)):,} of {len(texts):,} that were looked at)"
    return ColumnPlan(raw.name, ASIDE, how, raw.n_null)


def _mean_words(texts: Sequence[str | None]) -> float:
    return float(np.mean([len((text or "").split()) for text in texts])) if texts else 0.0


def _is_prose(coded: Levels) -> bool:
    """Whether texts are several words long and differ."""
    present = coded.n_rows - coded.n_missing
    if coded.n_levels < max(10, TEXT_DIFFERENT * present):
        return False
    return _mean_words(coded.examples) >= TEXT_WORDS


def _two(name: str, coded: Levels) -> ColumnPlan:
    """Plan for two levels: yes and no where the words mean that."""
    pair = no_and_yes(coded.levels)
    levels = pair or tuple(sorted(coded.levels))
    kind = "category" if pair is None else "yes-no"
    return ColumnPlan(name, kind, " or ".join(levels), coded.n_missing, levels=levels)


def _ordered_plan(raw: ColumnValues, levels: tuple[str, ...]) -> ColumnPlan:
    """Levels in the order that is given, or that the column or its words have."""
    import pyarrow as pa

    name, coded = raw.name, raw.coded
    known = set(coded.levels)
    if levels:
        strange = [level for level in coded.levels if level not in levels]
        if strange:
            raise SidelightError(
                f"Column {name!r} has {quoted(strange, limit=3)}, which its order "
                f"({' < '.join(levels)}) does not name; add them."
            )
        ordered: tuple[str, ...] | None = levels
    elif pa.types.is_dictionary(raw.type) and raw.type.ordered:
        ordered = tuple(word for word in raw.words if word in known)
    else:
        ordered = in_order(coded.levels) or _numbers_in_order(coded.levels)
    if ordered is None:
        raise SidelightError(
            f"The order of the values of column {name!r} is not known; say it: "
            f"{name}=ordered:{'<'.join(coded.levels[:3])}, from low to high."
        )
    how = _order_words(ordered)
    return ColumnPlan(name, "ordered", how, coded.n_missing, levels=ordered)


def _numbers_in_order(levels: Sequence[str]) -> tuple[str, ...] | None:
    try:
        return tuple(sorted(levels, key=float))
    except ValueError:
        return None


def _order_words(levels: Sequence[str]) -> str:
    shown = levels if len(levels) <= 5 else (*levels[:2], "…", levels[-1])
    return " < ".join(shown)


def _category_plan(name: str, coded: Levels, *, at_least: int, because: str = "") -> ColumnPlan:
    """Plan for categories with rare levels joined; ``at_least`` levels must not be rare.

    A single frequent one is a level if the others, or the gaps, are not rare together.
    """
    share = RARE * coded.n_rows
    common = coded.counts >= max(share, 2)
    if np.count_nonzero(common) < at_least:  # of few rows, once may be often enough
        common = coded.counts >= share
    n_kept = min(int(np.count_nonzero(common)), MAX_LEVELS)
    n_joined = coded.n_levels - n_kept
    if n_kept < at_least:
        present = coded.n_rows - coded.n_missing
        if not n_kept:
            values = "different value" if coded.n_levels == 1 else "different values"
            how = f"{coded.number} {values}, none of them in {RARE:.0%} of the rows"
            return ColumnPlan(name, ASIDE, how, coded.n_missing)
        most = int(coded.counts[0])
        if coded.n_rows - most < share:
            how = f"nearly always {_shortened(coded.levels[0])} ({most:,} of {present:,} rows)"
            return ColumnPlan(name, ASIDE, how, coded.n_missing)
    if n_joined == 1 or n_kept == 0:  # a single rare level needs no other name
        n_kept = min(len(coded.levels), MAX_LEVELS)
        n_joined = coded.n_levels - n_kept
    how = counted(n_kept, "level")
    if n_joined:
        how += f", {n_joined:,} rare ones joined"
    if because:
        how += f" ({because})"
    return ColumnPlan(
        name,
        "category",
        how,
        coded.n_missing,
        levels=tuple(coded.levels[:n_kept]),
        joined=n_joined > 0,
    )


def _constant(name: str, value: str, n_missing: int) -> ColumnPlan:
    return ColumnPlan(name, ASIDE, f"always the same ({_shortened(value)})", n_missing)


def _shortened(value: str) -> str:
    return value if len(value) <= 30 else f"{value[:27]}..."


def _nearly_empty(name: str, present: int, n_rows: int, n_missing: int) -> ColumnPlan:
    return ColumnPlan(name, ASIDE, f"nearly empty ({present:,} of {n_rows:,} rows)", n_missing)
