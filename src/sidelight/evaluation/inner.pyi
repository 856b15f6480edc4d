from ._coclustering import information as information
