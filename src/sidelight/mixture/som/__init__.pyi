from ._generative import GenerativeTopographicMap as GenerativeTopographicMap
from ._kohonen import KohonenMap as KohonenMap
from ._mixture import SelfOrganizingMixture as SelfOrganizingMixture
from ._probabilistic import ProbabilisticMap as ProbabilisticMap
from ._soft import SoftTopographicMap as SoftTopographicMap
