from ._cfa import CoordinatedFactorAnalysis as CoordinatedFactorAnalysis
from ._views import CoordinatedViews as CoordinatedViews
from ._views import PredictiveMixture as PredictiveMixture
