from ._apply import Applied as Applied
from ._apply import predict as predict
from ._apply import transform as transform
from ._classes import ClassesApplied as ClassesApplied
from ._classes import ClassRun as ClassRun
from ._compare import CompareRun as CompareRun
from ._compare import compare as compare
from ._explain import explain as explain
from ._model import Model as Model
from ._model import load_model as load_model
from ._model import save_model as save_model
from ._request import Request as Request
from ._request import prepare as prepare
from ._request import run as run
from ._run import Outcome as Outcome
from ._run import Prepared as Prepared
from ._run import Run as Run
from ._run import check_outputs as check_outputs
from ._stream import MapStream as MapStream
from ._views import ViewsRun as ViewsRun
from ._views import run_views as run_views
from .alternative import *
from .categories import *
from .coclustering import *
from .privacy import *
from .relational import *
