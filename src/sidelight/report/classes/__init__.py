"""The report of a classifier: classes, how sure they are, and what they rest on."""
