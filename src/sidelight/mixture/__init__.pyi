from .constrained import *
from .discriminative import *
from .families import *
from .gaussian import *
from .growing import *
from .kernel import *
from .message_length import *
from .som import *
