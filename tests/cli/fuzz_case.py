"""A random command line of ``fuzz.py``, how it ended, and what is wrong with the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: What other libraries and the interpreter say, to programmers.
RAW = re.compile(
    r"unexpected|mistake in Sidelight|Traceback|could not convert|unsupported operand|"
    r"not supported between|must be real number|NoneType|object is not|has no attribute|"
    r"invalid literal|positional argument|keyword argument|out of bounds|index out of range|"
    r"broadcast|cannot unpack|unhashable|not enough values|too many values|[Ss]ingular matrix|"
    r"math domain|division by zero|divide by zero|zero-size|Input X|contains NaN|infs or NaNs|"
    r"ufunc|cannot reshape|Found array|encountered in|setting an array|truth value|Errno|"
    r"object of type|JSON serializable|Expected 2D|too large to convert|<class|"
    r"dtype|malformed node|codec can't|NotImplemented|null byte|maximum recursion|assert|"
    r"Seed must be|RandomState instance|invalid index|integer overflow|cannot convert",
)
#: What only somebody who writes Python could know or do.
OF_THE_LIBRARY = re.compile(
    r"\b(?:n_clusters|n_components|n_features\w*|n_samples|n_teachers|random_state|sample_weight|"
    r"labels_|components_|estimator|ndarray|constraints=|ids=|fit\(|Constraints|id_column|drop=|"
    r"seed=|k=|RandomState)|(?<!')\b[Xy]\b(?!')|\bneeds n\b|(?<!-)\bk must\b"
)


@dataclass
class Case:
    """A command line with what it is known to deserve."""

    arguments: list[str]
    must_fail: str = ""  # why exit code 0 would be wrong
    typed: str = ""  # what is typed, for ``ask``


@dataclass
class Ended:
    """How a command line ended."""

    code: int
    out: str
    err: str
    trouble: str = ""

    def verdict(self, case: Case) -> str:
        """Say what is wrong with it; nothing if all is well."""
        text = self.out + self.err
        if self.trouble:
            return self.trouble
        if self.code not in (0, 1, 2):
            return f"exit code {self.code}"
        if found := RAW.search(_told(self.out, self.err, case)):
            return f"raw text: {found.group()}"
        if found := OF_THE_LIBRARY.search(_told(self.out, self.err, case)):
            return f"word of the library: {found.group()}"
        errors = re.findall(r"^Error: .*|^\{\"error\".*", text, flags=re.MULTILINE)
        # A result may be a problem.
        checks = case.arguments[0] == "check" or "--check" in case.arguments
        if (self.code != 0 and not checks) and len(errors) != 1:
            return f"{len(errors)} errors for exit code {self.code}"
        if self.code == 0 and case.must_fail:
            return f"accepted: {case.must_fail}"
        return ""


def _told(out: str, err: str, case: Case) -> str:
    """What was said about problems, without what the user wrote."""
    lines = [line for line in (out + err).splitlines() if re.match(r"Error|Warning|{\"error", line)]
    text = re.sub(r"; it has [\w, ]+\.", ".", "\n".join(lines))  # what --set takes
    for given in sorted(case.arguments, key=len, reverse=True):
        for part in {given, *given.partition("=")} - {""}:
            text = text.replace(part, "_") if len(part) > 2 else text
    return text
