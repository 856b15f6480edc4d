from ._cdk_means import CDKMeans as CDKMeans
from ._concepts import Concepts as Concepts
from ._mining import mine_concepts as mine_concepts
