"""What is asked for: which documents, and how their words are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Any, ClassVar

from sidelight._interval import Interval
from sidelight.jobs._options import (
    KNOWN,
    NAMED,
    Option,
    Request,
    column,
    columns,
    number,
    share,
    table,
)
from sidelight.jobs._shared import (
    MODEL,
    REPORT,
    TABLES,
    Ids,
    Settings,
    Truth,
    main_output,
    method,
    request,
)

#: The default method.
DEFAULT = "text-categories"
#: The column of the texts, unless another one is named.
TEXT = "text"
#: Share of the words that is kept, the most telling ones: about that of the source.
KEEP_WORDS = 0.9
WORDS = "Words"


def _read_keep(text: str) -> int | float:
    """Read a number of words or a share of them.

    Examples
    --------
    >>> _read_keep("0.9"), _read_keep("5000"), _read_keep("1.0")
    (0.9, 5000, 1.0)
    """
    try:
        return int(text) if text.strip().isdecimal() else float(text)
    except ValueError:
        raise ValueError(f"{text}: write a number of words or a share, such as 0.9.") from None


@request
class CategorizeRequest(Settings, Ids, Truth, Request):
    """Which documents, and how their words are counted.

    ``data`` also takes a data frame, ``text`` the name of one column.

    Examples
    --------
    >>> from sidelight.jobs import CategorizeRequest
    >>> CategorizeRequest("pages.csv", labels="topic", keep_words=5000).command_line()
    'sidelight categorize pages.csv --label-column topic --keep-words 5000'
    """

    job: ClassVar[str] = "categorize"

    data: Annotated[Any, table(f"Table of documents: {NAMED}.", metavar="DOCUMENTS")] = field(
        kw_only=False
    )
    labels: Annotated[
        str,
        column(
            "Column with the class of every document; empty where unknown.",
            "--label-column",
            panel=KNOWN,
        ),
    ] = field()
    text: Annotated[
        str | Sequence[str],
        columns(
            "Columns of text, which are read one after the other; by default the column text.",
            "--text-column",
        ),
    ] = (TEXT,)
    min_df: Annotated[
        int | None,
        number(
            "Leave out words that occur in fewer documents; by default 7, or fewer where there are "
            "less than 700 documents.",
            panel=WORDS,
            range=Interval(1),
            sets="min_df",
        ),
    ] = None
    max_df: Annotated[
        float,
        share(
            "Leave out words that occur in a larger share of the documents.",
            panel=WORDS,
            range=Interval(0, 1, open_low=True),
            sets="max_df",
        ),
    ] = 0.5
    keep_words: Annotated[
        int | float,
        Option(
            "Words to keep, as a number or a share: those that are spread least evenly over the "
            "classes.",
            metavar="N",
            panel=WORDS,
            read=_read_keep,
        ),
    ] = KEEP_WORDS
    method: Annotated[str, method()] = DEFAULT

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns of text."""
        return (self.text,) if isinstance(self.text, str) else tuple(dict.fromkeys(self.text))


REQUEST = CategorizeRequest
OUTPUTS = {
    "categories": main_output(
        "Where to write id, class and category of every document, whether it moved, and how "
        f"clearly ({TABLES})."
    ),
    "report": REPORT,
    "model": MODEL,
}
