from ._global import GlobalKMeans as GlobalKMeans
