"""Preparation of tables larger than memory: what is fitted is a fold of blocks of rows.

``_forest`` cuts the table into blocks at fixed positions and joins what is known of them in a fixed
tree, so that neither the cut into files and batches nor the number of workers changes anything.
``_moments``, ``_quantiles`` and ``_levels`` are what is known of the values of a block. ``_looks``
finds out what the columns hold, ``_features`` what their features need, ``_passes`` reads the
parts. ``_fit`` puts them together, and ``_rows`` gives the prepared rows.
"""
