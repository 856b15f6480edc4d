from ._mixture import GaussianMixture as GaussianMixture
