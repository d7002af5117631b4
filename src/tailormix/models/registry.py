"""Every model by its command-line name, and how it is built."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tailormix import checks
from tailormix.models.lstnet import LSTNet
from tailormix.models.mlp import FCN3, MLP
from tailormix.models.mobilenet import MobileNetV2
from tailormix.models.resnet import ResNet
from tailormix.models.text_encoder import TextEncoder
from tailormix.models.timm_models import timm_model
from tailormix.models.vit import vit_s16, vit_tiny

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import nn


@dataclass(frozen=True)
class Model:
    """A model: what builds it, the inputs it takes, one line about it, and the arguments its name fixes.

    ``kind`` ``image`` means inputs (n, channels, height, width), ``vector`` (n, features), ``series``
    (n, window, series) and ``text`` embedded tokens (n, length, features).
    """

    builder: Callable[..., nn.Module]
    kind: Literal["image", "vector", "series", "text"]
    summary: str
    fixed: Mapping[str, object] = field(default_factory=dict)


MODELS: dict[str, Model] = {
    "resnet8": Model(
        ResNet, "image", "ResNet-8, three stages of 16, 32, 64 channels, for CPUs", {"depth": 8}
    ),
    "resnet20": Model(
        ResNet, "image", "ResNet-20, three stages of 16, 32, 64 channels, for CPUs", {"depth": 20}
    ),
    "resnet18": Model(ResNet, "image", "ResNet-18 with a CIFAR or an ImageNet stem", {"depth": 18}),
    "resnet34": Model(ResNet, "image", "ResNet-34 with a CIFAR or an ImageNet stem", {"depth": 34}),
    "resnet50": Model(ResNet, "image", "ResNet-50 with a CIFAR or an ImageNet stem", {"depth": 50}),
    "resnet101": Model(ResNet, "image", "ResNet-101 with a CIFAR or an ImageNet stem", {"depth": 101}),
    "vit-s16": Model(vit_s16, "image", "vision transformer ViT-S/16, 384 wide, 12 blocks"),
    "vit-tiny": Model(vit_tiny, "image", "vision transformer for CPUs, 64 wide, 4 blocks"),
    "mobilenetv2": Model(
        MobileNetV2, "image", "MobileNetV2, with weights from a file where wanted (96 pixels or more)"
    ),
    "fcn3": Model(FCN3, "vector", "three linear layers with dropout, the Airfoil network"),
    "lstnet-skip": Model(
        LSTNet, "series", "LSTNet with a recurrent skip over one period", {"context": "skip"}
    ),
    "lstnet-attention": Model(
        LSTNet, "series", "LSTNet with attention over its states", {"context": "attention"}
    ),
    "text-encoder": Model(
        TextEncoder, "text", "a pretrained encoder of transformers (path=FOLDER), to be fine-tuned on texts"
    ),
    "mlp": Model(MLP, "vector", "multi-layer perceptron, one hidden layer of 20 by default"),
}

TIMM_PREFIX = "timm:"


def build(name: str, **arguments: Any) -> nn.Module:
    """Build the model called ``name``; ``timm:NAME`` builds a timm model where timm is installed.

    Weights are drawn from torch's global generator, as every ``nn.Module`` does.

    >>> sum(p.numel() for p in build("resnet8", num_classes=10).parameters())
    78042
    >>> build("resnet9")
    Traceback (most recent call last):
    ValueError: unknown model 'resnet9'; did you mean 'resnet8'? Known: resnet8, resnet20, ...
    >>> build("resnet8", num_clases=10)
    Traceback (most recent call last):
    ValueError: unknown argument of resnet8 'num_clases'; did you mean 'num_classes'? Known: ...
    """
    if name.startswith(TIMM_PREFIX):
        return timm_model(name.removeprefix(TIMM_PREFIX), **arguments)
    model = MODELS[checks.known("model", name, MODELS)]
    allowed = [key for key in inspect.signature(model.builder).parameters if key not in model.fixed]
    for key in arguments:
        checks.known(f"argument of {name}", key, allowed)
    return model.builder(**model.fixed, **arguments)


def shape_arguments(name: str, input_shape: tuple[int, ...], outputs: int) -> dict[str, object]:
    """Arguments that fit the model called ``name`` to inputs of ``input_shape`` and ``outputs`` values.

    >>> shape_arguments("resnet8", (3, 32, 32), 10)
    {'in_channels': 3, 'num_classes': 10}
    >>> shape_arguments("lstnet-skip", (168, 8), 8)
    {'window': 168, 'series': 8}
    >>> shape_arguments("resnet8", (5,), 1)
    Traceback (most recent call last):
    ValueError: resnet8 takes inputs of shape (channels, height, width), got (5,)
    """
    if name.startswith(TIMM_PREFIX):
        return {"in_chans": input_shape[0], "num_classes": outputs}
    model = MODELS[checks.known("model", name, MODELS)]
    if model.kind == "vector":
        return {"in_features": math.prod(input_shape), "out_features": outputs}
    if model.kind == "text":
        _check_axes(name, input_shape, "length")
        return {"num_classes": outputs}
    if model.kind == "series":
        window, series = _check_axes(name, input_shape, "window", "series")
        if outputs != series:
            raise ValueError(f"{name} predicts all {series} series, got outputs={outputs}")
        return {"window": window, "series": series}
    channels, height, width = _check_axes(name, input_shape, "channels", "height", "width")
    arguments: dict[str, object] = {"in_channels": channels, "num_classes": outputs}
    if "image_size" in inspect.signature(model.builder).parameters:
        if height != width:
            raise ValueError(f"{name} takes square images, got {height} x {width}")
        arguments["image_size"] = height
    return arguments


def _check_axes(name: str, shape: tuple[int, ...], *axes: str) -> tuple[int, ...]:
    if len(shape) != len(axes):
        raise ValueError(f"{name} takes inputs of shape ({', '.join(axes)}), got {shape}")
    return shape
