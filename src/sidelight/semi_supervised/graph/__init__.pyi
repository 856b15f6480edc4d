from ._harmonic import HarmonicClassifier as HarmonicClassifier
from ._min_cut import MinCutClassifier as MinCutClassifier
from ._spectral_transducer import SpectralGraphTransducer as SpectralGraphTransducer
