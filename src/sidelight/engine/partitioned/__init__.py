"""Rows in partitions that live elsewhere: in other processes, or on a cluster.

``_engine`` says what an engine has to do: four verbs. ``_orders`` is what is sent to a partition,
``_beside`` what runs beside it. ``_rows`` is the :class:`~sidelight.engine.RowSource` on top, and
``_values`` its row results, which stay beside the partitions until somebody looks at them. Nothing
here knows which engine it is.
"""
