"""Questions to a person at a terminal (or at the other end of a pipe), one line per answer."""

from __future__ import annotations

import contextlib
import select
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sidelight._words import counted
from sidelight.active import Answer, Answers, Strategy
from sidelight.cli._screen import plain_text
from sidelight.cli.ask._pair_view import PairView
from sidelight.exceptions import InconsistentConstraints, SidelightError
from sidelight.io.inner import alike_hint

KEYS = {
    "same": ("s", "same", "y", "yes"),
    "different": ("d", "different", "n", "no"),
    "skip": ("k", "skip"),
    "undo": ("u", "undo"),
    "quit": ("q", "quit"),
    "help": ("h", "help", "?"),
}
COMMANDS = {word: command for command, words in KEYS.items() for word in words}
HELP = (
    "  s  same (or y): they belong together      d  different (or n): they do not\n"
    "  k  skip: not sure, do not ask again       u  undo the last answer, and again\n"
    "  q  quit: go on with the answers so far    h  this help\n"
    "s A B or d A B says it about any two rows, by their ids."
)
PROMPT = (
    "Do they belong together? \\[s]ame, \\[d]ifferent, s\\[k]ip, \\[u]ndo, \\[q]uit, \\[h]elp: "
)


@dataclass(eq=False)
class Dialogue:
    """Asks until the person quits, the budget is spent or nothing is left to ask.

    Parameters
    ----------
    answers : Answers
        Where the answers go, each at once.
    strategy : Strategy
        Says what to ask.
    view : PairView
        Shows the two rows.
    console : rich.console.Console
        Where the questions go.
    budget : int or None
        At most this many questions.
    """

    answers: Answers
    strategy: Strategy
    view: PairView
    console: Any
    budget: int | None

    def __post_init__(self) -> None:
        self._n_before = self._n_given()
        self._again: tuple[int, int] | None = None  # the question whose answer was undone

    @property
    def n_asked(self) -> int:
        """Number of questions answered or skipped in this dialogue."""
        return max(0, self._n_given() - self._n_before)

    def _n_given(self) -> int:
        return self.answers.n_answers + self.answers.n_skipped

    def run(self) -> str:
        """Ask; return why it ended: "quit", "budget" or "nothing left to ask"."""
        try:
            while True:
                if self.budget is not None and self.n_asked >= self.budget:
                    return "budget"
                pair = self._next_pair()
                if pair is None:
                    return "nothing left to ask"
                self._ask(*pair)
        except (KeyboardInterrupt, EOFError):
            self._say("")
            return "quit"

    def _next_pair(self) -> tuple[int, int] | None:
        pair, self._again = self._again, None
        if pair is not None and not self.answers.is_settled(*pair):
            return pair
        return self.strategy.next_pair()

    def _ask(self, i: int, j: int) -> None:
        """Ask about a pair until something about it, or any other pair, is said or undone."""
        number = self.n_asked + 1
        of = "" if self.budget is None else f" of {self.budget}"
        self._say(f"\n[bold]Question {number}{of}[/]", self.view.table(i, j))
        before = self.answers.revision
        while self.answers.revision == before:
            self._obey(self._read(), i, j)

    def _read(self) -> list[str]:
        """The next line of the person, in words; the end of input is the end of the dialogue."""
        self.console.print(PROMPT, end="")
        _wait_for_a_key()
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        if not sys.stdin.isatty():  # a terminal has shown it already
            self._say(plain_text(line.rstrip()))
        try:
            return shlex.split(line)
        except ValueError:  # an odd quote
            return line.split()

    def _obey(self, words: list[str], i: int, j: int) -> None:
        command = COMMANDS.get(words[0].lower()) if words else None
        if command == "quit":
            raise EOFError
        if command == "undo":
            self._undo()
        elif command == "skip":
            self._take(lambda: self.answers.skip(i, j))
        elif command in ("same", "different") and len(words) in (1, 3):
            self._answer(words[1:], i, j, command == "same")
        elif command == "help":
            self._say(plain_text(HELP))
        else:
            said = plain_text(" ".join(words))
            self._say(f"[yellow]'{said}' was not understood; h shows what there is.[/]")

    def _answer(self, ids: list[str], i: int, j: int, same: bool) -> None:
        """Take an answer; one that contradicts the others is refused with the reason."""
        try:
            if ids:
                i, j = map(self._position, ids)
            self._take(lambda: self.answers.add(i, j, same))
        except InconsistentConstraints as error:
            self._refuse(error)
        except SidelightError as error:
            self._say(f"[yellow]{plain_text(error)}[/]")

    def _refuse(self, error: InconsistentConstraints) -> None:
        one, other = self.answers.known.name_rows(error.pair)
        links = self.answers.chain(*error.pair)
        word = "different" if all(link.same for link in links) else "the same"
        self._say(
            f"[bold red]A contradiction:[/] {plain_text(one)} and {plain_text(other)} cannot be "
            f"{word}, since",
            *(f"  {plain_text(self.answers.describe(link))}" for link in links),
            "Not taken. If one of these is wrong: u undoes the last answer, and again.",
        )

    def _position(self, name: str) -> int:
        """Position of a row by its id as typed: a number if the ids are numbers."""
        known = self.answers.known
        words = known.ids is not None and known.ids.dtype.kind != "i"
        try:
            return known.position(name if words else int(name))
        except ValueError as error:  # our own errors are of that kind too
            names = range(known.n_samples) if known.ids is None else known.ids.tolist()
            hint = alike_hint(name, names)
            raise SidelightError(f"There is no row called {name}.{hint}") from error

    def _take(self, say: Callable[[], None]) -> None:
        """Store something; a Ctrl-C waits until it is on the disk."""
        with _interrupts_deferred():
            say()
        entry = self.answers.entries[-1]
        self._say(f"[green]✓[/] {self._rows(entry)}: {_word(entry)}. {self.tally()}")

    def _undo(self) -> None:
        with _interrupts_deferred():
            entry = self.answers.undo()
        if entry is None:
            self._say("[yellow]There is nothing to undo.[/]")
            return
        self._again = (entry.i, entry.j)
        self._say(f"Undone: {self._rows(entry)}, {_word(entry)}. {self.tally()}")

    def _rows(self, entry: Answer) -> str:
        return plain_text(" and ".join(self.answers.known.name_rows([entry.i, entry.j])))

    def tally(self) -> str:
        """How much was answered, and how much follows from it."""
        answers = self.answers
        return (
            f"{counted(answers.n_answers, 'answer')} ({answers.n_same} same, "
            f"{answers.n_different} different), {answers.n_skipped} skipped; "
            f"{counted(answers.n_saved, 'question')} saved."
        )

    def _say(self, *parts: Any) -> None:
        for part in parts:
            self.console.print(part)


def _word(entry: Answer) -> str:
    return {True: "same", False: "different", None: "skipped"}[entry.same]


def _wait_for_a_key() -> None:
    """Wait until a line is there to read, in steps, with an ear for Ctrl-C between them.

    Python acts on a signal between two of its own instructions. One that comes just before the
    program waits in ``read``, or that another thread has received, would else be heard only
    behind the next line.
    """
    if sys.platform == "win32" or not sys.stdin.isatty():
        return
    while not select.select([sys.stdin], [], [], 0.1)[0]:
        pass


@contextlib.contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Let a Ctrl-C take effect only behind the block."""
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
