from . import active as active
from . import assignment as assignment
from . import base as base
from . import catalog as catalog
from . import cluster as cluster
from . import constraints as constraints
from . import datasets as datasets
from . import display as display
from . import engine as engine
from . import evaluation as evaluation
from . import exceptions as exceptions
from . import explanation as explanation
from . import feature_selection as feature_selection
from . import graphs as graphs
from . import io as io
from . import manifold as manifold
from . import metric as metric
from . import mixture as mixture
from . import preparation as preparation
from . import report as report
from . import runs as runs
from . import semi_supervised as semi_supervised
from . import tags as tags
from ._progress import progress as progress
from .constraints._constraints import Constraints as Constraints
from .runs._explain import explain as explain

__version__: str
