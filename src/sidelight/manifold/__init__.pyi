from .atlas import *
from .coordination import *
from .incremental import *
from .linear import *
from .spectral import *
from .stress import *
