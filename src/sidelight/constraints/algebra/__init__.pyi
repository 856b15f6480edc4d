from ._closure import Closure as Closure
from ._reduce import Reduced as Reduced
from ._violations import Violations as Violations
