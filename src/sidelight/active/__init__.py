"""Which question to ask next, who answers it, and what follows from the answers."""

from typing import TYPE_CHECKING

from sidelight._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "_answers": ["Answer", "Answers", "Link"],
        "_cobras": ["COBRAS"],
        "_corrections": ["freeze", "merge", "move", "split_cluster"],
        "_explore": ["ExploreConsolidate", "MinMax"],
        "_loop": ["ActiveClusterer"],
        "_npu": ["NPU"],
        "_oracles": ["CallableOracle", "LabelOracle", "Oracle"],
        "_random_pairs": ["RandomPairs"],
        "_strategies": ["Strategy", "make_strategy"],
    },
)

if TYPE_CHECKING:
    from sidelight.active._answers import Answer as Answer
    from sidelight.active._answers import Answers as Answers
    from sidelight.active._answers import Link as Link
    from sidelight.active._cobras import COBRAS as COBRAS
    from sidelight.active._corrections import freeze as freeze
    from sidelight.active._corrections import merge as merge
    from sidelight.active._corrections import move as move
    from sidelight.active._corrections import split_cluster as split_cluster
    from sidelight.active._explore import ExploreConsolidate as ExploreConsolidate
    from sidelight.active._explore import MinMax as MinMax
    from sidelight.active._loop import ActiveClusterer as ActiveClusterer
    from sidelight.active._npu import NPU as NPU
    from sidelight.active._oracles import CallableOracle as CallableOracle
    from sidelight.active._oracles import LabelOracle as LabelOracle
    from sidelight.active._oracles import Oracle as Oracle
    from sidelight.active._random_pairs import RandomPairs as RandomPairs
    from sidelight.active._strategies import Strategy as Strategy
    from sidelight.active._strategies import make_strategy as make_strategy
