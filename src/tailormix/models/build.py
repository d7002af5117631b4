"""From a name and plain arguments to a model."""

from __future__ import annotations

import importlib
import inspect
import math
from typing import TYPE_CHECKING, cast

from tailormix import checks

from .catalogue import MODELS, TIMM_PREFIX
from .timm_model import timm_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn


def build(name: str, **arguments: object) -> nn.Module:
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
    make = _load(model.target)
    allowed = [key for key in inspect.signature(make).parameters if key not in model.fixed]
    for key in arguments:
        checks.known(f"argument of {name}", key, allowed)
    return make(**model.fixed, **arguments)


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
    if model.kind == "series":
        window, series = _shape(name, input_shape, "window", "series")
        if outputs != series:
            raise ValueError(f"{name} predicts all {series} series, got outputs={outputs}")
        return {"window": window, "series": series}
    channels, height, width = _shape(name, input_shape, "channels", "height", "width")
    arguments: dict[str, object] = {"in_channels": channels, "num_classes": outputs}
    if "image_size" in inspect.signature(_load(model.target)).parameters:
        if height != width:
            raise ValueError(f"{name} takes square images, got {height} x {width}")
        arguments["image_size"] = height
    return arguments


def _shape(name: str, shape: tuple[int, ...], *axes: str) -> tuple[int, ...]:
    if len(shape) != len(axes):
        raise ValueError(f"{name} takes inputs of shape ({', '.join(axes)}), got {shape}")
    return shape


def _load(target: str) -> Callable[..., nn.Module]:
    module, attribute = target.split(":")
    return cast(
        "Callable[..., nn.Module]", getattr(importlib.import_module(f".{module}", __package__), attribute)
    )
