from ._anonymizer import Anonymizer as Anonymizer
from ._generalize import generalize as generalize
from ._hierarchy import Hierarchy as Hierarchy
from ._measures import discernibility as discernibility
from ._measures import dispersion as dispersion
from ._measures import normalized_certainty_penalty as normalized_certainty_penalty
from ._measures import t_closeness as t_closeness
