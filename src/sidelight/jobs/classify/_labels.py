"""Whether the given classes are classes that something can be learned from."""

from __future__ import annotations

import dataclasses

from sidelight._words import counted, worded
from sidelight.catalog import Method
from sidelight.constraints import Constraints
from sidelight.constraints.inner import text_of
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import Table
from sidelight.io.inner import is_number
from sidelight.jobs.classify._request import ClassifyRequest

#: More different whole numbers than this are taken for a quantity.
MAX_NUMBERS = 20
#: So are more than this, where hardly any occurs twice.
MAX_SINGLE_NUMBERS = 10
#: Machines from which on their number is told before they are trained.
MANY_MACHINES = 100
#: Kind of a column of labels whose numbers are names of classes.
CATEGORY = "category"


def split_kinds(request: ClassifyRequest) -> tuple[ClassifyRequest, bool]:
    """Take the kind of the column of labels off a request; also whether it says "category".

    The other columns are features, of which the preparation knows the kinds.
    """
    column = request.labels
    if not isinstance(column, str) or column not in request.kinds:
        return request, False
    if request.kinds[column] != CATEGORY:
        raise InvalidRequest(
            f"the column {column!r} holds classes, so that it can only be taken as {CATEGORY}: "
            + worded(f"kinds={{{column!r}: {CATEGORY!r}}}.", f"--as {column}={CATEGORY}.")
        )
    others = {name: kind for name, kind in request.kinds.items() if name != column}
    return dataclasses.replace(request, kinds=others), True


def check_labels(data: Table, known: Constraints) -> None:
    """Refuse what nothing can be learned from, by the name of the column that is to blame."""
    column = f"the column {data.label_column!r} of {data.path}"
    if known.labels is None:
        if data.label_column is None:
            return  # the classifier says what it needs
        raise SidelightError(
            f"No row is labeled: {column} is empty, or -1, everywhere. Fill in the classes of some "
            "rows, of at least two classes."
        )
    if data.labels is None or len(known.label_names) < 2:
        return
    names = [text_of(name) for name in known.label_names.tolist()]
    fractions = [name for name in names if is_number(name) and not float(name).is_integer()]
    if fractions and all(map(is_number, names)):
        raise SidelightError(
            f"The classes in {column} are fractions, such as {fractions[0]}, as a quantity has "
            "them; a class is a word or a whole number."
        )
    if len(names) == len(known.labels):
        raise SidelightError(
            f"Every row has a class of its own in {column}, from which nothing can be learned."
        )


def notes_on_labels(known: Constraints) -> tuple[str, ...]:
    """Notes where there is nothing to predict."""
    if known.labels is None or (known.labels < 0).any():
        return ()
    return (
        f"The class of all {counted(known.n_samples, 'row')} is given: this is supervised "
        "learning, and of use for new rows.",
    )


def check_not_quantity(data: Table, known: Constraints) -> None:
    """Refuse a column of many whole numbers, and say how to have each taken for a class."""
    if data.labels is None or known.labels is None:
        return
    names = [text_of(name) for name in known.label_names.tolist()]
    if not all(map(is_number, names)):
        return
    rarely_twice = int((known.labels >= 0).sum()) < 2 * len(names)
    if len(names) <= (MAX_SINGLE_NUMBERS if rarely_twice else MAX_NUMBERS):
        return
    values = sorted(map(float, names))
    column = data.label_column
    where = f"The column {column!r} of {data.path} holds" if column else "The labels are"
    allow = worded(
        f"kinds={{{column!r}: {CATEGORY!r}}}"
        if column
        else f"write them as words, such as 'class {values[0]:g}'",
        f"--as {column}={CATEGORY}",
    )
    raise SidelightError(
        f"{where} {len(names):,} different numbers, from {values[0]:g} to {values[-1]:g}, which "
        "look like a quantity, not like classes. Choose a column of words or of few numbers; if "
        f"each number is the name of a class, say so: {allow}."
    )


def note_on_machines(method: Method, known: Constraints) -> tuple[str, ...]:
    """Note the number of machines of a method that trains one for every pair of classes."""
    from sidelight.semi_supervised import SemiBoostClassifier

    n_classes = len(known.label_names)
    n_machines = n_classes * (n_classes - 1) // 2
    if not issubclass(method.cls, SemiBoostClassifier) or n_machines <= MANY_MACHINES:
        return ()
    return (
        f"{method.name} trains a machine for every pair of the {n_classes:,} classes, "
        f"{n_machines:,} in all, which may take long; `-m harmonic` learns all classes at once.",
    )
