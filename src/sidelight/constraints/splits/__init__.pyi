from ._given import as_known_splits as as_known_splits
from ._known_splits import KnownSplits as KnownSplits
