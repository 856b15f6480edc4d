from ._cocluster import CoclusterRequest as CoclusterRequest
from ._cocluster import CoclusterRun as CoclusterRun
from ._cocluster import cocluster as cocluster
