from ._spherical import SphericalKMeans as SphericalKMeans
