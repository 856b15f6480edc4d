"""The job ``sidelight ask``: its options; the questions are asked by ``cli/ask``."""
