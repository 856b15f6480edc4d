"""TITLE _kernels/constraints."""
