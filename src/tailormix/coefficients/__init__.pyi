__all__ = ["Beta", "Constant", "InputsOnly", "SimilarityKernel", "TargetsOnly", "Warped"]

from .beta import Beta
from .constant import Constant
from .one_sided import InputsOnly, TargetsOnly
from .similarity_kernel import SimilarityKernel
from .warped import Warped
