"""Words by which columns show what they hold: yes and no, ordered scales, codes."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

#: Texts that stand for a missing value, besides an empty one; "none" is an answer like others.
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "nat", "<na>", "null", "?", "-", "--", "."})

#: Pairs of words for no and yes.
YES_NO = (
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("0", "1"),
    ("off", "on"),
    ("absent", "present"),
    ("nein", "ja"),
    ("non", "oui"),
)

#: Scales whose words have an order.
SCALES = (
    ("very low", "low", "medium", "high", "very high"),
    ("low", "mid", "high"),
    ("low", "moderate", "high"),
    ("low", "average", "high"),
    ("low", "normal", "high"),
    ("none", "mild", "moderate", "severe"),
    ("xxs", "xs", "s", "m", "l", "xl", "xxl", "xxxl"),
    ("tiny", "small", "medium", "large", "huge"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("never", "seldom", "sometimes", "often", "always"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("very bad", "bad", "ok", "good", "very good"),
    ("poor", "average", "good", "excellent"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("very unhappy", "unhappy", "neutral", "happy", "very happy"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("beginner", "intermediate", "advanced", "expert"),
    ("junior", "mid", "senior", "principal"),
    ("bronze", "silver", "gold", "platinum", "diamond"),
    ("cold", "cool", "mild", "warm", "hot"),
    ("first", "second", "third", "fourth", "fifth"),
    ("primary", "secondary", "tertiary"),
    (
        "preschool",
        "1st-4th",
        "5th-6th",
        "7th-8th",
        "9th",
        "10th",
        "11th",
        "12th",
        "hs-grad",
        "some-college",
        "assoc-voc",
        "assoc-acdm",
        "bachelors",
        "masters",
        "prof-school",
        "doctorate",
    ),
)

#: Names of columns of numbers that are codes, not amounts.
CODE_NAME = re.compile(
    r"(?:^|[_\W])(?:zip|zipcode|zip_code|postcode|postal|postalcode|plz|code|phone|fax|iban|isbn|sku)"
    r"(?:$|[_\W])|^flight$|(?:^|[_\W])(?:flight|train|tail|room|gate|account|serial)[_\W]?num(?:ber)?$",
    re.IGNORECASE,
)

#: A band of numbers such as 18-24, 65+, <18, 10k to 20k.
BAND = re.compile(
    r"^\s*(?P<side>[<≤>≥]=?|under|over|up to|ab|bis)?"
    r"\s*[$€£]?(?P<low>\d+(?:[.,]\d+)?)\s*(?P<unit>[kKmM%]?)"
    r"\s*(?:(?:-|–|to|bis|\.\.)\s*[$€£]?\d+(?:[.,]\d+)?\s*[kKmM%]?|\+|\s*and (?:over|more|above))?"
    r"\s*[a-zA-Z€$£%]*\s*$"
)
_UNITS = {"": 1.0, "%": 1.0, "k": 1e3, "m": 1e6}
_BELOW = ("<", "≤", "under", "up to", "bis")
_ABOVE = (">", "≥", "over", "ab")


def no_and_yes(levels: Collection[str]) -> tuple[str, str] | None:
    """The two levels as (no, yes), if they are words for that.

    Examples
    --------
    >>> no_and_yes(["Y", "N"])
    ('N', 'Y')
    >>> no_and_yes(["red", "blue"])
    """
    by_word = {level.lower(): level for level in levels}
    if len(levels) != 2 or len(by_word) != 2:
        return None
    for no, yes in YES_NO:
        if no in by_word and yes in by_word:
            return by_word[no], by_word[yes]
    return None


def in_order(levels: Sequence[str]) -> tuple[str, ...] | None:
    """The levels in the order of a scale that they are words of, or of their bands of numbers.

    Examples
    --------
    >>> in_order(["high", "low", "medium"])
    ('low', 'medium', 'high')
    >>> in_order(["25-34", "65+", "18-24", "35-64"])
    ('18-24', '25-34', '35-64', '65+')
    >>> in_order(["red", "green", "blue"])
    """
    if len(levels) < 3:
        return None
    by_word = {" ".join(level.lower().replace("_", " ").split()): level for level in levels}
    if len(by_word) != len(levels):
        return None
    for scale in SCALES:
        if set(by_word) <= set(scale):
            return tuple(by_word[word] for word in scale if word in by_word)
    places = [_band(level) for level in levels]
    known = [place for place in places if place is not None]
    if len(known) < len(levels) or len(set(known)) < len(levels):
        return None
    ordered = sorted(zip(known, levels, strict=True))
    return tuple(level for _, level in ordered)


def _band(level: str) -> tuple[float, int] | None:
    """Where a band of numbers lies; None for other words, and for a number alone."""
    found = BAND.match(level)
    if found is None or re.fullmatch(r"\s*[\d.,]+\s*", level):
        return None
    low = float(found["low"].replace(",", ".")) * _UNITS[found["unit"].lower()]
    side = (found["side"] or "").lower().rstrip("=")
    return low, -1 if side in _BELOW else 1 if side in _ABOVE else 0
