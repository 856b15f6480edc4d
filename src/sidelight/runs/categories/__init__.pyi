from ._applied import CategoriesApplied as CategoriesApplied
from ._categorize import CategorizeRequest as CategorizeRequest
from ._categorize import CategorizeRun as CategorizeRun
from ._categorize import categorize as categorize
