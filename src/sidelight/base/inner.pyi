from ._answers import by_rows as by_rows
from ._answers import not_in_memory as not_in_memory
from ._classifier import CLASSIFIER_ATTRIBUTES as CLASSIFIER_ATTRIBUTES
from ._classifier import decided_codes as decided_codes
from ._estimator import not_defined as not_defined
