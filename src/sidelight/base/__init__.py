"""Base classes of all estimators: they check parameters, rows and constraints, and sum up fits.

Clusterers derive from :class:`Clusterer`, estimators that give new features from
:class:`Transformer`, of which those that are linear in the rows are :class:`LinearTransformer` and
those that place rows on a map are :class:`Embedding`; classifiers derive from :class:`Classifier`.
The catalog, the docs' method table, the command line and the contract tests are generated from the
tags (:mod:`sidelight.tags`).
"""

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
