"""Shared by these tests: a batch, methods for classification, and packages that may be missing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest
import torch

from nets import seeded
from tailormix import Method, build_method
from tailormix.methods import METHODS

if TYPE_CHECKING:
    from types import ModuleType

X, Y = torch.rand(7, 3, 8, 8, generator=seeded()), torch.tensor([0, 1, 2, 0, 1, 2, 0])
REGRESSION_ONLY = "c-mixup"
CLASSIFIERS = [name for name in sorted(METHODS) if name != REGRESSION_ONLY]
BATCH_FORMS = [name for name in CLASSIFIERS if build_method(name).batch_form]


def ready(name: str, classes: int, **settings: Any) -> Method:
    """The method of that name; Remix has seen how many samples there are of each class."""
    method = build_method(name, **settings)
    return method.fit(torch.zeros(classes, 1), torch.arange(classes)) if name == "remix" else method


def real(name: str) -> ModuleType:
    """The package, or a skip that says why: beside a CPU-only torch, torchvision raises RuntimeError."""
    try:
        return importlib.import_module(name)
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"{name} does not import here: {error}")
