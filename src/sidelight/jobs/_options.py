"""Options of jobs, each declared once: as the annotation of a field of a request.

A request is a dataclass whose fields carry an :class:`Option`::

    class CoclusterRequest(Fit, Columns, Known, Request):
        k: Annotated[int | None, number("Number of co-clusters.", "-k", "--clusters")] = None

The command line, its checks, :meth:`Request.command_line`, shell completion, the page of commands
in the docs and the form of the workbench are made from this declaration. Nothing here imports
NumPy: ``sidelight cluster --help`` reads requests only.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import os
import shlex
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidelight._interval import Interval
from sidelight._words import worded
from sidelight.exceptions import InvalidRequest

#: Panels of options, in the order in which ``--help`` shows them.
GOAL = "What to find"
KNOWN = "What is known"
WRITE = "Files to write"
METHOD = "Method"
COLUMNS = "Columns"
LARGE = "Tables larger than memory"
SCREEN = "Screen"
#: Panel of the arguments.
READ = "What to read"
PANELS = (GOAL, KNOWN, WRITE, METHOD, COLUMNS, LARGE, SCREEN)

#: Largest number of values that a range such as ``2:8`` may hold.
MAX_NUMBERS = 1000

#: Kinds of tables that are read.
FORMATS = ".csv, .csv.gz, .tsv, .xlsx, .parquet, .feather, .npy, .libsvm"

#: Names of methods that a shell offers as values of an option.
OWN_METHODS, ALL_METHODS = "own methods", "all methods"

#: Those of them that name their columns.
NAMED = ".csv, .csv.gz, .tsv, .xlsx, .parquet, .feather"

REQUIRED = inspect.Parameter.empty


def same(value: Any) -> Any:
    """Return a value unchanged: how most options read and write their text."""
    return value


@dataclass(frozen=True)
class Option:
    """How one field of a request is given as text, and what it means.

    Attributes
    ----------
    help : str
        Sentence for ``--help``, the docs and the form.
    names : tuple of str
        Names on the command line, the first one in messages; by default ``--name-of-the-field``.
    metavar : str or None
        Placeholder of the value in the help.
    panel : str
        Panel of the help in which it stands.
    kind : type
        What the text is parsed to before ``read``: str, int, float, bool or Path.
    many : bool
        Whether it can be given several times.
    choices : tuple of str
        Allowed words; empty for any.
    range : Interval or None
        Allowed numbers.
    read : callable
        Text (or, with ``many``, the list of texts) to value. Raises ValueError with the rest of a
        sentence that begins with the name of the option.
    write : callable
        Value to text (or, with ``many``, to several).
    argument : bool
        Whether it has a place on the command line instead of a name.
    role : {"value", "input", "output"}
        Inputs are files that are read, outputs files that are written.
    sets : str
        Parameter of the method that it sets, for messages of the method; empty for none.
    blank : bool
        Whether an empty text is a value: a column may be without a name.
    completes : str
        Whose methods a shell offers as values: ``OWN_METHODS`` for those that the job runs,
        ``ALL_METHODS``, or the names of other jobs, separated by blanks; empty for nothing.
    """

    help: str
    names: tuple[str, ...] = ()
    metavar: str | None = None
    panel: str = GOAL
    kind: type = str
    many: bool = False
    choices: tuple[str, ...] = ()
    range: Interval | None = None
    read: Callable[[Any], Any] = same
    write: Callable[[Any], Any] = same
    argument: bool = False
    role: str = "value"
    sets: str = ""
    blank: bool = False
    completes: str = ""


@dataclass(frozen=True)
class Field:
    """An option together with the field of the request that it sets.

    Attributes
    ----------
    name : str
        Name of the field.
    option : Option
        Its declaration.
    default : object
        Value where the option is not given; ``REQUIRED`` where it has to be.
    """

    name: str
    option: Option
    default: Any

    @property
    def names(self) -> tuple[str, ...]:
        """Names on the command line."""
        return self.option.names or ("--" + self.name.replace("_", "-"),)

    @property
    def spelled(self) -> str:
        """Name in messages: of the option at a terminal, of the field in Python."""
        return worded(self.name, self.name.upper() if self.option.argument else self.names[0])

    @property
    def is_empty(self) -> str:
        """What is wrong with an empty text."""
        return f"{self.spelled} is empty: give it a value, or leave it out."

    def check(self, value: Any) -> None:
        """Raise :class:`InvalidRequest` for a number or word that the declaration excludes."""
        option = self.option
        if isinstance(value, str) and value == "" and not option.blank:
            raise InvalidRequest(self.is_empty)
        if option.choices and isinstance(value, str) and value not in option.choices:
            raise InvalidRequest(
                f"{self.spelled} must be one of {', '.join(option.choices)}, got {value!r}."
            )
        if option.range is None or isinstance(value, bool) or not isinstance(value, int | float):
            return
        if math.isnan(value) or value not in option.range:
            noun = "whole number" if option.kind is int else "number"
            raise InvalidRequest(
                f"{self.spelled} must be {option.range.words(noun)}, got {value!r}."
            )

    def texts(self, value: Any) -> list[str] | None:
        """Return a value as words of the command line; None if it cannot be typed.

        Some values exist only in memory, and some names hold what separates names.
        """
        option = self.option
        if option.kind is bool:
            return ([self.names[0]] if value else []) if isinstance(value, bool) else None
        if not _can_be_typed(value):
            return None
        written = option.write(value)
        words = [str(one) for one in (written if option.many else (written,))]
        if not self._reads_back(words, value):
            return None
        if option.argument:
            return _as_arguments(words, option.kind)
        return [word for text in words for word in (self.names[0], text)]

    def _reads_back(self, words: list[str], value: Any) -> bool:
        """Whether what was written is read as the same value."""
        option = self.option
        if option.read is same:
            return True
        typed = [option.kind(word) for word in words]
        try:
            again = option.read(typed if option.many else typed[0])
        except ValueError:
            return False
        return _says_the_same(again, value)


def _says_the_same(again: Any, value: Any) -> bool:
    """Whether a value that was read is the one that was written, as text or as itself."""
    if isinstance(again, Mapping):
        if [*map(str, again)] != [*map(str, value)]:
            return False
        return all(map(_says_the_same, again.values(), value.values()))
    if isinstance(again, str) and not isinstance(value, str) and isinstance(value, Sequence):
        return again == join_levels(value)
    if isinstance(again, tuple | list):
        values = as_texts(value) if isinstance(value, str | Iterable) else (value,)
        if all(isinstance(one, int) for one in again):  # numbers of clusters, in any order
            return {*again} == {*values}
        return len(again) == len(values) and all(map(_says_the_same, again, values))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return len(value) == 1 and _says_the_same(again, value[0])
    return bool(again == value) or str(again) == str(value)


def _as_arguments(words: list[str], kind: type) -> list[str] | None:
    """Return arguments that are not taken for options; None where a word has no other form."""
    like_options = [word.startswith("-") and word != "-" for word in words]
    if any(like_options) and kind is not Path:
        return None
    return [f"./{word}" if odd else word for word, odd in zip(words, like_options, strict=True)]


def _can_be_typed(value: Any) -> bool:
    """Whether a value consists of text, numbers and paths."""
    if isinstance(value, Mapping):
        return all(map(_can_be_typed, value.values()))
    if isinstance(value, list | tuple | range):
        return all(map(_can_be_typed, value))
    return isinstance(value, str | int | float | os.PathLike)


# --- kinds of options ---------------------------------------------------------------------------


def number(help: str, *names: str, **rest: Any) -> Option:
    """Declare a whole number."""
    return Option(help, names, **{"metavar": "N", "kind": int, **rest})


def real(help: str, *names: str, **rest: Any) -> Option:
    """Declare a number."""
    return Option(help, names, **{"metavar": "X", "kind": float, **rest})


def share(help: str, *names: str, **rest: Any) -> Option:
    """Declare a number from 0 to 1."""
    return real(help, *names, **{"metavar": "SHARE", "range": Interval(0, 1), **rest})


def word(help: str, *names: str, **rest: Any) -> Option:
    """Declare a word, perhaps one of some choices."""
    return Option(help, names, **{"metavar": "NAME", **rest})


def flag(help: str, *names: str, **rest: Any) -> Option:
    """Declare something that is given or not."""
    return Option(help, names, kind=bool, **rest)


def column(help: str, *names: str, **rest: Any) -> Option:
    """Declare the name of a column."""
    return Option(help, names, **{"metavar": "NAME", "panel": COLUMNS, "blank": True, **rest})


def columns(help: str, *names: str, **rest: Any) -> Option:
    """Declare names of columns, separated by commas or given one by one."""
    given = {"metavar": "A,B,...", "panel": COLUMNS, "many": True}
    return Option(help, names, **{**given, "read": split_names, "write": join_names, **rest})


def texts(help: str, *names: str, **rest: Any) -> Option:
    """Declare texts that are given one by one."""
    return Option(help, names, **{"many": True, "read": tuple, "write": as_texts, **rest})


def settings(help: str, *names: str, **rest: Any) -> Option:
    """Declare pairs ``name=value``, the name ends at the first ``=``."""
    given = {"metavar": "NAME=VALUE", "many": True, "read": split_settings, "write": join_pairs}
    return Option(help, names, **{**given, **rest})


def by_column(help: str, *names: str, **rest: Any) -> Option:
    """Declare pairs ``column=value``, the name of the column may hold ``=``."""
    given = {"metavar": "COLUMN=VALUE", "panel": COLUMNS, "many": True}
    return Option(help, names, **{**given, "read": split_columns, "write": join_pairs, **rest})


def infile(help: str, *names: str, **rest: Any) -> Option:
    """Declare a file that is read."""
    given = {"metavar": "FILE", "kind": Path, "role": "input", "panel": KNOWN}
    return Option(help, names, **{**given, **rest})


def table(help: str, **rest: Any) -> Option:
    """Declare the file of rows, an argument."""
    return infile(help, **{"argument": True, "panel": GOAL, "metavar": "DATA", **rest})


def outfile(help: str, *names: str, **rest: Any) -> Option:
    """Declare a file that is written."""
    given = {"metavar": "FILE", "kind": Path, "role": "output", "panel": WRITE}
    return Option(help, names, **{**given, **rest})


# --- from text to values, and back --------------------------------------------------------------


def split_names(given: Iterable[str]) -> tuple[str, ...]:
    """Read names that are separated by commas or given one by one.

    Examples
    --------
    >>> split_names(["a, b", "c"])
    ('a', 'b', 'c')
    """
    names = tuple(name.strip() for text in given for name in text.split(",") if name.strip())
    if not names:
        raise ValueError("names no column; name at least one, or leave it out.")
    return names


def join_names(names: str | Sequence[str]) -> tuple[str, ...]:
    """Write one name, or several with commas; those that hold a comma themselves cannot be."""
    return (",".join(map(str, as_texts(names))),)


def as_texts(value: Any) -> tuple[Any, ...]:
    """Return one text, or several, as a tuple."""
    return (value,) if isinstance(value, str | os.PathLike) else tuple(value)


def split_settings(given: Iterable[str]) -> dict[str, str]:
    """Read ``name=value``.

    Examples
    --------
    >>> split_settings(["n_init=3", "metric=a=b"])
    {'n_init': '3', 'metric': 'a=b'}
    """
    return _pairs(given, lambda pair: pair.partition("="))


def split_columns(given: Iterable[str]) -> dict[str, str]:
    """Read ``column=value``; the name may hold ``=`` itself, as may levels behind ``:``.

    Examples
    --------
    >>> split_columns(["a=b=number", "size=ordered:x=1<x=2"])
    {'a=b': 'number', 'size': 'ordered:x=1<x=2'}
    """
    return _pairs(given, _behind_column)


def split_weights(given: Iterable[str]) -> dict[str, float]:
    """Read ``column=number``."""
    weights = {}
    for name, value in split_columns(given).items():
        try:
            weights[name] = float(value)
        except ValueError:
            raise ValueError(f"{name}={value}: a weight is a number.") from None
    return weights


def _pairs(given: Iterable[str], split: Callable[[str], tuple[str, str, str]]) -> dict[str, str]:
    found = {}
    for pair in given:
        name, equals, value = split(pair)
        if not equals:
            raise ValueError(f"{pair}: write it as name=value.")
        found[name.strip()] = value.strip()
    return found


def _behind_column(pair: str) -> tuple[str, str, str]:
    before, colon, levels = pair.partition(":")
    if "=" not in before:
        return pair.rpartition("=")
    name, equals, kind = before.rpartition("=")
    return name, equals, f"{kind}{colon}{levels}"


def join_pairs(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Write ``name=value``; several levels of a column as ``ordered:LOW<...<HIGH``."""
    plain = (str, int, float, os.PathLike, type(None))
    return tuple(
        f"{name}={value if isinstance(value, plain) else join_levels(value)}"
        for name, value in given.items()
    )


def join_levels(levels: Iterable[Any]) -> str:
    """Write the levels of a column, ``ordered:LOW<...<HIGH``."""
    return "ordered:" + "<".join(map(str, levels))


def read_numbers(text: str) -> int | tuple[int, ...]:
    """Read numbers of clusters: ``3``, ``2:8`` (both ends included) or ``2,3,5``.

    Examples
    --------
    >>> read_numbers("3"), read_numbers("2:4"), read_numbers("2,5:6")
    (3, (2, 3, 4), (2, 5, 6))
    """
    found: set[int] = set()
    for part in text.split(","):
        low, colon, high = (end.strip() for end in part.partition(":"))
        ends = (low, high) if colon else (low, low)
        if not all(end.isascii() and end.removeprefix("-").isdecimal() for end in ends):
            raise ValueError(f"{text}: write a number, a range 2:8 or a list 2,3,5.")
        first, last = map(int, ends)
        if last < first:
            raise ValueError(f"{text}: the range ends before it begins; write {last}:{first}.")
        if last - first > MAX_NUMBERS:
            raise ValueError(f"{text}: these are more than {MAX_NUMBERS} numbers to try.")
        found.update(range(first, last + 1))
    return tuple(sorted(found)) if len(found) > 1 else found.pop()


def write_numbers(k: Any) -> Any:
    """Write numbers of clusters.

    Examples
    --------
    >>> write_numbers(3), write_numbers([2, 3, 4]), write_numbers([2, 3, 5])
    (3, '2:4', '2,3,5')
    """
    if k is None or isinstance(k, int | str) or not isinstance(k, Iterable):
        return k
    numbers = sorted({int(one) for one in k})
    if len(numbers) > 1 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]}:{numbers[-1]}"
    return ",".join(map(str, numbers))


# --- requests -----------------------------------------------------------------------------------


def fields_of(request: type) -> Mapping[str, Field]:
    """Return the declared options of a request by the names of their fields."""
    return _fields_of(request)


@functools.cache
def _fields_of(request: Any) -> Mapping[str, Field]:
    hints = typing.get_type_hints(request, include_extras=True)
    found = {}
    for one in dataclasses.fields(request):
        metadata = getattr(hints[one.name], "__metadata__", ())
        option = next((extra for extra in metadata if isinstance(extra, Option)), None)
        if option is None:
            continue
        default = one.default
        if one.default_factory is not dataclasses.MISSING:
            default = one.default_factory()
        elif default is dataclasses.MISSING:
            default = REQUIRED
        found[one.name] = Field(one.name, option, default)
    return found


class Request:
    """What is asked for; what every request can do follows from the declared options."""

    #: Name of the job, such as ``cluster``.
    job: typing.ClassVar[str]

    def __post_init__(self) -> None:
        for name, one in fields_of(type(self)).items():
            one.check(getattr(self, name))

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        found: list[Path] = []
        for name, one in fields_of(type(self)).items():
            if one.option.role == "input":
                value = getattr(self, name)
                several = list(value.values()) if isinstance(value, Mapping) else value
                given = several if isinstance(several, list | tuple) else (several,)
                found += [Path(path) for path in given if isinstance(path, str | os.PathLike)]
        return found

    @classmethod
    def options(cls) -> dict[str, str]:
        """Return which options set which parameters of the method, for its messages."""
        declared = fields_of(cls).values()
        return {one.option.sets: one.names[0] for one in declared if one.option.sets}

    def command_line(self) -> str | None:
        """Return the command that asks the same; None where something is only in memory.

        Options stand in the order in which ``--help`` shows them.
        """
        words: list[str] = ["sidelight", self.job]
        for one in sorted(fields_of(type(self)).values(), key=place_in_help):
            value = getattr(self, one.name)
            if _is_default(value, one.default) and (value is None or not one.option.argument):
                continue
            given = one.texts(value)
            if given is None:
                return None
            words += given
        return shlex.join(words)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that are not at their defaults; values only in memory by their type."""
        found: dict[str, Any] = {}
        for name, one in fields_of(type(self)).items():
            value = getattr(self, name)
            if not _is_default(value, one.default):
                typed = isinstance(value, bool) or _can_be_typed(value)
                found[name] = value if typed else f"<{type(value).__name__}>"
        return found


def _is_default(value: Any, default: Any) -> bool:
    if value is default:
        return True
    if isinstance(value, os.PathLike) and isinstance(default, str | os.PathLike):
        return os.fspath(value) == os.fspath(default)
    plain = (str, int, float, tuple, list, dict)
    if isinstance(value, list | tuple) and isinstance(default, list | tuple):
        return tuple(value) == tuple(default)
    if isinstance(value, plain) and isinstance(default, plain):
        return bool(value == default)
    return False


def output_fields(outputs: Mapping[str, Option]) -> list[Field]:
    """Return the files that a job writes as fields, by their kinds."""
    return [Field(kind, option, None) for kind, option in outputs.items()]


def place_in_help(one: Field) -> tuple[bool, float, bool]:
    """Return the sort key of an option: arguments first, then panel by panel.

    Panels of a single job stand behind what is known; names of methods are first in their panel.
    """
    option, behind_known = one.option, PANELS.index(KNOWN) + 0.5
    place = PANELS.index(option.panel) if option.panel in PANELS else behind_known
    return not option.argument, place, not option.completes


def panel_of(one: Field) -> str:
    """Return the title under which an option stands in the help."""
    option = one.option
    return READ if option.argument and option.role == "input" else option.panel
