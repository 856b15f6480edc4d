from ._categories import make_category_corpus as make_category_corpus
from ._classified import make_sequences as make_sequences
from ._classified import make_spirals as make_spirals
from ._clouds import make_corner_gaussians as make_corner_gaussians
from ._clouds import make_four_gaussians as make_four_gaussians
from ._clouds import make_rings as make_rings
from ._dataset import Dataset as Dataset
from ._example import example_paths as example_paths
from ._example import load_example as load_example
from ._manifold_sample import ManifoldSample as ManifoldSample
from ._manifolds import make_hemisphere as make_hemisphere
from ._manifolds import make_s_surface as make_s_surface
from ._manifolds import make_strip as make_strip
from ._manifolds import make_swiss_roll as make_swiss_roll
from ._separated import make_separated_gaussians as make_separated_gaussians
from ._uci import list_uci as list_uci
from ._uci import load_uci as load_uci
from .related import *
from .tables import *
