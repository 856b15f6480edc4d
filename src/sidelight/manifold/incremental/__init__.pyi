from ._isomap import IncrementalIsomap as IncrementalIsomap
from ._updates import MapUpdate as MapUpdate
