"""TITLE cluster/directional."""
