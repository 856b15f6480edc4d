from ._consensus import ConsensusClustering as ConsensusClustering
from ._correlation import CorrelationClustering as CorrelationClustering
from ._editing import ClusterEditing as ClusterEditing
