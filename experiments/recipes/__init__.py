"""Data of published figures that only the experiments and tests rebuild; for other data see
:mod:`sidelight.datasets`.
"""
