from .boosting import *
from .graph import *
from .margin import *
from .pairs import *
