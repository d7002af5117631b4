__all__ = [
    "ERM",
    "METHODS",
    "MITA",
    "MITL",
    "CMixup",
    "CutMix",
    "KMixup",
    "LocalMixup",
    "ManifoldMixup",
    "Method",
    "Mixup",
    "MixupIO",
    "MixupTO",
    "Plan",
    "QuantileMixup",
    "RankMixup",
    "RankMixupMRL",
    "RegMixup",
    "Remix",
    "SKCutMix",
    "SKManifoldMixup",
    "SKMixup",
    "SKRegMixup",
    "Step",
    "TwoBeta",
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
from .methods import (
    ERM,
    METHODS,
    MITA,
    MITL,
    CMixup,
    CutMix,
    KMixup,
    LocalMixup,
    ManifoldMixup,
    Mixup,
    MixupIO,
    MixupTO,
    QuantileMixup,
    RankMixup,
    RankMixupMRL,
    RegMixup,
    Remix,
    TwoBeta,
    WarpedMixup,
    build_method,
)
from .plan import Plan
from .similarity import pair_distance, similarity_kernel
from .sk_methods import SKCutMix, SKManifoldMixup, SKMixup, SKRegMixup
from .version import __version__
from .warping import warp
