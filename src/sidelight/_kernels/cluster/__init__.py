"""TITLE _kernels/cluster."""
