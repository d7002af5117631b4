"""Every model by its command-line name. Free of torch, so that listing the names is instant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal["image", "vector", "series"]


@dataclass(frozen=True)
class Model:
    """What a name stands for: ``module:attribute`` under this package, and the arguments the name fixes.

    ``kind`` says which inputs the model takes: ``image`` (n, channels, height, width), ``vector``
    (n, features) or ``series`` (n, window, series).
    """

    target: str
    kind: Kind
    summary: str
    fixed: Mapping[str, object] = field(default_factory=dict)


def _resnet(depth: int, summary: str) -> Model:
    return Model("resnet:ResNet", "image", summary, {"depth": depth})


MODELS: dict[str, Model] = {
    "resnet8": _resnet(8, "ResNet-8, three stages of 16, 32, 64 channels, for CPUs"),
    "resnet20": _resnet(20, "ResNet-20, three stages of 16, 32, 64 channels, for CPUs"),
    "resnet18": _resnet(18, "ResNet-18 with a CIFAR or an ImageNet stem"),
    "resnet34": _resnet(34, "ResNet-34 with a CIFAR or an ImageNet stem"),
    "resnet50": _resnet(50, "ResNet-50 with a CIFAR or an ImageNet stem"),
    "resnet101": _resnet(101, "ResNet-101 with a CIFAR or an ImageNet stem"),
    "vit-s16": Model("vit:vit_s16", "image", "vision transformer ViT-S/16, 384 wide, 12 blocks"),
    "vit-tiny": Model("vit:vit_tiny", "image", "vision transformer for CPUs, 64 wide, 4 blocks"),
    "fcn3": Model("fcn3:FCN3", "vector", "three linear layers with dropout, the Airfoil network"),
    "lstnet-skip": Model(
        "lstnet:LSTNet", "series", "LSTNet with a recurrent skip over one period", {"context": "skip"}
    ),
    "lstnet-attention": Model(
        "lstnet:LSTNet", "series", "LSTNet with attention over its states", {"context": "attention"}
    ),
    "mlp": Model("mlp:MLP", "vector", "multi-layer perceptron, one hidden layer of 20 by default"),
}

TIMM_PREFIX = "timm:"
