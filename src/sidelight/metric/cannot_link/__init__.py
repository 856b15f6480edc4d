"""TITLE metric/cannot_link."""
