from ._network import AutoassociativeNetwork as AutoassociativeNetwork
from ._sammon import SammonMapping as SammonMapping
