from ._auto import AutoClassifier as AutoClassifier
