"""TITLE _kernels/feature_selection."""
