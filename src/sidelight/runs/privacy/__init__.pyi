from ._anonymize import AnonymizeRequest as AnonymizeRequest
from ._anonymize import AnonymizeRun as AnonymizeRun
from ._anonymize import anonymize as anonymize
