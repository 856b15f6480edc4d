"""What jobs on the rows of a table share: reading rows and knowledge, features, the fit, models.

What happens to ``sidelight cluster rows.csv -k 3 -c known.csv --save model.skops``, file by file;
read them in this order:

1. ``_asked``: the request. ``Rows`` lists the fields that the modules below look at,
   ``TableRequest`` and ``MethodRequest`` declare those that several jobs have as options.
2. ``_request``: ``prepare`` takes a request through the next four modules and returns what they
   made as one value, ``Prepared``.
3. ``_rows``: ``read_rows`` reads the table, or takes the one in memory, with the columns of labels
   and true classes beside it.
4. ``_knowledge``: ``read_knowledge`` unites constraints, files of pairs and labels in one
   ``Constraints`` about these rows.
5. ``_estimator``: ``named_method`` finds the method in the catalog, ``make_estimator`` sets its
   parameters, which may come as text.
6. ``_features``: ``make_features`` prepares and scales the columns, or leaves them as they are.
7. ``_run``: ``Prepared.run`` fits the estimator and returns a ``Run``, the result: scores, facts,
   what it writes. ``Outcome`` is the part of it that results about new rows have, too.
8. ``_words``: what ``Run.tell`` says about clusters.
9. ``_explain``: what the clusters are, in the columns of the table: for ``tell``, ``--json``, the
   report and the job ``explain``.
10. ``_model``: what ``--save`` keeps, how it is read again, and which columns new rows need.

Then those that only some jobs go through:

- ``_applied``: ``apply_model`` gives new rows what a model gives; the job ``predict``.
- ``_classes`` and ``_class_words``: rows with classes, of a fit (``classify``) and new ones.
- ``_comparison`` and ``_comparison_words``: several methods and numbers of clusters, of which one
  is chosen (``compare``, and ``cluster`` where ``-k`` is several numbers).
- ``_splits``: several splits of the same rows (``alternatives``), in a file and for new rows.

A job on rows is then short: its ``_run.py`` calls ``prepare`` with what is its own. Begin with
``jobs/cluster/_run.py``.
"""
