"""The job ``sidelight cluster``.

``_request`` declares its options, ``_run`` chooses the method, ``_conditions`` reads
``--at-least``. All that it has in common with other jobs on rows (reading, features, the fit, the
result) is in ``jobs/_table``, whose ``__init__.py`` says in which order to read it.
"""
