from ._feature_saliency import FeatureSaliencyMixture as FeatureSaliencyMixture
from ._mml import MMLMixture as MMLMixture
