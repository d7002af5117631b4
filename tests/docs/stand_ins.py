"""The few names of timm and torchvision that the pages use, for machines that do not have these packages."""

from __future__ import annotations

import contextlib
import importlib
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from torch import Tensor, nn

from tailormix import CutMix

if TYPE_CHECKING:
    from collections.abc import Iterator


class ResNet(nn.Module):
    """The arguments, head and stages of timm's, with one convolution."""

    def __init__(self, num_classes: int = 1000, in_chans: int = 3) -> None:
        super().__init__()
        self.layer1 = nn.Conv2d(in_chans, 8, 3)
        self.fc = nn.Linear(8, num_classes)
        self.feature_info = [{"num_chs": 8, "reduction": 1, "module": "layer1"}]

    def get_classifier(self) -> nn.Module:
        return self.fc

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.layer1(x).relu().mean((2, 3)))


MODELS = {"resnet10t": ResNet}
TIMM = SimpleNamespace(
    create_model=lambda name, **arguments: MODELS[name](**arguments),
    is_model=MODELS.__contains__,
    list_models=lambda: list(MODELS),
)
V2 = SimpleNamespace(CutMix=CutMix, RandomChoice=lambda transforms: transforms[-1])
STAND_INS: dict[str | None, dict[str, Any]] = {
    "timm": {"timm": TIMM},
    "torchvision": {"torchvision": SimpleNamespace(), "torchvision.transforms": SimpleNamespace(v2=V2)},
}


@contextlib.contextmanager
def present(module: str | None) -> Iterator[None]:
    """While open, the module can be imported: the package itself, or its stand-in where that fails."""
    try:
        importlib.import_module(module or "torch")
    except (ImportError, RuntimeError):  # torchvision beside a CPU-only torch raises the second
        if module not in STAND_INS:
            raise
        with pytest.MonkeyPatch.context() as patch:
            for name, made in STAND_INS[module].items():
                patch.setitem(sys.modules, name, made)
            yield
    else:
        yield
