"""A program at a pseudo-terminal: what it shows, and keys for it."""

import os
import pty
import re
import select
import signal
import sys
import time

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """Runs ``sidelight ...`` in a terminal of its own, in the current folder.

    ``program`` is what Python is started with, the command by default.
    """

    def __init__(
        self, *arguments: object, width: int = 100, program: tuple[str, ...] = ("-m", "sidelight")
    ) -> None:
        self.pid, self._screen = pty.fork()
        if self.pid == 0:
            os.environ.update(COLUMNS=str(width), LINES="50", TERM="xterm-256color")
            command = [sys.executable, *program, *map(str, arguments)]
            os.execv(sys.executable, command)
        self.raw = ""
        self._read_until = 0
        self.status: int | None = None

    @property
    def text(self) -> str:
        """Everything shown so far, without colours."""
        return ESCAPES.sub("", self.raw).replace("\r\n", "\n")

    def _pump(self, seconds: float) -> bool:
        """Take what the program has shown; False when it has gone."""
        if not select.select([self._screen], [], [], seconds)[0]:
            return True
        try:
            shown = os.read(self._screen, 65536)
        except OSError:  # Linux says so when the other end is closed
            return False
        self.raw += shown.decode("utf-8", errors="replace")
        return bool(shown)

    def wait_for(self, pattern: str, seconds: float = 90.0) -> "re.Match[str]":
        """Wait until something new is shown that matches."""
        deadline = time.monotonic() + seconds
        while True:
            found = re.compile(pattern).search(self.text, self._read_until)
            if found:
                self._read_until = found.end()
                return found
            alive = self._pump(0.1)
            assert alive or re.compile(pattern).search(self.text, self._read_until), self.text
            assert time.monotonic() < deadline, self.text

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._screen, keys.encode())

    def answer(self, line: str) -> None:
        """Wait for the question and answer it."""
        self.wait_for(r"\[h\]elp: ")
        self.type(f"{line}\n")

    def kill(self) -> None:
        """End the program in the middle of whatever it is doing."""
        os.kill(self.pid, signal.SIGKILL)
        self.end()

    def end(self, seconds: float = 90.0) -> int:
        """Wait for the end; the exit code, or minus the number of the signal."""
        deadline = time.monotonic() + seconds
        while self._pump(0.1):
            assert time.monotonic() < deadline, self.text
        _, status = os.waitpid(self.pid, 0)
        os.close(self._screen)
        self.status = os.waitstatus_to_exitcode(status)
        return self.status
