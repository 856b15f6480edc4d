"""Rows on the workers of a Dask cluster.

``_engine`` brings work to partitions: one task per worker and pass. ``_groups`` decides which
worker does which partition. ``_collections`` makes partitions of arrays, data frames and files.
Dask is imported when such rows come, never before.
"""
