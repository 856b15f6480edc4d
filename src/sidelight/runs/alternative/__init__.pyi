from ._alternatives import AlternativesRequest as AlternativesRequest
from ._alternatives import AlternativesRun as AlternativesRun
from ._alternatives import alternatives as alternatives
