from ._isomap import Isomap as Isomap
from ._kernel_pca import KernelPCA as KernelPCA
from ._landmark_isomap import LandmarkIsomap as LandmarkIsomap
from ._laplacian_eigenmap import LaplacianEigenmap as LaplacianEigenmap
from ._lle import LocallyLinearEmbedding as LocallyLinearEmbedding
from ._scaling import ClassicalScaling as ClassicalScaling
