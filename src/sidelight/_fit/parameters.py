"""Parameters of estimators, declared once: as the fields of a dataclass.

A field says type, range, choices and default of a parameter, and the docstring of the class says in
words what it does::

    @estimator
    class Method(Clusterer):
        n_clusters: Count = 8
        _: KW_ONLY
        penalty: NonNegative | Auto = "auto"

An ``__init__`` with the same annotations, written by hand, does as well.

``fit`` checks the values against it (:func:`check_parameters`), the command line reads
``--set name=value`` with it (:meth:`Parameter.parse`), ``sidelight methods NAME`` and the reference
show it (:attr:`Parameter.type_text`).
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union

import numpy as np
import numpy.typing as npt

from sidelight._fit.docstrings import COMMON_PARAMETERS, complete, split_at
from sidelight._interval import Interval
from sidelight._words import has_option, setting
from sidelight.exceptions import InvalidParameter

Class = TypeVar("Class")


Count: TypeAlias = Annotated[int, Interval(1)]
Whole: TypeAlias = Annotated[int, Interval(0)]
NonNegative: TypeAlias = Annotated[float, Interval(0)]
Positive: TypeAlias = Annotated[float, Interval(0, open_low=True)]
#: Excludes infinity.
FiniteNonNegative: TypeAlias = Annotated[float, Interval(0, open_high=True)]
FinitePositive: TypeAlias = Annotated[float, Interval(0, open_low=True, open_high=True)]
Share: TypeAlias = Annotated[float, Interval(0, 1)]
Auto: TypeAlias = Literal["auto"]
#: Number of restarts; :func:`n_restarts` says what "auto" is.
Restarts: TypeAlias = Count | Auto
Seed: TypeAlias = int | np.random.RandomState | None
Verbosity: TypeAlias = int | bool
ArrayLike: TypeAlias = npt.NDArray[Any] | list[Any]
#: Numbers or words.
NamesLike: TypeAlias = npt.NDArray[np.object_]


#: Finite parameters beyond it, and positive ones below its inverse, leave the range of floating
#: point as soon as they are multiplied or squared.
LARGEST = 1e100


#: Starts that are drawn without looking at what was drawn before.
RANDOM_STARTS = ("random", "random_from_data", "dirichlet")


def n_restarts(estimator: Any) -> int:
    """Return the number of restarts that an estimator asks for by ``n_init``.

    "auto" is scikit-learn's: 10 where starts are random, 1 where they are given or chosen with
    care, such as by k-means++. Methods that offer no choice of starts have random ones.

    Examples
    --------
    >>> from sidelight._fit.parameters import n_restarts
    >>> from sidelight.cluster import KMeans
    >>> n_restarts(KMeans(n_init=7)), n_restarts(KMeans(n_init="auto"))
    (7, 1)
    >>> n_restarts(KMeans(init="random", n_init="auto"))
    10
    """
    if not isinstance(estimator.n_init, str):
        return int(estimator.n_init)
    start = getattr(estimator, "init", getattr(estimator, "init_params", RANDOM_STARTS[0]))
    return 10 if isinstance(start, str) and start in RANDOM_STARTS else 1


@dataclass(frozen=True)
class Parameter:
    """A declared parameter.

    Attributes
    ----------
    name : str
        Name in the signature.
    hint : object
        Annotation: type, range and choices.
    default : object
        Value by default.
    help : str
        First sentence of the entry in the docstring of the class.
    """

    name: str
    hint: Any
    default: Any
    help: str

    def admits(self, value: Any) -> bool:
        """Whether the declaration allows the value."""
        return value is self.default or any(_fits(value, option) for option in self.options)

    @functools.cached_property
    def options(self) -> list[Any]:
        """Alternatives of the annotation."""
        return _options(self.hint)

    def check(self, value: Any) -> None:
        """Raise :class:`InvalidParameter` unless the declaration allows the value."""
        if not self.admits(value):
            raise InvalidParameter(
                f"{setting(self.name)} must be {self._allowed}, got {_shown(value)}."
            )

    def parse(self, text: str) -> Any:
        """Read a value from text, as ``--set name=value`` gives it.

        Words that the declaration names are taken as they are; otherwise the text is read as a
        Python literal, and as plain text where it is none.
        """
        value: Any = text
        if not self.admits(text):
            plain = {"true": True, "false": False, "none": None, "inf": math.inf}
            if text.lower() in plain:
                value = plain[text.lower()]
            else:
                try:
                    value = ast.literal_eval(text)
                except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                    value = text
        self.check(value)
        return value

    @property
    def head(self) -> str:
        """First line of the entry in the docstring."""
        default = f'"{self.default}"' if isinstance(self.default, str) else self.default
        return f"{self.name} : {self.type_text}, default={default}"

    @property
    def type_text(self) -> str:
        """Type, range and choices as the type line of the docstring has them."""
        return _join([_symbols(option) for option in self.options], _symbols)

    @property
    def words(self) -> str:
        """Type, range and choices as an error message has them."""
        return _join([_words(option) for option in self.options], _words)

    @property
    def _allowed(self) -> str:
        """The same, but without None where that means to leave out an option."""
        if not has_option(self.name):
            return self.words
        given = [option for option in self.options if option not in (None, type(None))]
        return _join([_words(option) for option in given], _words)


def declared(cls: type) -> Mapping[str, Parameter]:
    """Return the parameters that the ``__init__`` of a class declares, by name.

    Examples
    --------
    >>> from sidelight._fit.parameters import declared
    >>> from sidelight.cluster import KMeans
    >>> declared(KMeans)["max_iter"].type_text
    'int >= 1'
    """
    return _declared(cls)


@functools.cache
def _declared(cls: Any) -> Mapping[str, Parameter]:
    entries = parameter_entries(cls)
    return types.MappingProxyType(
        {
            name: Parameter(name, hint, default, _first_sentence(entries.get(name, ("", ""))[1]))
            for name, hint, default in _annotated(cls)
        }
    )


def _annotated(cls: Any) -> list[tuple[str, Any, Any]]:
    """Name, annotation and default of every parameter."""
    # The annotations of inherited fields are found in the modules of the classes that have them.
    owner = cls if dataclasses.is_dataclass(cls) else cls.__init__
    hints = typing.get_type_hints(owner, include_extras=True)
    signature = inspect.signature(cls.__init__)
    return [
        (name, hints.get(name, Any), entry.default)
        for name, entry in signature.parameters.items()
        if name != "self" and entry.kind not in (entry.VAR_POSITIONAL, entry.VAR_KEYWORD)
    ]


@typing.dataclass_transform()
def estimator(cls: type[Class]) -> type[Class]:
    """Make the annotated fields of a class its parameters, and complete its docstring.

    The class becomes a dataclass that is compared and shown as scikit-learn does. Parameters that
    mean the same everywhere (:data:`~sidelight._fit.docstrings.COMMON_PARAMETERS`) or in a family
    (``_common_parameters`` of its base class, name to text) need no entry in the docstring.
    """
    made = dataclass(eq=False, repr=False)(cls)
    common = {**COMMON_PARAMETERS, **getattr(made, "_common_parameters", {})}
    entries = {
        Parameter(name, hint, default, "").head: common[name]
        for name, hint, default in _annotated(made)
        if name in common
    }
    complete(made, "Parameters", entries)
    return made


def check_parameters(estimator: Any) -> None:
    """Check all parameters of an estimator against their declaration."""
    for name, parameter in declared(type(estimator)).items():
        parameter.check(getattr(estimator, name))


def parameter_entries(cls: type) -> dict[str, tuple[str, str]]:
    """Return type line and text of every entry of the section "Parameters" of a docstring."""
    found = split_at(inspect.getdoc(cls) or "", "Parameters")
    section = "" if found is None else found.body.replace("\\\n", "")
    entries: dict[str, tuple[str, str]] = {}
    for entry in re.split(r"\n(?=\S)", section):
        head, _, body = entry.partition("\n")
        names, colon, kind = head.partition(" : ")
        if colon:
            for name in names.split(","):
                entries[name.strip()] = kind.strip(), inspect.cleandoc(body)
    return entries


def _first_sentence(text: str) -> str:
    return " ".join(re.split(r"(?<=[^.]\.)\s", text, maxsplit=1)[0].split())


def _options(hint: Any) -> list[Any]:
    """Alternatives of a union, or the hint alone."""
    if typing.get_origin(hint) in (Union, types.UnionType):
        return [option for part in typing.get_args(hint) for option in _options(part)]
    return [hint]


def _split(hint: Any) -> tuple[Any, Interval | None]:
    """Take the range off an annotation."""
    if typing.get_origin(hint) is Annotated:
        kind, *extras = typing.get_args(hint)
        return kind, next((extra for extra in extras if isinstance(extra, Interval)), None)
    return hint, None


def _fits(value: Any, hint: Any) -> bool:
    kind, interval = _split(hint)
    origin = typing.get_origin(kind) or kind
    if origin is Any:
        return True
    if origin is Literal:
        return any(_is_choice(value, one) for one in typing.get_args(kind))
    if kind is None or kind is type(None):
        return value is None
    if origin is bool:
        return isinstance(value, (bool, np.bool_))
    if origin in (int, float):
        number = Integral if origin is int else Real
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, number):
            return False
        if _out_of_range(value, interval):
            return False
        return not math.isnan(value) and (interval is None or float(value) in interval)
    if kind == NamesLike:
        return _is_array(value, "biufU")
    if origin in (np.ndarray, list):
        return _is_array(value, "biuf")
    if origin is Callable:
        return callable(value)
    if origin is tuple:
        parts = typing.get_args(kind)
        return (
            isinstance(value, tuple)
            and len(value) == len(parts)
            and all(_fits(one, part) for one, part in zip(value, parts, strict=True))
        )
    if origin is Sequence:
        if not isinstance(value, Sequence) or isinstance(value, str | bytes) or len(value) == 0:
            return False
        return all(_fits(one, element) for one in value for element in typing.get_args(kind))
    return isinstance(value, origin)


def _is_choice(value: Any, one: Any) -> bool:
    """Whether a value is one of the choices: 1 is not True, but a text of NumPy is a text."""
    same_type = type(value) is type(one) or (isinstance(value, str) and isinstance(one, str))
    return bool(same_type and value == one)


def _is_array(value: Any, kinds: str) -> bool:
    """Whether a value is an array of these kinds, or lists that make one, nothing missing."""
    if not (hasattr(value, "__array__") or isinstance(value, (list, tuple))):
        return False
    if isinstance(value, np.generic):  # a single number or word of NumPy
        return False
    try:
        numbers = np.asarray(value)
    except (ValueError, TypeError, OverflowError):  # lists of different lengths
        return False
    if numbers.dtype.kind not in kinds or numbers.size == 0:
        return False
    if numbers.dtype.kind == "O":
        return not any(one is None or one != one for one in numbers.ravel().tolist())
    return numbers.dtype.kind != "f" or not np.isnan(numbers).any()


def _shown(value: Any) -> str:
    """Text of a parameter value for an error message, shortened, with why it is out of range."""
    text = " ".join(repr(value).split())
    text = text if len(text) <= 80 else f"{text[:77]}..."
    reason = _out_of_range(value, None) if isinstance(value, Real) else ""
    return f"{text}, {reason}" if reason else text


def _out_of_range(value: Any, interval: Interval | None) -> str:
    """Why a number is beyond what can be computed with, whatever its parameter means."""
    if isinstance(value, Integral):
        return "which takes more than 64 bits" if int(value).bit_length() > 63 else ""
    size = abs(float(value))
    if LARGEST < size < math.inf:
        return f"which is beyond {LARGEST:g}, where products overflow"
    positive = interval is None or (interval.low == 0 and interval.open_low)
    if positive and 0 < size < 1 / LARGEST:
        return f"which is below {1 / LARGEST:g}, where products vanish"
    return ""


NOUNS = {
    int: ("int", "whole number"),
    float: ("float", "number"),
    bool: ("bool", "True or False"),
    str: ("str", "a text"),
    np.ndarray: ("array", "an array without NaN"),
    list: ("array", "an array without NaN"),
    Callable: ("callable", "a function"),
    np.random.RandomState: ("RandomState", "a RandomState"),
    Any: ("object", "anything"),
    Mapping: ("dict", "a dictionary"),
}


def _symbols(hint: Any) -> str:
    kind, interval = _split(hint)
    origin = typing.get_origin(kind) or kind
    if origin is Literal:
        return ", ".join(
            f'"{one}"' if isinstance(one, str) else repr(one) for one in typing.get_args(kind)
        )
    if kind is None or kind is type(None):
        return "None"
    if origin is Sequence and typing.get_args(kind):
        return f"sequence of {_symbols(typing.get_args(kind)[0])}"
    noun = NOUNS[origin][0] if origin in NOUNS else getattr(origin, "__name__", str(origin))
    return interval.symbols(noun) if interval is not None else noun


def _words(hint: Any) -> str:
    kind, interval = _split(hint)
    origin = typing.get_origin(kind) or kind
    if origin is Literal:
        return ", ".join(repr(one) for one in typing.get_args(kind))
    if kind is None or kind is type(None):
        return "None"
    if origin in (int, float):
        return (interval or Interval()).words(NOUNS[origin][1])
    if origin is tuple:
        parts = typing.get_args(kind)
        return f"a tuple of {len(parts)} values that are each {_words(parts[0])}"
    if origin is Sequence and typing.get_args(kind):
        return f"a sequence of values that are each {_words(typing.get_args(kind)[0])}"
    return NOUNS[origin][1] if origin in NOUNS else f"a {getattr(origin, '__name__', origin)}"


def _join(texts: list[str], style: Callable[[Any], str]) -> str:
    """Join alternatives: a lone list of choices is in braces (docs) or introduced (messages)."""
    texts = list(dict.fromkeys(texts))
    if len(texts) == 1 and texts[0].startswith(('"', "'")) and "," in texts[0]:
        return f"{{{texts[0]}}}" if style is _symbols else f"one of {texts[0]}"
    return " or ".join(
        f"{{{text}}}" if style is _symbols and text.startswith('"') and "," in text else text
        for text in texts
    )
