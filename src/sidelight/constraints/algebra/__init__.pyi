from ._closure import Closure as Closure
from ._violations import Violations as Violations
