"""The kinds of picture: plain data, their colors and scales."""
