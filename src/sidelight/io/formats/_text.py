"""Text files as people have them: their encoding, and what stands between the values.

Written by a spreadsheet, a database or by hand, a text table states neither. The encoding is found
by a byte order mark, else it is UTF-8, and where a file cannot be UTF-8 it is Windows-1252 (or
Latin-1, which differs in 32 signs). What is between the values is found in the header line, and by
the lines below it where the header leaves a choice.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import itertools
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from sidelight.exceptions import SidelightError

MAX_FIELD = csv.field_size_limit()
#: What may be between values; of several that fit alike, the first is taken.
DELIMITERS = (",", "\t", ";", "|")
#: Number of lines from which the delimiter is guessed.
SAMPLE_LINES = 50
#: A name of a column that goes on over more lines is a mistake.
NAME_LINES = 5
#: Number of bytes from which the encoding is guessed if only the first lines are asked for.
HEAD_BYTES = 1 << 16
BLOCK_BYTES = 1 << 20
#: Bytes to which Windows-1252 gives no meaning.
NOT_WINDOWS = (b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d")

#: Names of encodings, for people.
ENCODINGS = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

QUOTED = re.compile(r'(?:^|(?<=[,;\t|]))"(?:[^"]|"")*"')
EXCEL_HINT = re.compile(r'"?sep=(.)"?\s*', flags=re.IGNORECASE)


class NotUtf8(SidelightError):
    """A file that began like UTF-8 and is something else further down."""


@dataclass(frozen=True)
class Layout:
    """How a text file writes a table.

    Attributes
    ----------
    encoding : str
        Encoding, by its name in Python.
    delimiter : str
        What is between the values.
    header : list of str
        The first record that is not empty, as it is written.
    start : int
        Number of lines before this record: blank ones, and Excel's ``sep=;``.
    end : int
        Number of lines up to and with it.
    """

    encoding: str
    delimiter: str
    header: list[str]
    start: int
    end: int

    @property
    def note(self) -> str:
        """Note for the user on a guessed encoding; empty if it is certain."""
        if self.encoding not in ENCODINGS:
            return ""
        return (
            f"The file is not UTF-8 and was read as {ENCODINGS[self.encoding]}; if letters look "
            "wrong, save it as UTF-8."
        )


def layout_of(path: Path, encoding: str | None = None) -> Layout:
    """Layout of a text table (encoding, delimiter, header), from its first lines.

    Parameters
    ----------
    path : Path
        The file.
    encoding : str, optional
        Its encoding; by default guessed from its first bytes alone, so that :class:`NotUtf8` may be
        raised when more of it is read.
    """
    encoding = encoding or _encoding_of_head(path)
    with open_text(path, encoding=encoding) as file:
        lines = text_lines(file, path)
        first, start = _first_line(lines)
        hint = EXCEL_HINT.fullmatch(first)
        if hint:
            first, more = _first_line(lines)
            start += 1 + more
        known = hint.group(1) if hint else "\t" if is_tsv(path) else ""
        sample = itertools.chain([first], itertools.islice(lines, SAMPLE_LINES))
        looked_at, read = itertools.tee(sample)  # each only as far as needed: lines may be long
        delimiter = known or delimiter_of(looked_at, path)
        end, header = next(csv_records(read, path, delimiter, start=start), (start + 1, []))
    if any(len(name.splitlines()) > NAME_LINES for name in header):
        raise SidelightError(f"Line {start + 1} of {path} has a quotation mark that is not closed.")
    return Layout(encoding, delimiter, header if first.strip() else [], start, end)


def _first_line(lines: Iterator[str]) -> tuple[str, int]:
    """The first line that is not blank, and the number of lines before it."""
    for number, line in enumerate(lines):
        if line.strip():
            return line, number
    return "", 0


def is_tsv(path: Path) -> bool:
    """Whether the name of a file means tab-separated values."""
    return path.name.lower().removesuffix(".gz").endswith(".tsv")


def delimiter_of(lines: Iterable[str], path: Path) -> str:
    """Delimiter of the values: comma, tab, semicolon or vertical bar.

    It is what the first line has outside of quotation marks. Where it has several of them, it is
    the one that splits all of the lines into the same number of values (if several do, into most of
    them); if none does, the one that splits most lines like the first. Tables, constraints and
    pairs are all read by this rule.
    """
    if is_tsv(path):
        return "\t"
    lines = iter(lines)
    first = next(lines, "")
    outside = QUOTED.sub("", first)
    possible = [mark for mark in DELIMITERS if mark in outside]
    if outside.count('"') % 2:  # a value that goes on in the next line
        possible = list(DELIMITERS)
    if len(possible) < 2:
        return possible[0] if possible else ","
    sample = [first, *lines]
    return max(possible, key=lambda mark: _evenness(sample, mark))  # the first of the best


def _evenness(lines: Sequence[str], mark: str) -> tuple[float, int]:
    """Share of records that have as many values as the first, and how many these are."""
    try:
        widths = [len(record) for record in csv.reader(lines, delimiter=mark) if any(record)]
    except csv.Error:
        return 0.0, 0
    if not widths or widths[0] == 1:
        return 0.0, 0
    if len(lines) > SAMPLE_LINES and len(widths) > 2:
        widths.pop()  # the last record may go on behind the sample
    return sum(width == widths[0] for width in widths) / len(widths), widths[0]


# --- encodings ------------------------------------------------------------------------------------


def encoding_of(path: Path) -> str:
    """Encoding of a text file: by its mark, UTF-8 if it can be, else Windows-1252 or Latin-1.

    The whole file is read. One that is mostly UTF-8 but has other bytes in it is damaged, and the
    error names the line.
    """
    with _open_bytes(path) as file:
        blocks = _blocks(file, path)
        first = next(blocks, b"")
        marked = _marked(first, path)
        if marked:
            return marked
        decoder = codecs.getincrementaldecoder("utf-8")()
        line = 1
        try:
            for block in itertools.chain([first], blocks):
                decoder.decode(block)
                line += block.count(b"\n")
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            line += bytes(error.object).count(b"\n", 0, error.start)
        else:
            return "utf-8"
    return _western(path, line)


def _western(path: Path, line: int) -> str:
    """Which of two encodings a file has that is not UTF-8, unless it is UTF-8 with damage."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="ignore")
    n_bytes, n_valid, n_plain, undefined = 0, 0, 0, False
    with _open_bytes(path) as file:
        for block in _blocks(file, path):
            letters = decoder.decode(block)
            plain = len(letters.encode("ascii", "ignore"))
            n_bytes += len(block)
            n_valid += len(letters.encode())
            n_plain += plain
            undefined = undefined or any(byte in block for byte in NOT_WINDOWS)
    if (n_valid - n_plain) / 2 > n_bytes - n_valid:  # a letter has two bytes at least
        raise SidelightError(
            f"Line {line} of {path} is not UTF-8 text, but most of the file is; save it all in "
            "UTF-8."
        )
    return "latin-1" if undefined else "cp1252"


def _encoding_of_head(path: Path) -> str:
    """Encoding of the beginning of a file: UTF-8 as long as nothing speaks against it."""
    with _open_bytes(path) as file:
        head = next(_blocks(file, path, HEAD_BYTES), b"")
    marked = _marked(head, path)
    if marked:
        return marked
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return encoding_of(path)
    return "utf-8"


def _marked(head: bytes, path: Path) -> str:
    """Encoding according to the byte order mark."""
    long = head.startswith(codecs.BOM_UTF32_LE)  # begins like UTF-16
    for mark, encoding in MARKS.items():
        if head.startswith(mark) and not long:
            return encoding
    if b"\0" in head:
        raise SidelightError(f"{path} is not text: it has zero bytes in it; save it in UTF-8.")
    return ""


def open_text(path: Path, mode: Literal["r", "w"] = "r", *, encoding: str | None = None) -> IO[str]:
    """Open a text file, decompressed according to its suffix, without a byte order mark.

    Without ``encoding``, a file is written in UTF-8 and read as :func:`encoding_of` tells.
    """
    if encoding is None:
        encoding = encoding_of(path) if mode == "r" else "utf-8"
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt" if mode == "r" else "wt", encoding=encoding, newline="")
    return path.open(mode, encoding=encoding, newline="")


def _open_bytes(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _blocks(file: IO[bytes], path: Path, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    try:
        while block := file.read(size):
            yield block
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise not_gzip(path) from error


def text_lines(file: IO[str], path: Path) -> Iterator[str]:
    """Lines of a file, with a clear error if they are not text."""
    try:
        yield from file
    except UnicodeDecodeError as error:
        raise not_one_encoding(path) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise not_gzip(path) from error


def not_one_encoding(path: Path) -> NotUtf8:
    """Error about a file that has other bytes in it than its beginning promised."""
    return NotUtf8(f"{path} is not text in one encoding; save it in UTF-8.")


def not_gzip(path: Path) -> SidelightError:
    """Error about a file that should be compressed."""
    return SidelightError(f"{path} is not a complete gzip file.")


def csv_records(
    lines: Iterable[str], path: Path, delimiter: str, *, start: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Records of a CSV file, each with the number of the line on which it ends.

    ``start`` is the number of lines before the first of ``lines``.
    """
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for values in reader:
            yield start + reader.line_num, values
    except csv.Error as error:
        raise SidelightError(
            f"Line {start + reader.line_num} of {path} cannot be read: one of its values has more "
            f"than {MAX_FIELD:,} characters; perhaps a quotation mark is not closed."
        ) from error
