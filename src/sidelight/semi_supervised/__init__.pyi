from .boosting import *
from .choice import *
from .graph import *
from .margin import *
from .pairs import *
