"""A reader of what explanations say, who knows the words and nothing of the code.

Conditions are looked up in the table, and the figures of a sentence are counted again.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from sidelight.preparation import TypedColumn

MORE = {"higher": 1, "later": 1, "lower": -1, "earlier": -1}


def with_dates_read(columns):
    """Columns with the weekdays, months and times of the day of dates, by pandas."""
    found = []
    for column in columns:
        found.append(column)
        if column.kind != "date":
            continue
        known = ~np.isnan(column.values)
        stamps = np.full(len(known), np.datetime64("NaT", "us"))
        stamps[known] = np.round(column.values[known] * 1e6).astype(np.int64)
        days = pd.Series(stamps)
        for what, said in (("weekday", days.dt.day_name()), ("month", days.dt.month_name())):
            levels = tuple(said.dropna().unique())
            codes = said.map({level: code for code, level in enumerate(levels)}).fillna(-1)
            name = f"{column.name} ({what})"
            found.append(TypedColumn(name, "category", codes.to_numpy(np.int32), levels))
        clock = (days - days.dt.normalize()).dt.total_seconds().to_numpy()
        found.append(TypedColumn(f"{column.name} (time of day)", "time", clock))
    return found


def read_back(rule, columns):
    """Rows that the words of a rule describe, by a reader who knows nothing of the code."""
    columns = with_dates_read(columns)
    names = _names(columns)
    by_name = {column.name: column for column in columns}
    rows = np.ones(len(columns[0].values), dtype=bool)
    if rule == "any row":
        return rows
    for part in re.split(rf" and (?=\(?(?:{names})|\(?[-\d.,]+ < )", rule):
        condition = part.removeprefix("(").removesuffix(")") if part.startswith("(") else part
        name = re.search(rf"({names})", condition).group(1)
        rows &= holds(condition, by_name[name])
    return rows


def holds(condition, column):
    values, name = column.values, column.name
    missing = (
        values == ""
        if column.kind == "text"
        else (np.isnan(values) if values.dtype.kind == "f" else values < 0)
    )
    if condition == f"{name} is missing":
        return missing
    if condition == f"{name} is known":
        return ~missing
    if column.kind == "text":
        word = re.search("“(.*)”", condition).group(1)
        there = np.array([mentions(text, word) for text in values])
        return ~there if "does not mention" in condition else there
    if column.kind in ("category", "yes-no"):
        listed = re.split(", | or ", re.search("is (?:not )?(.*)", condition).group(1))
        said = [column.levels[value] if value >= 0 else "missing" for value in values]
        inside = np.isin(said, listed)
        return ~inside if " is not " in condition else inside
    with_missing = condition.endswith(" or missing")
    inside = _between(condition.removesuffix(" or missing"), column) & ~missing
    return inside | (missing if with_missing else False)


def _between(condition, column):
    values, name = column.values, column.name
    if column.kind == "number":
        low = re.search(
            rf"([-\d.,]+) < {re.escape(name)}|{re.escape(name)} > ([-\d.,]+)", condition
        )
        high = re.search(rf"{re.escape(name)} ≤ ([-\d.,]+)", condition)
        low, high = (
            None if found is None else float(next(filter(None, found.groups())).replace(",", ""))
            for found in (low, high)
        )
        above = values > low if low is not None else True
        return above & (values <= high if high is not None else ~np.isnan(values))
    if column.kind == "ordered":
        said = condition.split(" is ", 1)[1]
        first, last = said.removesuffix(" or higher").removesuffix(" or lower"), None
        if " to " in said:
            first, last = said.split(" to ")
        place = column.levels.index(first)
        if said.endswith("or higher"):
            return values >= place
        if said.endswith("or lower"):
            return values <= place
        return (values >= place) & (values <= column.levels.index(last or first))
    pattern = r"[-\d]+(?: [\d:.]+)?" if column.kind == "date" else r"[\d:.]+"
    start = re.search(rf"from ({pattern})", condition)
    end = re.search(rf"before ({pattern})", condition)
    start, end = (None if m is None else seconds_of(m.group(1), column.kind) for m in (start, end))
    if start is not None and end is not None and column.kind == "time" and end <= start:
        return (values >= start) | (values < end)  # over midnight
    after = values >= start if start is not None else True
    return after & (values < end if end is not None else ~np.isnan(values))


def seconds_of(said, kind):
    if kind == "date":
        return float(np.datetime64(said.replace(" ", "T"), "us").astype(np.int64)) / 1e6
    parts = [float(part) for part in said.split(":")]
    return parts[0] * 3600 + parts[1] * 60 + (parts[2] if len(parts) > 2 else 0.0)


def mentions(text, word):
    """Whether a text has a word, whatever the case."""
    return re.search(rf"(?<![\w'’-]){re.escape(word)}(?![\w'’-])", text.lower()) is not None


def _names(columns):
    return "|".join(
        re.escape(name) for name in sorted((c.name for c in columns), key=len, reverse=True)
    )


def missing(column):
    """Rows without a value."""
    values = column.values
    if column.kind == "text":
        return values == ""
    return np.isnan(values) if values.dtype.kind == "f" else values < 0


def share_of(what, columns):
    """Rows of which a trait says that they are more or less often there, and those that count."""
    columns = with_dates_read(columns)
    by_name = {column.name: column for column in columns}
    condition = re.fullmatch(r"(?:more|less) often (.*)", what).group(1)
    if found := re.fullmatch(r"without (.*)", condition):
        rows = missing(by_name[found.group(1)])
        return rows, np.ones(len(rows), dtype=bool)
    if found := re.fullmatch(r"“(.*)” in (.*)", condition):
        column = by_name[found.group(2)]
        there = np.array([mentions(text, found.group(1)) for text in column.values])
        return there, ~missing(column)
    if found := re.fullmatch(rf"({_names(columns)}) = (.*)", condition):
        column = by_name[found.group(1)]
        if column.kind == "number":
            return column.values == float(found.group(2)), ~missing(column)
        levels = np.array([*column.levels, ""])  # the last one for rows without
        return levels[column.values] == found.group(2), ~missing(column)
    column = by_name[re.search(rf"({_names(columns)})", condition).group(1)]
    return holds(condition, column), ~missing(column)


def check_trait(text, columns, inside):
    """Count again what a trait says of the rows ``inside`` and of all others."""
    what, figures = re.fullmatch(r"(.*) \((.*)\)", text).groups()
    order = re.fullmatch(rf"({'|'.join(MORE)}) (.*)", what)
    if order is None:
        rows, known = share_of(what, columns)
        check_shares(what, figures, rows, inside & known, ~inside & known)
        return
    (column,) = [c for c in with_dates_read(columns) if c.name == order.group(2)]
    known = ~missing(column)
    x, y = column.values[inside & known], column.values[~inside & known]
    statistic, one, other = re.fullmatch(
        r"(median|mean level|mean) (.*) against (.*)", figures
    ).groups()
    if column.kind == "time":  # on a circle, where the day begins elsewhere
        return
    delta = np.sign(x[:, None] - y[None, :]).mean()
    assert np.sign(delta) == MORE[order.group(1)], text
    for values, said in ((x, one), (y, other)):
        value = np.median(values) if statistic == "median" else values.mean()
        check_number(value, said, column)


def check_number(value, said, column):
    """Compare a number with its text, to half of the last digit of it."""
    if column.kind == "date":
        assert abs(value - seconds_of(said, "date")) < 86_400.0, (value, said)
    elif column.kind == "ordered" and said in column.levels:
        assert int(value) == column.levels.index(said)
    else:
        digits = said.replace(",", "")
        decimals = len(digits.partition(".")[2])
        unit = 10.0**-decimals
        if not decimals:  # zeros at the end may be rounded ones
            unit = 10.0 ** (len(digits) - len(digits.rstrip("0")))
        assert abs(value - float(digits)) <= unit * 0.501, (value, said)


def check_shares(what, figures, rows, inside, others):
    """Compare shares and lift with a recount."""
    p, q = rows[inside].mean(), rows[others].mean()
    one, other, lift = re.fullmatch(r"(\S+) against (\S+), (.*)", figures).groups()
    assert (p > q) == what.startswith("more"), what
    for share, said in ((p, one), (q, other)):
        check_percent(share, said)
    if q == 0.0:
        assert lift == "only here"
    elif p == 0.0:
        assert lift == "never here"
    else:
        said = lift.removeprefix("lift ").replace(",", "")
        decimals = len(said.partition(".")[2])
        assert abs(p / q - float(said)) <= 0.501 * 10.0**-decimals, (what, p / q, lift)


def check_percent(share, said):
    """Compare a share with its text: 0% is never, 100% always."""
    if share in (0.0, 1.0):
        assert said == f"{share:.0%}"
    elif said == "<0.1%":
        assert 0.0 < share < 0.0005
    elif said == ">99.9%":
        assert 0.9995 <= share < 1.0
    else:
        decimals = len(said.rstrip("%").partition(".")[2])
        assert abs(100.0 * share - float(said.rstrip("%"))) <= 0.501 * 10.0**-decimals
