"""TITLE cluster/hierarchical."""
