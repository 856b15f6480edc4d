"""TITLE _kernels/mixture."""
