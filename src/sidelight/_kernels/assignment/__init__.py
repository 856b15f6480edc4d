"""TITLE _kernels/assignment."""
