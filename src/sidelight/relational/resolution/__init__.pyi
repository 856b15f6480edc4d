from ._assigned import AssignedReferences as AssignedReferences
from ._attribute import AttributeResolution as AttributeResolution
from ._blocking import BlockingReport as BlockingReport
from ._collective import CollectiveResolution as CollectiveResolution
from ._explain import EntityExplanation as EntityExplanation
from ._query import QueryResult as QueryResult
from ._relational import RelationalResolution as RelationalResolution
from ._similarities import ColumnComparison as ColumnComparison
