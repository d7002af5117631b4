__all__ = [
    "ERM",
    "METHODS",
    "Method",
    "Mixup",
    "MixupIO",
    "MixupTO",
    "Plan",
    "SKMixup",
    "Step",
    "WarpedMixup",
    "__version__",
    "build_method",
    "embed",
    "pair_distance",
    "similarity_kernel",
    "warp",
]

from .embeddings import embed
from .method import Method, Step
from .methods import ERM, METHODS, Mixup, MixupIO, MixupTO, SKMixup, WarpedMixup, build_method
from .plan import Plan
from .similarity import pair_distance, similarity_kernel
from .version import __version__
from .warping import warp
