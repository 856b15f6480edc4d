from .anonymizer import *
