from ._connected_kcenter import ConnectedKCenter as ConnectedKCenter
from ._connected_kmeans import ConnectedKMeans as ConnectedKMeans
from ._netscan import NetScan as NetScan
