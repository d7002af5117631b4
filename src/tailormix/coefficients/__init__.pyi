__all__ = [
    "Beta",
    "Constant",
    "InputsOnly",
    "Remix",
    "SeparatedBetas",
    "SimilarityKernel",
    "TargetsOnly",
    "TwoBeta",
    "Warped",
]

from .beta import Beta
from .constant import Constant
from .one_sided import InputsOnly, TargetsOnly
from .remix import Remix
from .separated_betas import SeparatedBetas
from .similarity_kernel import SimilarityKernel
from .two_beta import TwoBeta
from .warped import Warped
