"""tailormix: train models whose confidence can be trusted.

The public names are loaded on first use, so that ``import tailormix`` and the command line start fast.
"""

from __future__ import annotations

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

# fmt: off
if TYPE_CHECKING:
    from tailormix.batch import Plan
    from tailormix.embeddings import EmbeddingBank, embed
    from tailormix.experiments.trained import load_run
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
    from tailormix.strength import AutoStrength
    from tailormix.warping import warp

    __version__: str

__all__ = [
    "ERM", "METHODS", "MITA", "MITL", "AutoStrength", "CMixup", "CutMix", "EmbeddingBank", "KMixup",
    "LocalMixup", "ManifoldMixup", "Method", "Mixup", "MixupIO", "MixupTO", "Plan", "QuantileMixup",
    "RankMixup", "RankMixupMRL", "RegMixup", "Remix", "SKCutMix", "SKManifoldMixup", "SKMixup", "SKRegMixup",
    "Step", "TwoBeta", "WarpedMixup", "__version__", "build_method", "embed", "load_run", "pair_distance",
    "similarity_kernel", "warp",
]
# fmt: on

#: the module of each public name that is not one of the methods
_MODULES = {
    "AutoStrength": "strength",
    "EmbeddingBank": "embeddings",
    "Method": "method",
    "Plan": "batch",
    "Step": "method",
    "embed": "embeddings",
    "load_run": "experiments.trained",
    "pair_distance": "kernel",
    "similarity_kernel": "kernel",
    "warp": "warping",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        value = metadata.version("tailormix")
    else:
        value = getattr(import_module(f"tailormix.{_MODULES.get(name, 'methods')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
