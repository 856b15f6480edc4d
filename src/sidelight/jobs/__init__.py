"""Jobs: what a command, a notebook and the workbench do, from a request to a result.

All of them do the same thing by the same code: :func:`run` makes the request of a job, does the
job and returns its result. A job is a folder; ``cluster`` is the one to begin with. Modules that
begin with an underscore are what jobs share:

- ``_registry``: the table of jobs, and ``run``; ``_options``: what an option is; ``_shared``:
  options that several jobs have; ``_form``: a request as a form.
- ``_table``: jobs on the rows of a table, from reading them to models; its docstring says what
  happens to a request, file by file.
- ``_method``, ``_labeled``, ``_graph``, ``_graph_page``: jobs on other things, such as graphs.
- ``_result``: what every result can do; ``_parts``: sentences and tables that several results have.
  They are plain data of :mod:`sidelight.report`, as are the cards of pages.
- ``_outputs``: where files may go and how they are checked; ``_recognize``: which files are ours.
"""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
