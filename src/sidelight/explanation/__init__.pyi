from ._comparisons import Trait as Trait
from ._explanation import Explanation as Explanation
from ._explanation import Profile as Profile
from ._explanation import brief as brief
from ._explanation import explain_clusters as explain_clusters
from ._rows import Doubt as Doubt
from ._rules import Rule as Rule
from ._rules import RuleSet as RuleSet
