"""Jobs on tables that are larger than memory: files that are read block by block.

What happens to ``sidelight cluster "big/*.parquet" -k 3 -c known.csv -o labels/``, file by file:

1. ``_when``: whether a request is about such a table.
2. ``_workers``: who works on the blocks, and within which memory.
3. ``_parts``: ``open_parts`` opens the files and reads ids and known labels.
4. ``_request``: ``prepare`` fits the preparation to the blocks, reads what is known and makes the
   estimator: ``LargePrepared``.
5. ``_run``: its ``run`` fits the estimator, within a checkpoint if one is asked for, and returns a
   ``LargeRun``: a result like that of a table in memory, whose report and explanation look at a
   sample.
6. ``_sample``: draws the sample, and reads it.
7. ``_labels``: writes what every row got, a file for every file of rows.
"""
