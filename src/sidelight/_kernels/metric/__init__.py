"""TITLE _kernels/metric."""
