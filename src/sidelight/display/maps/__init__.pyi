from ._embedding import EmbeddingDisplay as EmbeddingDisplay
from ._growth import GrowthDisplay as GrowthDisplay
from ._som import MapDisplay as MapDisplay
from ._spectrum import SpectrumDisplay as SpectrumDisplay
