from ._coloring import check_coloring as check_coloring
from ._coloring import infeasible as infeasible
from ._graph import Graph as Graph
from ._graph import connected_parts as connected_parts
from ._graph import make_graph as make_graph
from ._prices import better_prices as better_prices
from ._sized import size_bound as size_bound
from ._sized import solve_flow as solve_flow
