from .connected import *
from .correlation import *
from .resolution import *
