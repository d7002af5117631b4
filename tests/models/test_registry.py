"""Names, arguments and the messages about them; the optional timm."""

import sys
import types
from typing import Any

import pytest
import torch
from torch import nn

from tailormix.models import build, shape_arguments


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("resnet-18", {}, "unknown model 'resnet-18'; did you mean 'resnet18'"),
        ("resnet18", {"numclasses": 3}, "argument of resnet18 'numclasses'; did you mean 'num_classes'"),
        ("resnet18", {"depth": 34}, "unknown argument of resnet18 'depth'"),
        ("resnet18", {"stem": "cifar10"}, "unknown stem 'cifar10'; did you mean 'cifar'"),
        ("resnet18", {"num_classes": 0}, "num_classes must be >= 1, got 0"),
        ("vit-tiny", {"patch_size": 5}, "image_size must be a multiple of patch_size=5, got 32"),
        ("vit-tiny", {"heads": 3}, "width must be a multiple of heads=3, got 64"),
        ("mlp", {"dropout": 1.5}, r"dropout must lie in \[0, 1\], got 1.5"),
        ("mlp", {"hidden": (0,)}, "hidden must be >= 1, got 0"),
        ("lstnet-skip", {"window": 10}, "window must be >= 30, got 10"),
    ],
)
def test_messages(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(name, **arguments)


@pytest.mark.parametrize(
    ("name", "shape", "outputs"),
    [
        ("resnet8", (1, 8, 8), 10),
        ("vit-tiny", (1, 8, 8), 10),
        ("mlp", (1, 8, 8), 10),
        ("fcn3", (5,), 1),
        ("lstnet-skip", (60, 2), 2),
    ],
)
def test_models_fit_the_data(name: str, shape: tuple[int, ...], outputs: int) -> None:
    model = build(name, **shape_arguments(name, shape, outputs))
    assert model(torch.zeros(2, *shape)).shape == (2, outputs)


@pytest.mark.parametrize(
    ("name", "shape", "outputs", "message"),
    [
        ("resnet8", (5,), 1, r"resnet8 takes inputs of shape \(channels, height, width\), got \(5,\)"),
        ("vit-tiny", (3, 8, 16), 2, "vit-tiny takes square images, got 8 x 16"),
        ("lstnet-skip", (168, 8), 1, "lstnet-skip predicts all 8 series, got outputs=1"),
    ],
)
def test_shapes_that_do_not_fit(name: str, shape: tuple[int, ...], outputs: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shape_arguments(name, shape, outputs)


class Fake(nn.Module):
    """The few things of a timm model that are used."""

    def __init__(self, num_classes: int, in_chans: int) -> None:
        super().__init__()
        self.layer1 = nn.Linear(in_chans, 4)
        self.classifier = nn.Linear(4, num_classes)
        self.feature_info = [{"module": "layer1"}, {"module": "absent"}]

    def get_classifier(self) -> nn.Module:
        return self.classifier


@pytest.fixture
def timm(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("timm")
    module.__dict__.update(
        is_model=lambda name: name == "fakenet",
        list_models=lambda: ["fakenet", "other"],
        create_model=lambda _, **arguments: Fake(**arguments),
    )
    monkeypatch.setitem(sys.modules, "timm", module)


@pytest.mark.usefixtures("timm")
def test_timm_model_is_annotated() -> None:
    model = build("timm:fakenet", **shape_arguments("timm:fakenet", (3, 8, 8), 7))
    assert (model.embedding_layer, model.stages) == ("classifier", ("layer1",))
    assert model.get_submodule("classifier").out_features == 7
    with pytest.raises(ValueError, match="unknown model 'timm:fakent'; did you mean 'timm:fakenet'"):
        build("timm:fakent")


def test_timm_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ImportError, match="models named timm:NAME need the package timm"):
        build("timm:resnet18")
