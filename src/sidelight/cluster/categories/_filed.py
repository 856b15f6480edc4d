"""Memory of the documents of a fit: a number for each, and the category that it got."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

Prints = npt.NDArray[np.uint64]

#: Category of a document that was not in the fit.
NEW = -2


def fingerprints(documents: sparse.csr_array) -> Prints:
    """A number of 64 bits for the counts of every document, the same for the same counts.

    The sum over the words of a document of a mixture of word and count.
    """
    counts = documents.data.astype(np.float64).view(np.uint64)
    mixed = _mixed(_mixed(documents.indices.astype(np.uint64) + np.uint64(1)) ^ counts)
    sums = np.append(np.uint64(0), np.cumsum(mixed, dtype=np.uint64))
    found: Prints = sums[documents.indptr[1:]] - sums[documents.indptr[:-1]]  # modulo 2 ** 64
    return found


def _mixed(values: Prints) -> Prints:
    """Numbers in which every bit depends on all bits (the last step of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def filed(prints: Prints, labels: npt.NDArray[np.int32]) -> tuple[Prints, npt.NDArray[np.int32]]:
    """Different fingerprints, ascending, and the category that most documents of each have."""
    order = np.lexsort((labels, prints))
    prints, labels = prints[order], labels[order]
    begins = np.flatnonzero((np.diff(prints) != 0) | (np.diff(labels) != 0)) + 1
    first = np.append(0, begins)  # of the documents of one fingerprint and category
    counts = np.diff(first, append=len(prints))
    prints, labels = prints[first], labels[first]
    order = np.lexsort((labels, -counts, prints))
    known, first = np.unique(prints[order], return_index=True)
    return known, labels[order][first]


def look_up(prints: Prints, known: Prints, labels: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Category of every fingerprint; :data:`NEW` for those that are not known."""
    place = np.minimum(np.searchsorted(known, prints), len(known) - 1)
    return np.where(known[place] == prints, labels[place], np.int32(NEW))
