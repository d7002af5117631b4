"""tailormix: train models whose confidence can be trusted.

The public names are loaded on first use, so that ``import tailormix`` and the command line start fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailormix.batch import Plan
    from tailormix.embeddings import embed
    from tailormix.kernel import pair_distance, similarity_kernel
    from tailormix.method import Method, Step
    from tailormix.methods import (
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
        SKCutMix,
        SKManifoldMixup,
        SKMixup,
        SKRegMixup,
        TwoBeta,
        WarpedMixup,
        build_method,
    )
    from tailormix.version import __version__
    from tailormix.warping import warp

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

_MODULES = {
    "CMixup": "tailormix.methods",
    "CutMix": "tailormix.methods",
    "ERM": "tailormix.methods",
    "KMixup": "tailormix.methods",
    "LocalMixup": "tailormix.methods",
    "METHODS": "tailormix.methods",
    "MITA": "tailormix.methods",
    "MITL": "tailormix.methods",
    "ManifoldMixup": "tailormix.methods",
    "Method": "tailormix.method",
    "Mixup": "tailormix.methods",
    "MixupIO": "tailormix.methods",
    "MixupTO": "tailormix.methods",
    "Plan": "tailormix.batch",
    "QuantileMixup": "tailormix.methods",
    "RankMixup": "tailormix.methods",
    "RankMixupMRL": "tailormix.methods",
    "RegMixup": "tailormix.methods",
    "Remix": "tailormix.methods",
    "SKCutMix": "tailormix.methods",
    "SKManifoldMixup": "tailormix.methods",
    "SKMixup": "tailormix.methods",
    "SKRegMixup": "tailormix.methods",
    "Step": "tailormix.method",
    "TwoBeta": "tailormix.methods",
    "WarpedMixup": "tailormix.methods",
    "__version__": "tailormix.version",
    "build_method": "tailormix.methods",
    "embed": "tailormix.embeddings",
    "pair_distance": "tailormix.kernel",
    "similarity_kernel": "tailormix.kernel",
    "warp": "tailormix.warping",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
