"""timm and torchvision in miniature, for where they do not import: the names that pages use, no more.

Written to the documented signatures, so that a page with a wrong argument fails here as it would there.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class ResNet(nn.Module):
    """The arguments, head and stages of timm's, with one convolution."""

    def __init__(self, num_classes: int = 1000, in_chans: int = 3, drop_rate: float = 0.0) -> None:
        super().__init__()
        self.layer1 = nn.Conv2d(in_chans, 8, 3)
        self.drop_rate = drop_rate
        self.fc = nn.Linear(8, num_classes)
        self.feature_info = [{"num_chs": 8, "reduction": 1, "module": "layer1"}]

    def get_classifier(self) -> nn.Module:
        return self.fc

    def forward(self, x: Tensor) -> Tensor:
        pooled = self.layer1(x).relu().mean((2, 3))
        return self.fc(functional.dropout(pooled, self.drop_rate, self.training))


def create_model(model_name: str, pretrained: bool = False, **kwargs: Any) -> nn.Module:
    """As timm: what is left over goes to the model, which refuses what it does not know."""
    if not is_model(model_name) or pretrained:
        raise RuntimeError(f"Unknown model ({model_name})")
    return ResNet(**kwargs)


def is_model(model_name: str) -> bool:
    return model_name in list_models()


def list_models() -> list[str]:
    return ["resnet10t", "resnet18"]


class CutMix(nn.Module):
    """A quarter of each image from the one before it; labels (n,) become rows (n, num_classes)."""

    def __init__(self, *, alpha: float = 1.0, num_classes: int | None = None) -> None:
        super().__init__()
        self.alpha, self.num_classes = alpha, num_classes

    def forward(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        if labels.ndim != 1 or self.num_classes is None:
            raise ValueError(f"labels should be of shape (batch_size,), got {tuple(labels.shape)}")
        high, wide = (side // 2 for side in images.shape[-2:])
        mixed, soft = images.clone(), functional.one_hot(labels, self.num_classes).float()
        mixed[..., :high, :wide] = images.roll(1, 0)[..., :high, :wide]
        share = high * wide / (images.shape[-2] * images.shape[-1])
        return mixed, (1 - share) * soft + share * soft.roll(1, 0)


class RandomChoice(nn.Module):
    """One of the transforms, each time another."""

    def __init__(self, transforms: Sequence[Callable[..., Any]], p: list[float] | None = None) -> None:
        super().__init__()
        self.transforms, self.p = transforms, p or [1.0] * len(transforms)

    def forward(self, *inputs: Any) -> Any:
        return self.transforms[int(torch.multinomial(torch.tensor(self.p), 1))](*inputs)


def _module(name: str, **names: Any) -> ModuleType:
    module = ModuleType(name)
    module.__dict__.update(names)
    return module


def _timm() -> dict[str, ModuleType]:
    made = _module("timm", create_model=create_model, is_model=is_model, list_models=list_models)
    return {"timm": made}


def _torchvision() -> dict[str, ModuleType]:
    v2 = _module("torchvision.transforms.v2", CutMix=CutMix, RandomChoice=RandomChoice)
    transforms = _module("torchvision.transforms", v2=v2)
    made = _module("torchvision", transforms=transforms)
    return {module.__name__: module for module in (made, transforms, v2)}


STAND_INS = {"timm": _timm, "torchvision": _torchvision}


@contextlib.contextmanager
def present(module: str | None) -> Iterator[None]:
    """What a block needs can be imported inside: the package itself, or its stand-in where that fails."""
    try:
        importlib.import_module(module or "torch")
    except (ImportError, RuntimeError):  # torchvision beside a CPU-only torch raises the second
        if module not in STAND_INS:
            raise
        with pytest.MonkeyPatch.context() as patch:
            for name, made in STAND_INS[module]().items():
                patch.setitem(sys.modules, name, made)
            yield
    else:
        yield
