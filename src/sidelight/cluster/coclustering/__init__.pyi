from ._cdk_means import CDKMeans as CDKMeans
from ._information import InformationCoclustering as InformationCoclustering
from ._mining import Concepts as Concepts
from ._mining import mine_concepts as mine_concepts
