"""Runs: from a request to fitted clusters or features, their scores, files and models.

The command line, a notebook and the report do the same thing by the same code: a :class:`Request`
says what is asked, :func:`run` reads, fits and scores, and the :class:`Run` that comes back writes
labels, features, the report and the model.
"""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
