from ._assign import Assignment as Assignment
from ._assign import assign as assign
from ._assign import greedy_assign as greedy_assign
from ._coloring import Feasibility as Feasibility
from ._sized import SizedAssignment as SizedAssignment
from ._sized import assign_sized as assign_sized
