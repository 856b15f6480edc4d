from ._class_sizes import ClassSizesDisplay as ClassSizesDisplay
from ._loss_search import LossSearchDisplay as LossSearchDisplay
