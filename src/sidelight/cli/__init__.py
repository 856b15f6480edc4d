"""The command line ``sidelight``.

``_app`` holds what a user can type, ``_build`` makes a command of the declared options of a job,
``_perform`` runs the job and shows what comes out (``_screen``). Two commands that go on for as
long as a person or a pipe does have code of their own: ``ask`` and ``_stream``. A job is imported
only when its command runs: ``sidelight --help`` needs neither NumPy nor scikit-learn.
"""

from __future__ import annotations

import gc
import sys
from typing import Any


class _WithoutPandas:
    """Lets ``import pandas`` fail: scikit-learn imports it whenever it is installed.

    That takes a fifth of the time a short command takes, and the command line, which reads its
    tables with Arrow, has no use for it. Everything that imports pandas on the way treats it as
    optional.
    """

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not used by the command line", name=name)


def main() -> None:
    """Run the command line and exit; the entry point of ``sidelight`` and ``python -m``."""
    gc.disable()  # until all is imported: looking for garbage takes a fifth of that time
    from sidelight.cli._app import app

    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _WithoutPandas)
    app()
