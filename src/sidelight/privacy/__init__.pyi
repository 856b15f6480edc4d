from ._check import AnonymityCheck as AnonymityCheck
from ._check import SensitiveColumn as SensitiveColumn
from ._check import check_anonymity as check_anonymity
from .anonymizer import *
from .existential import *
